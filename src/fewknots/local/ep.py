r"""Expectation propagation in every neighbourhood (inference/ep.py), all sites in parallel.

With the cavity N(μ₋, s) and Ẑ's derivatives α, c there, the marginal, slope and precision of a row
of weight w are

    μ = μ₋ + sα,   σ² = s - s²c,   a = wα,   b = wc/(1 - sc),

so that the site's derivatives with respect to (μ, σ²) are those with respect to (μ₋, s) times the
inverse of a 2×2 matrix. A parameter of the likelihood changes slope and precision, and at a fixed
cavity also the marginal: its effect at a fixed marginal is the remainder.
"""

from typing import Any

import jax
import jax.numpy as jnp

from ..likelihoods import Likelihood
from .neighbourhood import Covariances, Labelled
from .site_solution import Marginals, Matrix, Sensitivity, SiteSolution, Targets, by_row, settle


def expectation_propagation(
    prior: Covariances, labels: Labelled, likelihood: Likelihood, mean: Any, tolerance: float
) -> SiteSolution:
    """The sites that give every row's tilted mean and variance."""
    copies = jnp.where(labels.weights > 0, labels.weights, 1.0)

    def cavity(now: Marginals, precision: Matrix) -> tuple[Matrix, Matrix]:
        b = precision / copies
        left = 1.0 - b * now.variance
        # one copy's slope is α/w: removing it moves the mean by -σ²(g - bμ)/(1 - bσ²)
        return mean + now.centred - now.variance * now.slope / copies / left, now.variance / left

    def targets(now: Marginals, precision: Matrix) -> Targets:
        s_mean, s = cavity(now, precision)
        tilted = by_row(likelihood.tilted, labels.y, s_mean, s)
        kept = 1.0 - s * tilted.curvature
        new_precision = labels.weights * tilted.curvature / kept
        # g = w(α + cμ₋)/(1 - sc) has, at the current mean, the slope g - bμ
        ahead = tilted.slope + tilted.curvature * (s_mean - mean - now.centred)
        return Targets(labels.weights * ahead / kept, new_precision, 1.0)

    found, precision = settle(prior, targets, tolerance)
    at = cavity(found, precision)
    sensitivity = _sensitivity(likelihood, labels, *at)

    def wanted(other: Likelihood) -> tuple[Matrix, Matrix]:
        (mean, variance), (a, b) = _of_cavity(other, labels, *at)
        to = sensitivity
        return (
            a - to.slope_to_mean * mean - to.slope_to_variance * variance,
            b - to.precision_to_mean * mean - to.precision_to_variance * variance,
        )

    return SiteSolution(found.slope, precision, found.factor, found.covariance, sensitivity, wanted)


def _of_cavity(likelihood: Likelihood, labels: Labelled, mean: Matrix, s: Matrix):
    """The marginal that follows from a cavity, and the site's slope and precision."""
    tilted = by_row(likelihood.tilted, labels.y, mean, s)
    slope, c = tilted.slope, tilted.curvature
    marginal = (mean + s * slope, s * (1.0 - s * c))
    return marginal, (labels.weights * slope, labels.weights * c / (1.0 - s * c))


def _sensitivity(likelihood: Likelihood, labels: Labelled, mean: Matrix, s: Matrix) -> Sensitivity:
    def of_cavity(mean, s):
        return _of_cavity(likelihood, labels, mean, s)

    one, zero = jnp.ones_like(s), jnp.zeros_like(s)
    _, ((mm, vm), (am, bm)) = jax.jvp(of_cavity, (mean, s), (one, zero))  # for μ₋
    _, ((ms, vs), (as_, bs)) = jax.jvp(of_cavity, (mean, s), (zero, one))  # for s
    determinant = mm * vs - ms * vm

    def for_marginal(by_mean, by_s):
        """(∂/∂μ, ∂/∂σ²) from (∂/∂μ₋, ∂/∂s)."""
        return (
            (by_mean * vs - by_s * vm) / determinant,
            (by_s * mm - by_mean * ms) / determinant,
        )

    return Sensitivity(*for_marginal(am, as_), *for_marginal(bm, bs))
