r"""Counts with more spread than Poisson's: mean r = level · eᶠ, variance r + dispersion · r².

With k = 1/dispersion, y is Poisson with a rate of r times a Gamma(k, k) variable.
With x = f + log(level · dispersion), so that r/k = eˣ, and s = 1/(1 + e⁻ˣ),

    log p(y|f) = log Γ(y+k) - log Γ(k) - log y! + y x - (y + k) log(1 + eˣ),
    (log p)' = y - (y + k) s,        -(log p)'' = (y + k) s (1 - s).

For dispersion → 0 it is the Poisson distribution.
"""

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax.nn import sigmoid, softplus
from jax.scipy.special import betainc, gammaln
from jaxtyping import Array, Float

from ..numerics.fields import positive
from .log_link import LogLink, counts
from .one_function import Bend, Derivatives

_TINY = 1e-300


class NegativeBinomial(LogLink):
    """Counts with mean r and variance r + `dispersion` r², given f.

    Examples
    --------
    >>> from fewknots import GPRegressor
    >>> from fewknots.likelihoods import NegativeBinomial
    >>> GPRegressor(likelihood=NegativeBinomial(dispersion=0.2)).likelihood
    NegativeBinomial(level=None, dispersion=0.2)
    """

    support: ClassVar = "counts"
    dispersion: Any = positive(0.5)

    encoded = staticmethod(counts)

    def density(self, y: Float[Array, " N"], f: Float[Array, "C N"]) -> Derivatives:
        """Derivatives of the logistic function, times y + k."""
        k = 1.0 / jnp.asarray(self.dispersion)
        x = f + jnp.log(self.level * self.dispersion)
        s = sigmoid(x)
        bent = (y + k) * s * sigmoid(-x)
        constant = gammaln(y + k) - gammaln(k) - gammaln(y + 1.0)
        return Derivatives(
            constant + y * x - (y + k) * softplus(x),
            y - (y + k) * s,
            bent,
            bent * (1.0 - 2.0 * s),
            0.5 * bent * (1.0 - 6.0 * s * sigmoid(-x)),
        )

    def density_bend(self, y: Float[Array, " N"]) -> Bend:
        """At x = 0, as the logistic function."""
        return Bend(-jnp.log(self.level * self.dispersion), 1.0)

    def moments(
        self, mean: Float[Array, "1 N"], variance: Float[Array, "1 N"]
    ) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
        rate, spread = self.rate_moments(mean, variance)
        return rate, rate + spread + self.dispersion * (spread + jnp.square(rate))

    def cdf(self, y: Float[Array, " N"], f: Float[Array, "C N"]) -> Float[Array, "C N"]:
        """I(1 - s; k, y + 1), the incomplete beta function, defined for all y."""
        s_below = sigmoid(-f - jnp.log(self.level * self.dispersion))
        return betainc(1.0 / self.dispersion, jnp.maximum(y + 1.0, _TINY), s_below)

    def cdf_bend(self, y: Float[Array, " N"]) -> Bend:
        """The bend is where r is about y + 1; the distribution is √(y + y² · dispersion) wide."""
        size = jnp.maximum(y, 0.0) + 1.0
        return Bend(jnp.log(size / self.level), jnp.sqrt(1.0 / size + self.dispersion))

    def sampled(
        self, random: np.random.RandomState, f: Float[np.ndarray, "1 N"]
    ) -> Float[np.ndarray, " N"]:
        k = 1.0 / float(self.dispersion)
        rate = self.level * np.exp(f[0]) * random.gamma(k, 1.0 / k, size=f.shape[1])
        return random.poisson(rate).astype(np.float64)
