r"""Counts: p(y|f) = Poisson(y | r), r = level · eᶠ.

With λ = E[r] = level · exp(μ + ½σ²), f ~ N(μ, σ²), the bound is in closed form:

    E[log p] = y (μ + log level) - λ - log y!,    α = y - λ,    β = λ,    ∂β/∂σ² = ½ λ.
"""

from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaincc, gammaln
from jaxtyping import Array, Float

from ..numerics.elementary import exp
from .base import Expectations
from .log_link import LogLink, counts
from .one_function import Bend, Derivatives

_TINY = 1e-300


class Poisson(LogLink):
    """Counts whose variance equals their mean, given f.

    Examples
    --------
    >>> from fewknots import GPRegressor
    >>> from fewknots.likelihoods import Poisson
    >>> GPRegressor(likelihood=Poisson()).likelihood
    Poisson(level=None)
    """

    support: ClassVar = "counts"

    encoded = staticmethod(counts)

    def density(self, y: Float[Array, " N"], f: Float[Array, "C N"]) -> Derivatives:
        """Every derivative after the first is that of -r."""
        rate = self.level * exp(f)
        log_prob = y * (f + jnp.log(self.level)) - rate - gammaln(y + 1.0)
        return Derivatives(log_prob, y - rate, rate, rate, 0.5 * rate)

    def expectations(
        self, y: Float[Array, " N"], mean: Float[Array, "1 N"], variance: Float[Array, "1 N"]
    ) -> Expectations:
        """In closed form."""
        rate = self.expected_rate(mean, variance)
        log_prob = y * (mean + jnp.log(self.level)) - rate - gammaln(y + 1.0)
        return Expectations(log_prob[0], y - rate, rate, 0.5 * rate)

    def moments(
        self, mean: Float[Array, "1 N"], variance: Float[Array, "1 N"]
    ) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
        rate, spread = self.rate_moments(mean, variance)
        return rate, rate + spread

    def cdf(self, y: Float[Array, " N"], f: Float[Array, "C N"]) -> Float[Array, "C N"]:
        """Q(y + 1, r), the incomplete gamma function, defined for all y."""
        return gammaincc(jnp.maximum(y + 1.0, _TINY), self.level * exp(f))

    def cdf_bend(self, y: Float[Array, " N"]) -> Bend:
        """The bend is where r is about y + 1; the Poisson distribution is √y wide, so 1/√y in f."""
        size = jnp.maximum(y, 0.0) + 1.0
        return Bend(jnp.log(size / self.level), 1.0 / jnp.sqrt(size))

    def sampled(
        self, random: np.random.RandomState, f: Float[np.ndarray, "1 N"]
    ) -> Float[np.ndarray, " N"]:
        return random.poisson(self.level * np.exp(f[0])).astype(np.float64)
