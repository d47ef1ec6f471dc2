"""Counts: p(y|f) = Poisson(y | level · eᶠ), a whole likelihood from outside the package.

With λ = E[level · eᶠ] = level · exp(μ + σ²/2), f ~ N(μ, σ²), everything is in closed form but the
probability of a new count:

    E[log p] = y (μ + log level) - λ - log y!,    α = y - λ,    β = λ,    ∂β/∂σ² = ½ λ.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln

from fewknots.likelihoods import Expectations, Likelihood, Pointwise, Tilted, positive
from fewknots.numerics.quadrature import expect


class Calls(Likelihood):
    """Counts through the logarithm; `level` is the rate where f = 0."""

    level: Any = positive(None)

    def encoded(self, targets):
        y = np.asarray(targets, np.float64)
        strange = (y < 0) | (y != np.round(y))
        if np.any(strange):
            row = int(np.argmax(strange))
            raise ValueError(f"row {row} of y is {y[row]:g}, which is no count.")
        return y

    def prepared(self, y, weights):
        level = self.level
        if level is None:
            level = max(np.average(y, weights=weights), 1e-3)
        return Calls(np.asarray(level, np.float64))

    def _log_p(self, y, f):
        return y * (f + jnp.log(self.level)) - self.level * jnp.exp(f) - gammaln(y + 1.0)

    def expectations(self, y, mean, variance):
        rate = self.level * jnp.exp(mean + 0.5 * variance)
        log_prob = y * (mean + jnp.log(self.level)) - rate - gammaln(y + 1.0)
        return Expectations(log_prob[0], y - rate, rate, 0.5 * rate)

    def at(self, y, f):
        rate = self.level * jnp.exp(f)
        return Pointwise(self._log_p(y, f)[0], y - rate, rate, rate)

    def tilted(self, y, mean, variance):
        def integrands(f):
            p, slope = jnp.exp(self._log_p(y, f)), y - self.level * jnp.exp(f)
            return p, p * slope, p * (slope**2 - self.level * jnp.exp(f))

        p, first, second = expect(integrands, mean[0], variance[0])
        slope = first / p
        return Tilted(jnp.log(p), slope[None], (slope**2 - second / p)[None])

    def moments(self, mean, variance):
        rate = self.level * jnp.exp(mean + 0.5 * variance)
        return rate[0], (rate + rate**2 * jnp.expm1(variance))[0]
