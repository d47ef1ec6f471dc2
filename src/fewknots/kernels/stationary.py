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

from ..arrays import AnyArray
from ..elementary import exp
from .base import Kernel, positive_parameter

# Up to this many inputs squared distances are sums of squared differences: exact, also for
# nearly equal points. Above, the product form is many times faster and, after centring, good
# to about 1e-16 of the largest squared distance.
_MOST_INPUTS_FOR_DIFFERENCES = 32


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
        return self.variance * self.correlation(squared_distance(A / scale, B / scale))

    def diagonal(self, A: Float[AnyArray, "N D"]) -> Float[AnyArray, " N"]:
        return self.variance * jnp.ones(A.shape[0], A.dtype)

    def prepared(self, spread: Float[np.ndarray, " D"], ard: bool = True) -> "Kernel":
        per_input = ard and self.ard
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
    A: Float[AnyArray, "N D"], B: Float[AnyArray, "M D"]
) -> Float[AnyArray, "N M"]:
    """|a_i - b_j|². Its derivative is written in matrix products (autodiff would build N×M×D)."""
    if A.shape[1] <= _MOST_INPUTS_FOR_DIFFERENCES:
        return jnp.sum(jnp.square(A[:, None, :] - B[None, :, :]), axis=-1)
    centre = jnp.mean(B, axis=0)
    A, B = A - centre, B - centre
    squares = jnp.sum(A**2, axis=1)[:, None] + jnp.sum(B**2, axis=1)[None, :]
    return jnp.maximum(squares - 2.0 * A @ B.T, 0.0)  # rounding alone can go below zero


def _forward(A, B):
    return squared_distance(A, B), (A, B)


def _backward(saved, G):
    A, B = saved
    dA = 2.0 * (A * jnp.sum(G, axis=1)[:, None] - G @ B)
    dB = 2.0 * (B * jnp.sum(G, axis=0)[:, None] - G.T @ A)
    return dA, dB


squared_distance.defvjp(_forward, _backward)
