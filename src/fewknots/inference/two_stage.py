r"""The scalable bound that section 3.2 derives and rejects, kept here for comparison.

Substituting eq. (svigp) into the augmented model gives

    log p(y) ≥ Σ_n log Φ(y_n μ_n) - ½ Σ_n σ²_n - KL[q(u) ‖ p(u)],                        (2S)

with μ, σ² as in sparse_kl.py: σ²_n = κ_n + a_nᵀ S a_n contains both of the paper's trace terms.
(The paper prints Π_n B(y_n|Φ(·)) where the sum of its logarithms is meant; this is the correct
one.)

Mean and covariance do not depend on each other: m is the most probable v, found by the rule `Mode`
(rules.py), and S⁻¹ = I + Aᵀ diag(w) A for any labels. With Z = X this is the MAP point and
S⁻¹ = K⁻¹ + I, similar to Laplace's approximation, and about as good.

| symbol | name here             | shape |
|--------|-----------------------|-------|
| A, κ   | features.*            | N×M, N|
| m, S   | belief.gaussian       | M, M×M|
| μ, σ²  | belief.mean, variance | N, N  |

Cost: O(NM²) per Newton step.
"""

from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp

from ..likelihoods import Expectations
from .features import project
from .method import Evaluated, HeldByPoints, OverPoints, likelihood_gradient
from .natural_gradient import solve_sites
from .priors import SparsePrior
from .rules import Mode
from .sites import Sites, divergence
from .sparse_kl import model_gradient


@dataclass(frozen=True)
class TwoStage(OverPoints):
    """GPClassifier(method="two_stage")."""

    name = "two_stage"
    # a step function with Gaussian noise
    likelihoods: ClassVar[tuple[str, ...] | None] = ("probit",)
    is_bound = True
    weights = "any"

    def evaluate(self, kernel, Z, likelihood, rows, memory, jitter, budget) -> Evaluated:
        features, pullback = project(kernel, Z, rows.X, jitter)
        prior = SparsePrior(features)
        found = solve_sites(prior, Mode(likelihood), rows, memory, *budget)
        # The same mean, written with sites of precision w: those of (2S).
        terms, mean, w = found.terms, found.belief.mean, rows.weights
        sites = Sites(w[None], terms.slope + w * mean)
        belief = prior.belief(sites)
        bound = jnp.sum(terms.log_prob) - 0.5 * w @ belief.variance[0] - divergence(belief, sites)
        q = belief.gaussian
        rows_terms = Expectations(terms.log_prob, terms.slope, w[None], jnp.zeros_like(mean))
        d_kernel, d_points = model_gradient(pullback, q, rows_terms)

        def of_likelihood(likelihood):  # m maximises the bound, and S does not depend on p(y|f)
            return w @ likelihood.at(jnp.asarray(rows.y), mean).log_prob

        return Evaluated(
            bound,
            d_kernel,
            d_points,
            likelihood_gradient(likelihood, of_likelihood),
            found.sites,
            HeldByPoints(features.whitener, q),
            features.jitter,
            features.ok,
            found.solved,
        )
