r"""Gaussian noise in every neighbourhood: the sites are known in closed form, and one factor is
enough.

With noise s² and weights w the site of a row is b = w/s², g = w(y - m)/s² for any marginal. So
α = C(y - m), and the three rules are the same: mode, bound and moments of a Gaussian agree.
"""

from typing import Any

import jax.numpy as jnp

from ..likelihoods import Gaussian, Likelihood
from .neighbourhood import Covariances, Labelled, factorised, shrunk
from .site_solution import Matrix, Sensitivity, SiteSolution


def gaussian(
    prior: Covariances, labels: Labelled, likelihood: Likelihood, mean: Any, tolerance: float
) -> SiteSolution:
    """The posterior of each neighbourhood, exactly; `tolerance` is not needed."""
    assert isinstance(likelihood, Gaussian)
    precision = labels.weights / likelihood.noise
    factor = factorised(prior.covariance, precision)
    away = labels.y - mean
    slope = shrunk(factor, precision, away)
    # y - μ = s²α/w; where w is zero, the row's targets are zero, too
    left = away - (prior.covariance @ slope[..., None])[..., 0]

    def wanted(other: Likelihood) -> tuple[Matrix, Matrix]:
        assert isinstance(other, Gaussian)
        own = labels.weights / other.noise
        return own * left, own

    zero = jnp.zeros_like(slope)
    sensitivity = Sensitivity(-precision, zero, zero, zero)
    return SiteSolution(slope, precision, factor, None, sensitivity, wanted)
