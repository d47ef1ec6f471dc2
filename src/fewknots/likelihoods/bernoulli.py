r"""Two classes: p(y|f) = s(y f) with y ∈ {-1, +1} and s the probit Φ or the logistic function.

The probit is the paper's (eq. GPC). It is exact here: some libraries limit it to [0.001, 0.999],
so that log p can never be below -6.9 and over-confidence is hidden.
"""

from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Real

from ..numerics.elementary import exp, log1p
from ..numerics.fields import setting
from ..numerics.normal import log_cdf, lower_tail
from ..numerics.quadrature import expect
from .base import Expectations, Likelihood, Pointwise, Tilted
from .one_function import Derivatives

LINKS = ("probit", "logit")


class Bernoulli(Likelihood):
    """Two classes through the link `"probit"` or `"logit"`.

    Examples
    --------
    >>> from fewknots import GPClassifier
    >>> from fewknots.likelihoods import Bernoulli
    >>> GPClassifier(likelihood=Bernoulli("logit")).likelihood
    Bernoulli(link='logit')
    """

    targets: ClassVar = "classes"
    link: str = setting("probit")

    @staticmethod
    def encoded(codes: Real[np.ndarray, " N"]) -> Float[np.ndarray, " N"]:
        """Codes 0 and 1 as y ∈ {-1, +1}."""
        return 2.0 * codes - 1.0

    def expectations(
        self, y: Float[Array, " N"], mean: Float[Array, "1 N"], variance: Float[Array, "1 N"]
    ) -> Expectations:
        """By quadrature; odd derivatives carry the sign of y."""
        derivatives = _DERIVATIVES[self.link]

        def integrands(f):
            at = derivatives(y * f)
            return at.log_prob, at.slope, at.curvature, at.half_second_change

        log_prob, slope, curvature, change = expect(integrands, mean[0], variance[0])
        return Expectations(log_prob, (y * slope)[None], curvature[None], change[None])

    def at(self, y: Float[Array, " N"], f: Float[Array, "1 N"]) -> Pointwise:
        """In closed form; odd derivatives carry the sign of y."""
        at = _DERIVATIVES[self.link](y * f)
        return Pointwise(at.log_prob[0], y * at.slope, at.curvature, y * at.change)

    def tilted(
        self, y: Float[Array, " N"], mean: Float[Array, "1 N"], variance: Float[Array, "1 N"]
    ) -> Tilted:
        """In closed form for the probit, Ẑ = Φ(yμ/√(1 + σ²)); by quadrature for the logit."""
        if self.link == "probit":
            scale = jnp.sqrt(1.0 + variance)
            log_prob, ratio, excess = lower_tail(y * mean / scale)
            return Tilted(log_prob[0], y * ratio / scale, ratio * excess / (1.0 + variance))
        log_prob, slope, curvature = _tilted_logistic(y * mean[0], variance[0])
        return Tilted(log_prob, (y * slope)[None], curvature[None])

    def log_probabilities(
        self, mean: Float[Array, "1 N"], variance: Float[Array, "1 N"]
    ) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
        """(log p(y = -1), log p(y = +1)) with f ~ N(mean, variance) integrated out.

        Each is computed as a logarithm from the start, so neither underflows to log 0.
        """
        mean, variance = mean[0], variance[0]
        if self.link == "probit":
            # ∫ Φ(f) N(f|μ, σ²) df = Φ(μ / √(1 + σ²)) (Rasmussen & Williams, eq. 3.82).
            z = mean / jnp.sqrt(1.0 + variance)
            negative, positive = log_cdf(jnp.stack([-z, z]))
            return negative, positive
        return _tilted_logistic(-mean, variance)[0], _tilted_logistic(mean, variance)[0]

    def decision(
        self, mean: Float[Array, "1 N"], variance: Float[Array, "1 N"]
    ) -> Float[Array, " N"]:
        """The predictive probability in the link's own units: Φ⁻¹(p), or log p/(1-p)."""
        if self.link == "probit":
            return (mean / jnp.sqrt(1.0 + variance))[0]
        log_negative, log_positive = self.log_probabilities(mean, variance)
        return log_positive - log_negative

    def conditional_entropy(
        self, mean: Float[Array, "1 N"], variance: Float[Array, "1 N"]
    ) -> Float[Array, " N"]:
        """By quadrature."""
        derivatives = _DERIVATIVES[self.link]

        def entropy(f):
            each = (derivatives(sign * f).log_prob for sign in (1.0, -1.0))
            return (-sum(exp(log_p) * log_p for log_p in each),)

        return expect(entropy, mean[0], variance[0])[0]


def probit_derivatives(x: Float[Array, "..."]) -> Derivatives:
    """From h = φ/Φ and h' = -h(x + h)."""
    log_cdf, ratio, excess = lower_tail(x)
    curvature = ratio * excess
    # β = h·s with s = x + h, so β' = h(1 - β) - βs, and β'' = -β'(s + h) - 2β(1 - β).
    change = ratio * (1.0 - curvature) - curvature * excess
    second_change = -change * (excess + ratio) - 2.0 * curvature * (1.0 - curvature)
    return Derivatives(log_cdf, ratio, curvature, change, 0.5 * second_change)


def _logit_derivatives(x: Float[Array, "..."]) -> Derivatives:
    """With p = g' = 1/(1 + eˣ), β = p(1 - p) and β' = β(2p - 1)."""
    tail = exp(-jnp.abs(x))
    log_prob = jnp.minimum(x, 0.0) - log1p(tail)
    slope = jnp.where(x < 0, 1.0, tail) / (1.0 + tail)
    curvature = tail / jnp.square(1.0 + tail)
    change = curvature * (2.0 * slope - 1.0)
    half_second_change = 0.5 * curvature * (1.0 - 6.0 * curvature)
    return Derivatives(log_prob, slope, curvature, change, half_second_change)


_DERIVATIVES = {"probit": probit_derivatives, "logit": _logit_derivatives}


def _tilted_logistic(mean, variance) -> tuple[Array, Array, Array]:
    r"""Log E[s(f)], f ~ N(μ, σ²), s(f) = 1/(1 + e⁻ᶠ), and its slope and curvature in μ.

    For μ far below zero, s(f) N(f|μ, σ²) has its mass where N is almost zero, and a quadrature
    rule for N has no nodes there. Tilting by eᵗᶠ moves the Gaussian there:

        E_{N(μ, σ²)}[s(f)] = exp(tμ + t²σ²/2) E_{N(μ + tσ², σ²)}[e⁻ᵗᶠ s(f)],   0 ≤ t ≤ 1,

    with t = -μ/σ², limited to [0, 1], so that the new mean is zero if possible. The same
    holds for the derivatives. With p = 1 - s and ⟨·⟩ the average under s(f) N(f|μ, σ²)/Ẑ,

        slope = ⟨p⟩,     curvature = ⟨s p⟩ - Var⟨p⟩ ≥ 0,

    and the variance is computed from p or s, whichever is smaller, so that tails are accurate.
    """
    tilt = jnp.clip(-mean / jnp.maximum(variance, 1e-30), 0.0, 1.0)

    def tilted(f):
        at = _logit_derivatives(f)
        value = exp(at.log_prob - tilt * f)
        small = jnp.where(mean > 0, at.slope, exp(at.log_prob))  # p or s
        weighed = (at.slope, at.curvature, small, jnp.square(small))
        return value, *(value * quantity for quantity in weighed)

    value, *sums = expect(tilted, mean + tilt * variance, variance)
    slope, curvature, small, small_squared = (total / value for total in sums)
    log_prob = tilt * mean + 0.5 * jnp.square(tilt) * variance + jnp.log(value)
    return log_prob, slope, curvature - (small_squared - jnp.square(small))
