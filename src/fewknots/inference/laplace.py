r"""Laplace's approximation: a Gaussian at the mode (Rasmussen & Williams, section 3.4).

    log q(y) = log p(y|f̂) - ½ f̂ᵀK⁻¹f̂ - ½ log|I + √W K √W|,   W = -∇∇ log p(y|f̂)

Newton's method for f̂ is the rule `Mode` (rules.py) with the full prior: sites b = W,
g = ∇log p + W f̂. Unlike a bound's, this evidence is not stationary in f̂: W moves with it. So
beside (R) of priors.py the derivative for K has the part through f̂ (their eq. 5.23),

    tᵀ dK α,   t = (I - WΣ) s,   s_n = -½ Σ_nn ∂W_n/∂f̂_n,   α = ∇log p(y|f̂) = K⁻¹f̂.

A parameter of the likelihood moves log p and W at f̂, and f̂ itself by Σ ∂α:

    ∂ log p(y|f̂) - ½ Σ_n Σ_nn ∂W_n + (Σs)ᵀ ∂α.

| symbol  | name here            | shape |
|---------|----------------------|-------|
| f̂       | belief.mean          | N     |
| W       | sites.precision      | N     |
| α       | slope                | N     |
| s, t    | s, t                 | N, N  |
| Σ       | posterior_covariance | N×N   |

Cost: O(N³) a Newton step.
"""

from dataclasses import dataclass

import jax.numpy as jnp

from .method import Evaluated, HeldByRows, OverRows, likelihood_gradient, without_jitter
from .natural_gradient import solve_sites
from .priors import FullPrior
from .rules import Mode


@dataclass(frozen=True)
class Laplace(OverRows):
    """GPClassifier(method="laplace")."""

    name = "laplace"
    is_bound = False
    weights = "any"

    def evaluate(self, kernel, Z, likelihood, rows, memory, jitter, budget) -> Evaluated:
        prior, pullback = FullPrior.over(kernel, rows.X)
        found = solve_sites(prior, Mode(likelihood), rows, memory, *budget)
        sites, belief = found.sites, found.belief
        evidence = found.objective - 0.5 * belief.log_det
        precision, variance = sites.precision[0], belief.variance[0]
        slope = sites.linear[0] - precision * belief.mean[0]
        bend = rows.weights * likelihood.at(rows.y, belief.mean).curvature_slope[0]
        s = -0.5 * variance * bend
        covariance_s = prior.posterior_covariance(belief)[0] @ s
        t = s - precision * covariance_s
        through_mode = 0.5 * (jnp.outer(t, slope) + jnp.outer(slope, t))

        def of_likelihood(likelihood):
            at = likelihood.at(jnp.asarray(rows.y), belief.mean)
            terms = at.log_prob - 0.5 * variance * at.curvature[0] + covariance_s * at.slope[0]
            return rows.weights @ terms

        return Evaluated(
            evidence,
            pullback(prior.cotangent(belief, sites) + through_mode),
            None,
            likelihood_gradient(likelihood, of_likelihood),
            sites,
            HeldByRows.of(belief.gaussian),
            *without_jitter(evidence),
            found.solved,
        )
