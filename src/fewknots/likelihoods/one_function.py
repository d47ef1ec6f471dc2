r"""Likelihoods of one latent function, from log p(y|f) and its derivatives as plain formulas.

A subclass gives log p, its four derivatives with respect to f and P(y ≤ t|f), elementwise, and
where they bend. The methods of the interface follow from these:

| method           | by                                                                     |
|------------------|------------------------------------------------------------------------|
| `at`             | the formulas                                                           |
| `expectations`   | quadrature (numerics/quadrature.py); override it where a closed form is |
| `tilted`         | numerics/peak.py if log p is concave, else as `expectations`            |
| `predictive_cdf` | quadrature                                                             |
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..numerics.elementary import exp
from ..numerics.peak import log_mean_of_peak
from ..numerics.quadrature import expect_around
from .base import Expectations, Likelihood, Pointwise, Tilted


class Derivatives(NamedTuple):
    """(g, g', -g'', -g''', -½g'''') for g = log p(y|·), elementwise."""

    log_prob: Float[Array, "..."]
    slope: Float[Array, "..."]
    curvature: Float[Array, "..."]
    change: Float[Array, "..."]
    half_second_change: Float[Array, "..."]


class Bend(NamedTuple):
    """Where a function of f bends, and over what width (see `expect_around`)."""

    centre: Float[Array, "..."] | float
    width: Float[Array, "..."] | float


class OneFunction(Likelihood):
    """A likelihood of one latent function."""

    def density(self, y: Float[Array, " N"], f: Float[Array, "C N"]) -> Derivatives:
        """Log p(y|f) and its derivatives at some f for each row."""
        raise NotImplementedError(self._lacks("density"))

    def density_bend(self, y: Float[Array, " N"]) -> Bend:
        """The bend of log p(y|·)."""
        return Bend(0.0, 1.0)

    def cdf(self, y: Float[Array, " N"], f: Float[Array, "C N"]) -> Float[Array, "C N"]:
        """The probability of at most y; for counts, increasing between whole numbers, too."""
        raise NotImplementedError(self._lacks("cdf"))

    def cdf_bend(self, y: Float[Array, " N"]) -> Bend:
        """The bend of P(y ≤ t|·)."""
        return self.density_bend(y)

    def expectations(
        self, y: Float[Array, " N"], mean: Float[Array, "1 N"], variance: Float[Array, "1 N"]
    ) -> Expectations:
        """By quadrature."""

        def integrands(f):
            at = self.density(y, f)
            return at.log_prob, at.slope, at.curvature, at.half_second_change

        bend = self.density_bend(y)
        log_prob, *others = expect_around(integrands, mean[0], variance[0], *bend)
        return Expectations(log_prob, *(part[None] for part in others))

    def at(self, y: Float[Array, " N"], f: Float[Array, "1 N"]) -> Pointwise:
        found = self.density(y, f)
        return Pointwise(found.log_prob[0], found.slope, found.curvature, found.change)

    def tilted(
        self, y: Float[Array, " N"], mean: Float[Array, "1 N"], variance: Float[Array, "1 N"]
    ) -> Tilted:
        if self.log_concave:
            found = log_mean_of_peak(lambda f: self.density(y, f)[:3], mean[0], variance[0])
            return Tilted(found[0], found[1][None], found[2][None])

        def integrands(f):
            at = self.density(y, f)
            p = exp(at.log_prob)
            return p, p * at.slope, p * (jnp.square(at.slope) - at.curvature)

        bend = self.density_bend(y)
        p, first, second = expect_around(integrands, mean[0], variance[0], *bend)
        slope = first / p
        return Tilted(jnp.log(p), slope[None], (jnp.square(slope) - second / p)[None])

    def predictive_cdf(
        self, y: Float[Array, " N"], mean: Float[Array, "1 N"], variance: Float[Array, "1 N"]
    ) -> Float[Array, " N"]:
        (found,) = expect_around(
            lambda f: (self.cdf(y, f),), mean[0], variance[0], *self.cdf_bend(y)
        )
        return found
