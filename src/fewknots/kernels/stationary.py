"""Kernels of distance: k(a, b) = variance · ρ(r), r² = Σ_d (a_d - b_d)² / lengthscale_d².

They differ in ρ alone. With `ard=True` (the default) there is one lengthscale per input
("automatic relevance determination": an input that does not matter gets a long one).
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Float

from ..numerics.arrays import AnyArray
from ..numerics.elementary import exp, not_below_zero
from .base import Kernel, one_per_input, positive_parameter

# Up to this many inputs squared distances are sums of squared differences: exact, also for
# nearly equal points. Above, the product form is many times faster and, after centring, good
# to about 1e-16 of the largest squared distance.
MOST_INPUTS_FOR_DIFFERENCES = 32


class Stationary(Kernel):
    """Base of the kernels of distance.

    lengthscale : positive number, one per input, or None (from the data: with D inputs, √D
        times each input's standard deviation).
    variance : positive number, k(a, a).
    ard : one lengthscale per input, or a single one for all.
    """

    lengthscale: Any = None
    variance: Any = 1.0
    ard: bool = True

    def correlation(self, r2: Float[AnyArray, "N M"]) -> Float[AnyArray, "N M"]:
        """ρ as a function of r²."""
        raise NotImplementedError

    def __call__(
        self, A: Float[AnyArray, "N D"], B: Float[AnyArray, "M D"]
    ) -> Float[AnyArray, "N M"]:
        scale = A.shape[1] ** 0.5 if self.lengthscale is None else self.lengthscale
        scale = jnp.asarray(scale, A.dtype)
        return self.variance * self.correlation(squared_distance(A, B, scale))

    def diagonal(self, A: Float[AnyArray, "N D"]) -> Float[AnyArray, " N"]:
        return self.variance * jnp.ones(A.shape[0], A.dtype)

    def prepared(self, spread: Float[np.ndarray, " D"], ard: bool = True) -> "Kernel":
        per_input = one_per_input(self, ard)
        size = len(spread)
        default = spread * np.sqrt(size) if per_input else np.sqrt(np.sum(spread**2))
        return type(self)(
            lengthscale=positive_parameter(
                self, "lengthscale", default, size if per_input else None
            ),
            variance=positive_parameter(self, "variance", 1.0, None),
            ard=per_input,
        )

    def input_scale(self) -> Float[AnyArray, "..."] | None:
        return self.lengthscale


class RBF(Stationary):
    """ρ(r) = exp(-r²/2): smooth functions."""

    def correlation(self, r2):
        return exp(-0.5 * r2)


class Matern12(Stationary):
    """ρ(r) = exp(-r): continuous, nowhere smooth."""

    def correlation(self, r2):
        return exp(-_distance(r2))


class Matern32(Stationary):
    """ρ(r) = (1 + √3 r) exp(-√3 r): once differentiable."""

    def correlation(self, r2):
        s = 3.0**0.5 * _distance(r2)
        return (1.0 + s) * exp(-s)


class Matern52(Stationary):
    """ρ(r) = (1 + √5 r + 5r²/3) exp(-√5 r): twice differentiable."""

    def correlation(self, r2):
        s = 5.0**0.5 * _distance(r2)
        return (1.0 + s + s**2 / 3.0) * exp(-s)


def _distance(r2: Float[AnyArray, "N M"]) -> Float[AnyArray, "N M"]:
    """√r², its derivative taken as zero where the two points are the same up to rounding.

    The chain rule there is ∞ · 0 (d√r² times dr²): NaN to autodiff at r = 0, and noise of any
    size just above it. The product's limit is 0 for the smooth kernels; for Matérn-½, whose
    slope jumps there, 0 is the mean of the slopes on either side.
    """
    apart = r2 > (1e4 * float(jnp.finfo(r2.dtype).eps)) ** 2
    return jnp.where(apart, jnp.sqrt(jnp.where(apart, r2, 1.0)), lax.stop_gradient(jnp.sqrt(r2)))


@jax.custom_vjp
def squared_distance(
    A: Float[AnyArray, "N D"], B: Float[AnyArray, "M D"], scale: Float[AnyArray, "..."]
) -> Float[AnyArray, "N M"]:
    """Σ_d (a_id - b_jd)² / scale_d²."""
    A, B = _centred(A, B, scale)
    if A.shape[1] <= MOST_INPUTS_FOR_DIFFERENCES:
        # Column by column: one loop over the N×M results, with the M of a row side by side.
        return sum(jnp.square(a[:, None] - b[None, :]) for a, b in zip(A.T, B.T, strict=True))
    squares = jnp.sum(A**2, axis=1)[:, None] + jnp.sum(B**2, axis=1)[None, :]
    distance = not_below_zero(squares - 2.0 * A @ B.T)  # rounding alone can go below
    return jnp.where(jnp.isinf(squares), squares, distance)  # not ∞ - ∞


def _centred(A, B, scale):
    centre = jnp.mean(B, axis=0)
    return (A - centre) / scale, (B - centre) / scale


def _forward(A, B, scale):
    return squared_distance(A, B, scale), (A, B, scale)


def _backward(saved, G):
    """In matrix products (autodiff would build N×M×D), of which a caller pays those it uses.

    The derivative for the scale takes Σ_ij G_ij (a_i - b_j)² from Gᵀ A, which the one for B
    needs anyway: where A is data and not moved, G B is never computed.
    """
    A, B, scale = saved
    a, b = _centred(A, B, scale)
    of_rows, of_columns = jnp.sum(G, axis=1)[:, None], jnp.sum(G, axis=0)[:, None]
    crossed = G.T @ a
    d_a = 2.0 * (a * of_rows - G @ b) / scale
    d_b = 2.0 * (b * of_columns - crossed) / scale
    squares = jnp.sum(of_rows * a**2, 0) + jnp.sum(of_columns * b**2 - 2.0 * b * crossed, 0)
    d_scale = -2.0 * squares / scale
    return d_a, d_b, d_scale if jnp.ndim(scale) else jnp.sum(d_scale)


squared_distance.defvjp(_forward, _backward)
