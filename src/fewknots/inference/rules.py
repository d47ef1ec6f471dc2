r"""Two rules that say which sites are right, both as the maximum of an objective.

At the optimum each site equals what its row's likelihood says: b = curvature, and the slope
g - bμ = slope. Where likelihood and slope are taken is the difference:

| rule        | row's term             | slope, curvature                     | objective          |
|-------------|------------------------|--------------------------------------|--------------------|
| variational | E_q[log p(y|f)]        | α = E[(log p)'], β = -E[(log p)'']   | Σ w·term - KL[q‖p] |
| mode        | log p(y|μ)             | (log p)'(μ), -(log p)''(μ)           | Σ w·term - ½ μᵀK⁻¹μ|

The first is the KL method (section 4; Opper & Archambeau 2009), the second Laplace's. Expectation
propagation has no such objective, and a file of its own (ep.py).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..likelihoods import Expectations, Likelihood, Pointwise
from .sites import Belief, Rows, Sites, divergence


class Seen(NamedTuple):
    """The objective at a belief, and what each row asks for (multiplied by its weight)."""

    objective: Float[Array, ""]
    terms: Expectations


class Variational(NamedTuple):
    """Sites are right when q is the Gaussian closest to the posterior in KL[q ‖ posterior]."""

    likelihood: Likelihood

    def look(self, belief: Belief, sites: Sites, rows: Rows) -> Seen:
        """Eq. (klsparse), for whichever prior made the belief."""
        terms = weighted(
            rows, self.likelihood.expectations(jnp.asarray(rows.y), belief.mean, belief.variance)
        )
        return Seen(jnp.sum(terms.log_prob) - divergence(belief, sites), terms)


class Mode(NamedTuple):
    """Sites are right when their mean is the most probable f."""

    likelihood: Likelihood

    def at(self, y: Float[Array, " N"], f: Float[Array, "L N"]) -> Pointwise:
        """Derivatives for each f_l; of several functions, around a shift of their own."""
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
