r"""The full KL method: the Gaussian closest to the posterior over f at the rows.

    log p(y) ≥ Σ_n w_n E_{q(f_n)}[log p(y_n|f_n)] - KL[N(μ, Σ) ‖ N(0, K)]

The best covariance has the form Σ = (K⁻¹ + diag b)⁻¹ (Opper & Archambeau 2009): 2N parameters, b
and g, instead of N². It is the limit Z = X of the sparse method (section 4), and uses the same
rule (rules.py) and the same solver, with the full prior instead of the sparse one. Where
log p(y|f) is not concave, b may be zero or negative (signed_sites.py).

| symbol | name here         | shape |
|--------|-------------------|-------|
| K      | prior.covariance  | N×N   |
| b, g   | found.sites       | L×N   |
| μ, σ²  | belief.mean, variance | L×N |

Cost: O(N³) per pass, memory O(N²).
"""

from dataclasses import dataclass

from .method import (
    Evaluated,
    HeldByRows,
    OverRows,
    expected_log_prob,
    likelihood_gradient,
    without_jitter,
)
from .natural_gradient import solve_sites
from .priors import FullPrior
from .rules import Variational
from .signed_sites import SignedPrior


@dataclass(frozen=True)
class FullKL(OverRows):
    """GPClassifier(method="full_kl")."""

    name = "full_kl"
    is_bound = True
    weights = "any"
    several_latent = own_kernels = any_curvature = True

    def evaluate(self, kernel, Z, likelihood, rows, memory, jitter, budget) -> Evaluated:
        kind = FullPrior if likelihood.log_concave and likelihood.curved else SignedPrior
        prior, pullback = kind.over(kernel, rows.X)
        found = solve_sites(prior, Variational(likelihood), rows, memory, *budget)
        belief = found.belief
        return Evaluated(
            found.objective,
            pullback(prior.cotangent(belief, found.sites)),
            None,
            likelihood_gradient(
                likelihood, lambda p: expected_log_prob(p, rows, belief.mean, belief.variance)
            ),
            found.sites,
            HeldByRows.of(belief.gaussian),
            *without_jitter(found.objective),
            found.solved,
        )
