r"""Two rules that define the sites, each as the maximum of an objective.

At the optimum each site agrees with its row's likelihood: b = curvature, and g - bμ = slope. The
rules differ in where slope and curvature are evaluated:

| rule        | row's term             | slope, curvature                     | objective          |
|-------------|------------------------|--------------------------------------|--------------------|
| variational | E_q[log p(y|f)]        | α = E[(log p)'], β = -E[(log p)'']   | Σ w·term - KL[q‖p] |
| mode        | log p(y|μ)             | (log p)'(μ), -(log p)''(μ)           | Σ w·term - ½ μᵀK⁻¹μ|

The first is the KL method (section 4; Opper & Archambeau 2009), the second Laplace's. Expectation
propagation has no such objective, and its own file (ep.py).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..likelihoods import Expectations, Likelihood, Pointwise
from .sites import Belief, Rows, Sites, divergence


class Seen(NamedTuple):
    """The objective at a belief, and the target of each row's site (times its weight)."""

    objective: Float[Array, ""]
    terms: Expectations


class Variational(NamedTuple):
    """The sites for which q is the Gaussian closest to the posterior in KL[q ‖ posterior]."""

    likelihood: Likelihood

    def look(self, belief: Belief, sites: Sites, rows: Rows) -> Seen:
        """Eq. (klsparse), for any prior."""
        terms = weighted(
            rows, self.likelihood.expectations(jnp.asarray(rows.y), belief.mean, belief.variance)
        )
        return Seen(jnp.sum(terms.log_prob) - divergence(belief, sites), terms)


class Mode(NamedTuple):
    """The sites for which the posterior mean is the most probable f."""

    likelihood: Likelihood

    def at(self, y: Float[Array, " N"], f: Float[Array, "L N"]) -> Pointwise:
        """Derivatives with respect to each f_l; for several functions, relative to a common
        shift.
        """
        several = self.likelihood.n_latent > 1
        return (self.likelihood.at_free_shift if several else self.likelihood.at)(y, f)

    def look(self, belief: Belief, sites: Sites, rows: Rows) -> Seen:
        """Log p(y|μ) - ½ μᵀ K⁻¹ μ, with K⁻¹μ = g - bμ."""
        at = self.at(jnp.asarray(rows.y), belief.mean)
        terms = weighted(
            rows, Expectations(at.log_prob, at.slope, at.curvature, jnp.zeros_like(at.slope))
        )
        pull = sites.linear - sites.precision * belief.mean
        return Seen(jnp.sum(terms.log_prob) - 0.5 * jnp.vdot(belief.mean, pull), terms)


def weighted(rows: Rows, terms: Expectations) -> Expectations:
    """Each row's terms times its weight."""
    return jax.tree.map(lambda per_row: rows.weights * per_row, terms)
