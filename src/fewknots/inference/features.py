r"""Features of the rows for all sparse methods: the projection on the inducing points.

With u = f(Z) ~ N(0, Kmm) and Kmm = L Lᵀ, the whitened u is v = L⁻¹u ~ N(0, I), and each row's
function value is the sum of a part that v explains and a part that it does not explain:

    f_n = a_nᵀ v + ε_n,     a_n = L⁻¹ k(Z, x_n),     Var ε_n = κ_n = k(x_n, x_n) - a_nᵀ a_n.

| symbol | name here     | shape | meaning                                       |
|--------|---------------|-------|-----------------------------------------------|
| X, Z   | X, Z          | N×D, M×D | rows, inducing points                      |
| A      | explained     | N×M   | rows a_nᵀ                                     |
| κ      | unexplained   | N     | diag(Knn - Qnn), Qnn = A Aᵀ                   |
| L⁻¹    | whitener      | M×M   | of Kmm + jitter · mean diag(Kmm) · I          |

A method's bound is a function of (A, κ). From its gradient with respect to these two, `pullback`
computes the gradient with respect to the kernel's parameters and Z: in closed form down to the
kernel matrices, and by autodiff only through the kernel itself. This takes five matrix products
instead of a backward pass through a Cholesky factor and an inverse. Cost: O(NM² + M³), memory
O(NM).

Latent functions share all of this, unless each class has its own kernel (kernels/per_class.py):
then A, κ, L⁻¹ and their derivatives have a first axis L, and cost L times as much. Only methods
with `own_kernels` support this case.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ..kernels import Kernel
from ..numerics.arrays import AnyArray
from ..numerics.elementary import not_below_zero
from ..numerics.linalg import cholesky_pullback, cholesky_with_ladder, one_by_one


class Features(NamedTuple):
    """The projection of N rows on M inducing points."""

    explained: Float[Array, "*L N M"]
    unexplained: Float[Array, "*L N"]
    whitener: Float[Array, "*L M M"]
    jitter: Float[Array, ""]  # the relative jitter that was used
    ok: Bool[Array, ""]  # False if no jitter on the ladder made Kmm factorisable


class FeatureCotangents(NamedTuple):
    """Gradient of a scalar with respect to A and κ."""

    explained: Float[Array, "N M"]
    unexplained: Float[Array, " N"]


@dataclass(frozen=True)
class Whitening:
    """The part shared by all blocks of rows: L⁻¹ for one kernel and Z, and the gradient through
    Kmm.
    """

    kernel: Kernel
    Z: Float[AnyArray, "M D"]
    whitener: Float[Array, "*L M M"]
    jitter: Float[Array, ""]
    ok: Bool[Array, ""]
    points_pullback: Callable[[Array], tuple[Kernel, Float[Array, "M D"]]]

    def pullback(
        self, lower_t_cotangent: Float[Array, "*L M M"]
    ) -> tuple[Kernel, Float[Array, "M D"]]:
        """From Lᵀ L̄ to (kernel, Z), through Kmm alone."""
        dKmm = cholesky_pullback(self.whitener, lower_t_cotangent)
        # the jitter follows the mean of Kmm's diagonal
        shift = self.jitter * mean_diagonal(dKmm)
        dKmm = dKmm + shift[..., None, None] * jnp.eye(dKmm.shape[-1], dtype=dKmm.dtype)
        return self.points_pullback(dKmm)


@dataclass(frozen=True)
class Pullback:
    """The map from a scalar's gradient with respect to the features to that with respect to
    (kernel, Z).
    """

    features: Features
    whitening: Whitening
    rows_pullback: Callable[[tuple[Array, Array]], tuple[Kernel, Float[Array, "M D"]]]

    def __call__(self, cotangents: FeatureCotangents) -> tuple[Kernel, Float[Array, "M D"]]:
        """From Ā and κ̄."""
        A, whitener = self.features.explained, self.features.whitener
        # κ = diag - rows(A²)
        dA = cotangents.explained - 2.0 * cotangents.unexplained[:, None] * A
        # A = Knm L⁻ᵀ, so K̄nm = Ā L⁻¹ and Lᵀ L̄ = -ĀᵀA
        through_rows = self.from_rows(dA @ whitener, cotangents.unexplained)
        return added(through_rows, self.whitening.pullback(-dA.T @ A))

    def from_rows(
        self, dKnm: Float[Array, "*L N M"], d_diagonal: Float[Array, "*L N"]
    ) -> tuple[Kernel, Float[Array, "M D"]]:
        """From K̄nm and the gradient with respect to diag Knn: the part that is a sum over rows."""
        return self.rows_pullback((dKnm, d_diagonal))


def added(one: Any, other: Any) -> Any:
    """The sum of two trees of gradients."""
    return jax.tree.map(jnp.add, one, other)


def whiten(
    kernel: Kernel, Z: Float[AnyArray, "M D"], jitter: Float[AnyArray, ""] | float
) -> Whitening:
    """Factorise Kmm, once for any number of blocks of rows."""
    Kmm, pullback = jax.vjp(lambda kernel, Z: kernel(Z, Z), kernel, Z)
    factor = cholesky_with_ladder(Kmm, mean_diagonal(Kmm), jitter)
    return Whitening(kernel, Z, factor.inverse, factor.jitter, factor.ok, pullback)


def mean_diagonal(matrix: Float[Array, "*L M M"]) -> Float[Array, "*L"]:
    """The mean of each matrix's diagonal."""
    return jnp.mean(jnp.diagonal(matrix, axis1=-2, axis2=-1), axis=-1)


def project_rows(whitening: Whitening, X: Float[AnyArray, "N D"]) -> tuple[Features, Pullback]:
    """The features of X, and the map from their cotangents to (kernel, Z) cotangents."""

    def kernel_matrices(kernel, Z):
        return kernel(X, Z), kernel.diagonal(X)

    (Knm, diagonal), pullback = jax.vjp(kernel_matrices, whitening.kernel, whitening.Z)
    if Knm.ndim == 2:
        explained = Knm @ whitening.whitener.T
    else:
        explained = one_by_one(lambda both: both[0] @ both[1].T, (Knm, whitening.whitener))
    # κ ≥ 0 in exact arithmetic; if a row is an inducing point, rounding can make it negative.
    unexplained = not_below_zero(diagonal - jnp.sum(jnp.square(explained), axis=-1))
    features = Features(explained, unexplained, whitening.whitener, whitening.jitter, whitening.ok)
    return features, Pullback(features, whitening, pullback)


def project(
    kernel: Kernel,
    Z: Float[AnyArray, "M D"],
    X: Float[AnyArray, "N D"],
    jitter: Float[AnyArray, ""] | float,
) -> tuple[Features, Pullback]:
    """Both steps, for rows in a single block."""
    return project_rows(whiten(kernel, Z, jitter), X)
