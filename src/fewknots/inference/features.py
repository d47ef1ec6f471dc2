r"""What every sparse method sees of the data: rows projected on the inducing points.

With u = f(Z) ~ N(0, Kmm) and Kmm = L Lᵀ, the whitened u is v = L⁻¹u ~ N(0, I), and each row's
function value splits into the part v explains and a part it does not:

    f_n = a_nᵀ v + ε_n,     a_n = L⁻¹ k(Z, x_n),     Var ε_n = κ_n = k(x_n, x_n) - a_nᵀ a_n.

| symbol | name here     | shape | meaning                                       |
|--------|---------------|-------|-----------------------------------------------|
| X, Z   | X, Z          | N×D, M×D | rows, inducing points                      |
| A      | explained     | N×M   | rows a_nᵀ                                     |
| κ      | unexplained   | N     | diag(Knn - Qnn), Qnn = A Aᵀ                   |
| L⁻¹    | whitener      | M×M   | of Kmm + jitter · mean diag(Kmm) · I          |

A method's bound is a function of (A, κ). Given its derivatives for those two, `pullback`
returns the derivatives for the kernel's parameters and Z, in closed form down to the kernel
matrices and by autodiff only through the kernel itself: five matrix products instead of a
backward pass through a Cholesky factor and an inverse. Cost: O(NM² + M³), memory O(NM).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ..arrays import AnyArray
from ..kernels import Kernel
from ..linalg import cholesky_pullback, cholesky_with_ladder


class Features(NamedTuple):
    """The projection of N rows on M inducing points."""

    explained: Float[Array, "N M"]
    unexplained: Float[Array, " N"]
    whitener: Float[Array, "M M"]
    jitter: Float[Array, ""]  # the relative jitter that was needed
    ok: Bool[Array, ""]  # False if no jitter on the ladder made Kmm factorisable


class FeatureCotangents(NamedTuple):
    """A scalar's derivatives for A and κ."""

    explained: Float[Array, "N M"]
    unexplained: Float[Array, " N"]


@dataclass(frozen=True)
class Pullback:
    """The map from a scalar's derivatives for the features to those for (kernel, Z)."""

    features: Features
    kernel_pullback: Callable[[tuple[Array, Array, Array]], tuple[Kernel, Float[Array, "M D"]]]

    def __call__(self, cotangents: FeatureCotangents) -> tuple[Kernel, Float[Array, "M D"]]:
        """From Ā and κ̄."""
        A, whitener = self.features.explained, self.features.whitener
        # κ = diag - rows(A²)
        dA = cotangents.explained - 2.0 * cotangents.unexplained[:, None] * A
        # A = Knm L⁻ᵀ, so K̄nm = Ā L⁻¹ and Lᵀ L̄ = -ĀᵀA
        return self.from_matrices(dA @ whitener, -dA.T @ A, cotangents.unexplained)

    def from_matrices(
        self,
        dKnm: Float[Array, "N M"],
        lower_t_cotangent: Float[Array, "M M"],
        d_diagonal: Float[Array, " N"],
    ) -> tuple[Kernel, Float[Array, "M D"]]:
        """From K̄nm, Lᵀ L̄ and the derivative for diag Knn, where these are known directly."""
        dKmm = cholesky_pullback(self.features.whitener, lower_t_cotangent)
        # the jitter follows the mean of Kmm's diagonal
        shift = self.features.jitter * jnp.mean(jnp.diagonal(dKmm))
        dKmm = dKmm + shift * jnp.eye(dKmm.shape[0], dtype=dKmm.dtype)
        return self.kernel_pullback((dKmm, dKnm, d_diagonal))


def project(
    kernel: Kernel,
    Z: Float[AnyArray, "M D"],
    X: Float[AnyArray, "N D"],
    jitter: Float[AnyArray, ""] | float,
) -> tuple[Features, Pullback]:
    """The features of X, and the map from their cotangents to (kernel, Z) cotangents."""

    def kernel_matrices(kernel, Z):
        return kernel(Z, Z), kernel(X, Z), kernel.diagonal(X)

    (Kmm, Knm, diagonal), kernel_pullback = jax.vjp(kernel_matrices, kernel, Z)
    factor = cholesky_with_ladder(Kmm, jnp.mean(jnp.diagonal(Kmm)), jitter)
    explained = Knm @ factor.inverse.T
    # κ ≥ 0 in exact arithmetic; at a row that is an inducing point rounding can pass below.
    unexplained = jnp.maximum(diagonal - jnp.sum(jnp.square(explained), axis=1), 0.0)
    features = Features(explained, unexplained, factor.inverse, factor.jitter, factor.ok)
    return features, Pullback(features, kernel_pullback)
