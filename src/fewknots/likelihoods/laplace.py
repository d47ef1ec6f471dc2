r"""Noise with heavy, exponential tails: p(y|f) = exp(-|y - f|/b)/(2b), the Laplace distribution.

(Laplace's method, `method="laplace"`, is something else.) The best constant f is the median of y.
With f ~ N(μ, σ²) and z = (μ - y)/σ all is in closed form:

    E[log p] = -log 2b - (σ/b) (2φ(z) + z (2Φ(z) - 1)),
    α = (1 - 2Φ(z))/b,    β = 2φ(z)/(σ b),    ∂β/∂σ² = β (z² - 1)/(2σ²).

log p is concave, with a kink at f = y. With e = y - μ, and t₊ = e^{-e/b} Φ(e/σ - σ/b),
t₋ = e^{e/b} Φ(-e/σ - σ/b),

    E[p] = e^{σ²/2b²} (t₊ + t₋)/(2b),    P(y ≤ t) = Φ(e/σ) + ½ e^{σ²/2b²} (t₋ - t₊) at y = t.
"""

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr
from jaxtyping import Array, Float

from ..numerics.elementary import exp
from ..numerics.fields import positive
from ..numerics.normal import log_cdf
from .base import Expectations, Likelihood, Pointwise, Tilted
from .gaussian import first_noise


class Laplace(Likelihood):
    """Noise with heavy, exponential tails; its mean absolute value is `scale`.

    scale : None: training starts with a noise variance, 2 scale², of a tenth of y's variance.

    Examples
    --------
    >>> from fewknots import GPRegressor
    >>> from fewknots.likelihoods import Laplace
    >>> GPRegressor(likelihood=Laplace(scale=0.5)).likelihood
    Laplace(scale=0.5)
    """

    any_scale: ClassVar = True
    curved: ClassVar = False
    scale: Any = positive(None)

    def prepared(
        self, y: Float[np.ndarray, " N"], weights: Float[np.ndarray, " N"]
    ) -> "Laplace | Likelihood":
        if self.scale is not None:
            return super().prepared(y, weights)
        return Laplace(np.sqrt(0.5 * first_noise(y, weights)))

    def rescaled(self, scale: float) -> "Laplace":
        return self if self.scale is None else Laplace(self.scale / scale)

    def expectations(
        self, y: Float[Array, " N"], mean: Float[Array, "1 N"], variance: Float[Array, "1 N"]
    ) -> Expectations:
        """In closed form."""
        sigma = _deviation(variance)
        z = (mean - y) / sigma
        bell = exp(-0.5 * jnp.square(z)) / jnp.sqrt(2.0 * jnp.pi)
        lean = 1.0 - 2.0 * ndtr(z)
        log_prob = -jnp.log(2.0 * self.scale) - sigma * (2.0 * bell - z * lean) / self.scale
        curvature = 2.0 * bell / (sigma * self.scale)
        change = 0.5 * curvature * (jnp.square(z) - 1.0) / jnp.square(sigma)
        return Expectations(log_prob[0], lean / self.scale, curvature, change)

    def at(self, y: Float[Array, " N"], f: Float[Array, "1 N"]) -> Pointwise:
        """Valid except at f = y."""
        away = y - f
        flat = jnp.zeros_like(f)
        log_prob = -jnp.log(2.0 * self.scale) - jnp.abs(away) / self.scale
        return Pointwise(log_prob[0], jnp.sign(away) / self.scale, flat, flat)

    def tilted(
        self, y: Float[Array, " N"], mean: Float[Array, "1 N"], variance: Float[Array, "1 N"]
    ) -> Tilted:
        """In closed form."""
        sigma = _deviation(variance)
        above, below = self._parts(y - mean, sigma)
        total = jnp.logaddexp(above, below)
        grown = 0.5 * jnp.square(sigma / self.scale)
        slope = (exp(above - total) - exp(below - total)) / self.scale
        e = (y - mean) / sigma
        # e^{-e/b} φ(e/σ - σ/b), which is the same with the other sign of e
        log_bell = -0.5 * jnp.square(e) - grown - 0.5 * jnp.log(2.0 * jnp.pi)
        second = 1.0 / self.scale**2 - 2.0 * exp(log_bell - total) / (sigma * self.scale)
        log_prob = grown + total - jnp.log(2.0 * self.scale)
        return Tilted(log_prob[0], slope, jnp.square(slope) - second)

    def moments(
        self, mean: Float[Array, "1 N"], variance: Float[Array, "1 N"]
    ) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
        return mean[0], variance[0] + 2.0 * jnp.square(self.scale)

    def predictive_cdf(
        self, y: Float[Array, " N"], mean: Float[Array, "1 N"], variance: Float[Array, "1 N"]
    ) -> Float[Array, " N"]:
        """In closed form."""
        sigma = _deviation(variance)
        grown = 0.5 * jnp.square(sigma / self.scale)
        above, below = (exp(grown + part) for part in self._parts(y - mean, sigma))
        return (ndtr((y - mean) / sigma) + 0.5 * (below - above))[0]

    def _parts(
        self, e: Float[Array, "1 N"], sigma: Float[Array, "1 N"]
    ) -> tuple[Float[Array, "1 N"], Float[Array, "1 N"]]:
        """Log t₊ and log t₋."""
        ratio = sigma / self.scale
        return (
            -e / self.scale + log_cdf(e / sigma - ratio),
            e / self.scale + log_cdf(-e / sigma - ratio),
        )

    def sampled(
        self, random: np.random.RandomState, f: Float[np.ndarray, "1 N"]
    ) -> Float[np.ndarray, " N"]:
        return random.laplace(f[0], float(self.scale))


def _deviation(variance: Float[Array, "1 N"]) -> Float[Array, "1 N"]:
    """σ, above zero."""
    return jnp.sqrt(jnp.maximum(variance, float(jnp.finfo(variance.dtype).tiny) ** 0.5))
