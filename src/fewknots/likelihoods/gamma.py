r"""Positive numbers with mean r = level · eᶠ and a spread proportional to it: y ~ Gamma(a, a/r).

The standard deviation is r/√a, proportional to the mean. The bound is in closed form. With
e = E[1/r] = exp(-μ + ½σ²)/level, f ~ N(μ, σ²),

    E[log p] = a log a - log Γ(a) - a (μ + log level) + (a - 1) log y - a y e,
    α = a (y e - 1),    β = a y e,    ∂β/∂σ² = ½ β.
"""

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammainc, gammaln
from jaxtyping import Array, Float

from ..numerics.elementary import exp
from ..numerics.fields import positive
from .base import Expectations, refuse_rows
from .log_link import LogLink
from .one_function import Bend, Derivatives


class Gamma(LogLink):
    """Positive numbers: a gamma distribution with shape `shape` and mean level · eᶠ.

    Examples
    --------
    >>> from fewknots import GPRegressor
    >>> from fewknots.likelihoods import Gamma
    >>> GPRegressor(likelihood=Gamma(shape=3.0)).likelihood
    Gamma(level=None, shape=3.0)
    """

    support: ClassVar = "positive"
    shape: Any = positive(2.0)

    @staticmethod
    def encoded(targets: Any) -> Float[np.ndarray, " N"]:
        y = np.asarray(targets, np.float64)
        refuse_rows(y <= 0, y, "not above zero", "A gamma distribution has positive numbers only.")
        return y

    def density(self, y: Float[Array, " N"], f: Float[Array, "C N"]) -> Derivatives:
        """Every derivative after the first is that of -a y/r."""
        each = self.shape * y * exp(-f) / self.level
        return Derivatives(
            self._constant(y) - self.shape * f - each,
            each - self.shape,
            each,
            -each,
            0.5 * each,
        )

    def expectations(
        self, y: Float[Array, " N"], mean: Float[Array, "1 N"], variance: Float[Array, "1 N"]
    ) -> Expectations:
        """In closed form."""
        each = self.shape * y * exp(-mean + 0.5 * variance) / self.level
        log_prob = self._constant(y) - self.shape * mean - each
        return Expectations(log_prob[0], each - self.shape, each, 0.5 * each)

    def _constant(self, y: Float[Array, " N"]) -> Float[Array, " N"]:
        a = jnp.asarray(self.shape)
        return a * jnp.log(a / self.level) - gammaln(a) + (a - 1.0) * jnp.log(y)

    def moments(
        self, mean: Float[Array, "1 N"], variance: Float[Array, "1 N"]
    ) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
        rate, spread = self.rate_moments(mean, variance)
        return rate, spread + (spread + jnp.square(rate)) / self.shape

    def cdf(self, y: Float[Array, " N"], f: Float[Array, "C N"]) -> Float[Array, "C N"]:
        """P(a, a y/r), of the incomplete gamma function."""
        return gammainc(self.shape, self.shape * y * exp(-f) / self.level)

    def cdf_bend(self, y: Float[Array, " N"]) -> Bend:
        """The bend is where r = y, over a width of r/√a."""
        return Bend(jnp.log(y / self.level), 1.0 / jnp.sqrt(1.0 + self.shape))

    def sampled(
        self, random: np.random.RandomState, f: Float[np.ndarray, "1 N"]
    ) -> Float[np.ndarray, " N"]:
        a = float(self.shape)
        return self.level * np.exp(f[0]) * random.gamma(a, 1.0 / a, size=f.shape[1])
