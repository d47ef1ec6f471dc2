r"""Proportions: y between 0 and 1 of mean m = 1/(1 + e⁻ˣ), x = f + log odds, y ~ Beta(mφ, (1-m)φ).

Their variance is m(1-m)/(1+φ). The precision φ is learned, and so are the odds of the mean at f =
0. With v = m(1-m), w = 1-2m and, ψ being the digamma function, ψ₁ its derivative, and so on,

    T  = logit y - ψ(mφ) + ψ((1-m)φ),           T₁ = -φ (ψ₁(mφ) + ψ₁((1-m)φ)),
    T₂ = -φ² (ψ₂(mφ) - ψ₂((1-m)φ)),             T₃ = -φ³ (ψ₃(mφ) + ψ₃((1-m)φ)),

the derivatives of log p in f, by v' = vw and w' = -2v, are φ times

    vT,    vwT + v²T₁,    v(w²-2v)T + 3v²wT₁ + v³T₂,    vw(w²-8v)T + (7v²w²-8v³)T₁ + 6v³wT₂ + v⁴T₃.

log p is not concave in f if y is far from m: as for Student's t (student_t.py), a site may have a
negative precision.
"""

import dataclasses
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax.nn import sigmoid
from jax.scipy.special import betainc, digamma, gammaln, logit, polygamma
from jaxtyping import Array, Float

from ..numerics.fields import positive
from ..numerics.quadrature import expect_around
from .base import Likelihood, refuse_rows
from .one_function import Bend, Derivatives, OneFunction


class Beta(OneFunction):
    """Proportions between 0 and 1: a beta distribution with precision `precision`.

    odds : m/(1-m) at f = 0; None: training starts from the odds of the mean of y.

    Examples
    --------
    >>> from fewknots import GPRegressor
    >>> from fewknots.likelihoods import Beta
    >>> GPRegressor(likelihood=Beta(precision=20.0)).likelihood
    Beta(odds=None, precision=20.0)
    """

    log_concave: ClassVar = False
    support: ClassVar = "unit"
    odds: Any = positive(None)
    precision: Any = positive(10.0)

    @staticmethod
    def encoded(targets: Any) -> Float[np.ndarray, " N"]:
        y = np.asarray(targets, np.float64)
        advice = "A beta distribution has proportions between 0 and 1, neither of them included."
        refuse_rows((y <= 0) | (y >= 1), y, "not between 0 and 1", advice)
        return y

    def prepared(
        self, y: Float[np.ndarray, " N"], weights: Float[np.ndarray, " N"]
    ) -> "Beta | Likelihood":
        if self.odds is not None:
            return super().prepared(y, weights)
        mean = float(np.average(y, weights=weights))
        return dataclasses.replace(self, odds=mean / (1.0 - mean)).prepared(y, weights)

    def density(self, y: Float[Array, " N"], f: Float[Array, "C N"]) -> Derivatives:
        phi, x = jnp.asarray(self.precision), f + jnp.log(self.odds)
        m, rest = sigmoid(x), sigmoid(-x)
        a, b = m * phi, rest * phi
        log_prob = gammaln(phi) - gammaln(a) - gammaln(b)
        log_prob += (a - 1.0) * jnp.log(y) + (b - 1.0) * jnp.log1p(-y)
        T = logit(y) - digamma(a) + digamma(b)
        T1 = -phi * (polygamma(1, a) + polygamma(1, b))
        T2 = -jnp.square(phi) * (polygamma(2, a) - polygamma(2, b))
        T3 = -(phi**3) * (polygamma(3, a) + polygamma(3, b))
        v, w = m * rest, rest - m
        fourth = v * w * (w * w - 8.0 * v) * T + v * v * (7.0 * w * w - 8.0 * v) * T1
        fourth += 6.0 * v**3 * w * T2 + v**4 * T3
        return Derivatives(
            log_prob,
            phi * v * T,
            -phi * v * (w * T + v * T1),
            -phi * v * ((w * w - 2.0 * v) * T + 3.0 * v * w * T1 + v * v * T2),
            -0.5 * phi * fourth,
        )

    def density_bend(self, y: Float[Array, " N"]) -> Bend:
        """Near m = y; p itself is a peak √(1/(φ y (1-y))) wide."""
        width = 0.5 / jnp.sqrt(1.0 + self.precision * y * (1.0 - y))
        return Bend(logit(y) - jnp.log(self.odds), width)

    def moments(
        self, mean: Float[Array, "1 N"], variance: Float[Array, "1 N"]
    ) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
        """By quadrature: E[m], and E[m²] - E[m]² + E[m(1-m)]/(1+φ)."""

        def integrands(f):
            m = sigmoid(f + jnp.log(self.odds))
            return m, jnp.square(m), m * (1.0 - m)

        centre = -jnp.log(jnp.asarray(self.odds))
        m, square, within = expect_around(
            integrands, mean[0], variance[0], centre, jnp.ones_like(centre)
        )
        return m, square - jnp.square(m) + within / (1.0 + self.precision)

    def cdf(self, y: Float[Array, " N"], f: Float[Array, "C N"]) -> Float[Array, "C N"]:
        """I(y; mφ, (1-m)φ), of the incomplete beta function."""
        x = f + jnp.log(self.odds)
        tiny = float(jnp.finfo(f.dtype).tiny)
        a, b = (jnp.maximum(self.precision * sigmoid(s * x), tiny) for s in (1.0, -1.0))
        return betainc(a, b, y)

    def sampled(
        self, random: np.random.RandomState, f: Float[np.ndarray, "1 N"]
    ) -> Float[np.ndarray, " N"]:
        m = 1.0 / (1.0 + np.exp(-f[0]) / self.odds)
        return random.beta(self.precision * m, self.precision * (1.0 - m))
