r"""Noise that depends on the inputs: y ~ N(f, noise · eᵍ) with two latent functions f and g.

With f ~ N(μ, v), g ~ N(η, u), R = (y - μ)² + v and e = E[e⁻ᵍ]/noise = exp(-η + ½u)/noise the bound
is in closed form:

    E[log p] = -½ (log(2π noise) + η + R e),
    for f:   α = (y - μ) e,      β = e,         ∂β/∂v = 0,
    for g:   α = ½ (R e - 1),    β = ½ R e,     ∂β/∂u = ¼ R e.

With f integrated out, y ~ N(μ, V), V = v + noise · eᵍ. Predictions are integrals over g alone;
their singularities, V = 0, are at g = log(v/noise) ± iπ.
"""

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr
from jaxtyping import Array, Float

from ..numerics.elementary import exp
from ..numerics.fields import positive
from ..numerics.quadrature import REACH, expect_around
from .base import Expectations, Likelihood, Pointwise, Tilted
from .gaussian import first_noise


class Heteroscedastic(Likelihood):
    """Gaussian noise with variance `noise` · eᵍ; None: training starts from a tenth of y's
    variance.

    Examples
    --------
    >>> from fewknots import GPRegressor
    >>> from fewknots.likelihoods import Heteroscedastic
    >>> GPRegressor(likelihood=Heteroscedastic()).likelihood
    Heteroscedastic(noise=None)
    """

    n_latent: ClassVar = 2
    any_scale: ClassVar = True
    noise: Any = positive(None)

    def prepared(
        self, y: Float[np.ndarray, " N"], weights: Float[np.ndarray, " N"]
    ) -> "Heteroscedastic | Likelihood":
        if self.noise is not None:
            return super().prepared(y, weights)
        return Heteroscedastic(first_noise(y, weights))

    def rescaled(self, scale: float) -> "Heteroscedastic":
        return self if self.noise is None else Heteroscedastic(self.noise / scale**2)

    def expectations(
        self, y: Float[Array, " N"], mean: Float[Array, "2 N"], variance: Float[Array, "2 N"]
    ) -> Expectations:
        """In closed form."""
        e = exp(-mean[1] + 0.5 * variance[1]) / self.noise
        each = (jnp.square(y - mean[0]) + variance[0]) * e
        log_prob = -0.5 * (jnp.log(2.0 * jnp.pi * self.noise) + mean[1] + each)
        return Expectations(
            log_prob,
            jnp.stack([(y - mean[0]) * e, 0.5 * (each - 1.0)]),
            jnp.stack([e, 0.5 * each]),
            jnp.stack([jnp.zeros_like(e), 0.25 * each]),
        )

    def at(self, y: Float[Array, " N"], f: Float[Array, "2 N"]) -> Pointwise:
        log_prob, slope, curvature, _ = self.expectations(y, f, jnp.zeros_like(f))
        return Pointwise(
            log_prob, slope, curvature, jnp.stack([jnp.zeros_like(f[0]), -curvature[1]])
        )

    def tilted(
        self, y: Float[Array, " N"], mean: Float[Array, "2 N"], variance: Float[Array, "2 N"]
    ) -> Tilted:
        """By quadrature over g, relative to an upper limit of the integrand."""
        square = jnp.square(y - mean[0])

        def log_density(g):
            total = variance[0] + self.noise * exp(g)
            return -0.5 * (jnp.log(2.0 * jnp.pi * total) + square / total), total

        reach = REACH * jnp.sqrt(variance[1])
        tiny = float(jnp.finfo(y.dtype).tiny)
        best = jnp.log(jnp.maximum(square - variance[0], tiny) / self.noise)
        largest, _ = log_density(jnp.clip(best, mean[1] - reach, mean[1] + reach))

        def integrands(g):
            log_p, total = log_density(g)
            p, noise = exp(log_p - largest), total - variance[0]
            slope = (y - mean[0]) / total
            g_slope = 0.5 * noise * (square / total - 1.0) / total
            g_change = g_slope + 0.5 * jnp.square(noise / total) * (1.0 - 2.0 * square / total)
            return (
                p,
                p * slope,
                p * g_slope,
                p * (jnp.square(slope) - 1.0 / total),
                p * (jnp.square(g_slope) + g_change),
            )

        p, *parts = expect_around(integrands, mean[1], variance[1], *self._bend(variance))
        parts = [part / p for part in parts]
        slope, second = jnp.stack(parts[:2]), jnp.stack(parts[2:])
        return Tilted(largest + jnp.log(p), slope, jnp.square(slope) - second)

    def moments(
        self, mean: Float[Array, "2 N"], variance: Float[Array, "2 N"]
    ) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
        return mean[0], variance[0] + self.noise * exp(mean[1] + 0.5 * variance[1])

    def predictive_cdf(
        self, y: Float[Array, " N"], mean: Float[Array, "2 N"], variance: Float[Array, "2 N"]
    ) -> Float[Array, " N"]:
        """E[Φ((y - μ)/√V)]."""

        def below(g):
            return (ndtr((y - mean[0]) / jnp.sqrt(variance[0] + self.noise * exp(g))),)

        return expect_around(below, mean[1], variance[1], *self._bend(variance))[0]

    def _bend(self, variance: Float[Array, "2 N"]) -> tuple[Float[Array, " N"], Float[Array, ""]]:
        tiny = float(jnp.finfo(variance.dtype).tiny)
        return jnp.log(jnp.maximum(variance[0], tiny) / self.noise), jnp.ones(())

    def sampled(
        self, random: np.random.RandomState, f: Float[np.ndarray, "2 N"]
    ) -> Float[np.ndarray, " N"]:
        return random.normal(f[0], np.sqrt(self.noise * np.exp(f[1])))
