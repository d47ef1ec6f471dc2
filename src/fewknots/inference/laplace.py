r"""Laplace's approximation: a Gaussian at the mode (Rasmussen & Williams, sections 3.4 and 3.5).

    log q(y) = log p(y|f̂) - ½ f̂ᵀK⁻¹f̂ - ½ log|I + √W K √W|,   W = -∇∇ log p(y|f̂)

Newton's method for f̂ is the rule `Mode` (rules.py) with the full prior: sites b = W,
g = ∇log p + W f̂. This evidence is not stationary in f̂, since W changes with f̂. So
besides (R) of priors.py the gradient with respect to K has the part through f̂ (their eq. 5.23),

    tᵀ dK α,   t = (I - WΣ) s,   s_n = -½ Σ_nn ∂W_n/∂f̂_n,   α = ∇log p(y|f̂) = K⁻¹f̂.

A parameter of the likelihood changes log p and W at f̂, and f̂ itself by Σ ∂α. Its derivative is

    ∂ log p(y|f̂) - ½ Σ_n Σ_nn ∂W_n + (Σs)ᵀ ∂α.

The softmax couples its functions, so W is not diagonal. With a shift u for each row it is diagonal
again (free_shift.py): f̂ becomes f̂ - u, W are the sites of f - u, and all of the above holds for
each function, except for s: when f̂_c moves, u moves, too (`gradient_for_f`). The value of the shift
has no effect on the softmax or on anything here.

| symbol  | name here        | shape    |
|---------|------------------|----------|
| f̂       | belief.mean      | L×N      |
| W       | sites.precision  | L×N      |
| α       | slope            | L×N      |
| s, t    | s, t             | L×N, L×N |
| Σ_nn    | variance         | L×N      |
| Σs      | covariance_s     | L×N      |

Cost: O(L N³) per Newton step.
"""

from dataclasses import dataclass

import jax.numpy as jnp
from jax import lax

from .free_shift import FreeShiftPrior
from .method import Evaluated, HeldByRows, OverRows, likelihood_gradient, without_jitter
from .natural_gradient import Solution, solve_sites
from .priors import FullPrior
from .rules import Mode
from .sites import Sites


@dataclass(frozen=True)
class Laplace(OverRows):
    """GPClassifier(method="laplace")."""

    name = "laplace"
    is_bound = False
    weights = "any"
    several_latent = "shift_invariant"

    def evaluate(self, kernel, Z, likelihood, rows, memory, jitter, budget) -> Evaluated:
        full, pullback = FullPrior.over(kernel, rows.X)
        rule, coupled = Mode(likelihood), likelihood.n_latent > 1
        prior = FreeShiftPrior(full.covariance) if coupled else full
        found = solve_sites(prior, rule, rows, memory, *budget)
        if coupled:
            found = lax.cond(found.solved, _with_sites_of_the_mode, lambda *_: found, prior, found)
        sites, belief = found.sites, found.belief
        evidence = found.objective - 0.5 * belief.log_det
        variance, at_fixed_mode = prior.spread(belief, sites)
        slope = sites.linear - sites.precision * belief.mean
        bend = rows.weights * rule.at(rows.y, belief.mean).curvature_slope
        s = prior.gradient_for_f(-0.5 * variance * bend, sites)
        covariance_s = prior.covariance_times(belief, s)
        t = s - sites.precision * covariance_s
        through_mode = 0.5 * (t.T @ slope + slope.T @ t)

        def of_likelihood(likelihood):
            at = Mode(likelihood).at(jnp.asarray(rows.y), belief.mean)
            terms = covariance_s * at.slope - 0.5 * variance * at.curvature
            return rows.weights @ (at.log_prob + jnp.sum(terms, axis=0))

        return Evaluated(
            evidence,
            pullback(at_fixed_mode + through_mode),
            None,
            likelihood_gradient(likelihood, of_likelihood),
            sites,
            belief.gaussian if coupled else HeldByRows.of(belief.gaussian),
            *without_jitter(evidence),
            found.solved,
        )


def _with_sites_of_the_mode(prior: FreeShiftPrior, found: Solution) -> Solution:
    """W at f̂ itself: the last sites belong to the step before, which is a first-order error."""
    terms = found.terms
    sites = Sites(terms.curvature, terms.slope + terms.curvature * found.belief.mean)
    return found._replace(sites=sites, belief=prior.belief(sites))
