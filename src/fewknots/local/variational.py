r"""The KL method in every neighbourhood: the Gaussian closest to the posterior (full_kl.py).

The target of each site is its row's expected slope and curvature; the precisions take steps damped
as derived in inference/natural_gradient.py, by 1 / (1 + row sum of (Σ∘Σ) diag ∂β/∂σ²).
"""

from typing import Any

import jax
import jax.numpy as jnp

from ..likelihoods import Likelihood
from ..numerics.linalg import times
from .neighbourhood import Covariances, Labelled
from .site_solution import Marginals, Matrix, Sensitivity, SiteSolution, Targets, by_row, settle


def variational(
    prior: Covariances, labels: Labelled, likelihood: Likelihood, mean: Any, tolerance: float
) -> SiteSolution:
    """The sites that maximise each neighbourhood's bound."""

    def seen(now: Marginals, likelihood: Likelihood = likelihood):
        terms = by_row(likelihood.expectations, labels.y, mean + now.centred, now.variance)
        return jax.tree.map(lambda column: labels.weights * column, terms)

    def targets(now: Marginals, precision: Matrix) -> Targets:
        terms = seen(now)
        row_sums = times(jnp.square(now.covariance), terms.curvature_change)
        damping = 1.0 / (1.0 + jnp.maximum(row_sums, 0.0))
        return Targets(terms.slope, terms.curvature, damping)

    found, precision = settle(prior, targets, tolerance)
    terms = seen(found)
    # ∂α/∂σ² = ½ E[(log p)'''] and ∂β/∂μ = -E[(log p)''']: one is minus half the other.
    third = _third_derivative(likelihood, labels, mean + found.centred, found.variance)
    return SiteSolution(
        found.slope,
        precision,
        found.factor,
        found.covariance,
        Sensitivity(-terms.curvature, 0.5 * third, -third, terms.curvature_change),
        lambda other: seen(found, other)[1:3],
    )


def _third_derivative(likelihood: Likelihood, labels: Labelled, mean, variance) -> Matrix:
    """E[(log p)'''] = -∂β/∂μ for each row, times its weight."""

    def curvature(mean):
        return by_row(likelihood.expectations, labels.y, mean, variance).curvature

    _, change = jax.jvp(curvature, (mean,), (jnp.ones_like(mean),))
    return -labels.weights * change
