"""Gaussian noise: p(y|f) = N(y|f, noise). With it the bound is Titsias' (eq. svigp, titsias)."""

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr, ndtri
from jaxtyping import Array, Float

from ..numerics.fields import positive
from .base import Expectations, Likelihood, Pointwise, Tilted

_FIRST_NOISE = 0.1  # initial noise, relative to the variance of y


class Gaussian(Likelihood):
    """Gaussian noise with variance `noise`; None: training starts from a tenth of y's variance.

    Examples
    --------
    >>> from fewknots import GPRegressor
    >>> from fewknots.likelihoods import Gaussian
    >>> GPRegressor(likelihood=Gaussian(noise=0.1)).likelihood
    Gaussian(noise=0.1)
    """

    any_scale: ClassVar = True
    quadratic: ClassVar = True
    noise: Any = positive(None)

    def prepared(
        self, y: Float[np.ndarray, " N"], weights: Float[np.ndarray, " N"]
    ) -> "Gaussian | Likelihood":
        if self.noise is not None:
            return super().prepared(y, weights)
        return Gaussian(first_noise(y, weights))

    def rescaled(self, scale: float) -> "Gaussian":
        return self if self.noise is None else Gaussian(self.noise / scale**2)

    def expectations(
        self, y: Float[Array, " N"], mean: Float[Array, "1 N"], variance: Float[Array, "1 N"]
    ) -> Expectations:
        """In closed form: the curvature is 1/noise for any marginals."""
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

    def moments(
        self, mean: Float[Array, "1 N"], variance: Float[Array, "1 N"]
    ) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
        return mean[0], variance[0] + self.noise

    def quantiles(
        self,
        mean: Float[Array, "1 N"],
        variance: Float[Array, "1 N"],
        levels: Float[Array, " Q"],
    ) -> Float[Array, "Q N"]:
        return mean + ndtri(levels)[:, None] * jnp.sqrt(variance + self.noise)

    def predictive_cdf(
        self, y: Float[Array, " N"], mean: Float[Array, "1 N"], variance: Float[Array, "1 N"]
    ) -> Float[Array, " N"]:
        return ndtr((y - mean[0]) / jnp.sqrt(variance[0] + self.noise))

    def sampled(
        self, random: np.random.RandomState, f: Float[np.ndarray, "1 N"]
    ) -> Float[np.ndarray, " N"]:
        return random.normal(f[0], np.sqrt(self.noise))


def first_noise(
    y: Float[np.ndarray, " N"], weights: Float[np.ndarray, " N"]
) -> Float[np.ndarray, ""]:
    """The initial noise variance: a tenth of the variance of y."""
    spread = np.average((y - np.average(y, weights=weights)) ** 2, weights=weights)
    return np.asarray(_FIRST_NOISE * (spread if spread > 0 else 1.0))
