"""Gaussian noise: p(y|f) = N(y|f, noise). With it the bound is Titsias' (eq. svigp, titsias)."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..numerics import pytrees
from ..numerics.arrays import AnyArray
from .base import Expectations, Pointwise, Tilted


@partial(pytrees.register, leaves=("noise",))
@dataclass(frozen=True)
class Gaussian:
    """Noise of variance `noise` on every row."""

    n_latent: ClassVar = 1
    noise: AnyArray | float = 1.0

    def expectations(
        self, y: Float[Array, " N"], mean: Float[Array, "1 N"], variance: Float[Array, "1 N"]
    ) -> Expectations:
        """In closed form: the curvature is 1/noise whatever the marginals are."""
        residual = y - mean
        log_prob = -0.5 * (
            jnp.log(2.0 * jnp.pi * self.noise) + (residual**2 + variance) / self.noise
        )
        curvature = jnp.ones_like(mean) / self.noise
        return Expectations(log_prob[0], residual / self.noise, curvature, jnp.zeros_like(mean))

    def at(self, y: Float[Array, " N"], f: Float[Array, "1 N"]) -> Pointwise:
        log_prob, slope, curvature, zero = self.expectations(y, f, jnp.zeros_like(f))
        return Pointwise(log_prob, slope, curvature, zero)

    def tilted(
        self, y: Float[Array, " N"], mean: Float[Array, "1 N"], variance: Float[Array, "1 N"]
    ) -> Tilted:
        """Ẑ = N(y|μ, σ² + noise)."""
        return Tilted(*Gaussian(self.noise + variance).at(y, mean)[:3])
