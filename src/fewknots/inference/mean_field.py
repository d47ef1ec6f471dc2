r"""Mean field: factorised truncated Gaussians over g, full or sparse (section 3.1, MFSp).

The probit is a step function with unit noise, p(y|g) = 1[yg > 0], g = f + N(0, 1), so that
g ~ N(0, K + I) (eq. twostage). With Q = A Aᵀ in place of K, eq. (titsias) bounds p(g) and
eq. (mf_sub) follows; with Q = K, κ = 0, the same formulas give the full method. For a factorised
q(g) the best factors are Gaussians N(a_n, σ̃²_n) truncated at zero, σ̃²_n = 1/C_nn, C = (Q + I)⁻¹.
With z = y a/σ̃, h = φ(z)/Φ(z), the mean ḡ = a + y σ̃ h and the variance σ̃² r, r = 1 - h(z + h),
the section's bound becomes, after C_nn σ̃²_n = 1 cancels,

    Σ_n [log Φ(z_n) + ½ log σ̃²_n + ½ h_n²] - ½ ḡᵀCḡ - ½ log|Q + I| - ½ Σ_n κ_n.          (MF)

As a function of ḡ it is concave with Hessian -(C + D), D = (1 - r)/(r σ̃²), so Newton's method
with a line search finds the a_n from any start; the step in a is the step in ḡ divided by r. At
the best q the gradient with respect to kernel and Z is that of E_q log N(g|0, Q + I) - ½ Σ κ:

    ½ tr(R dQ) - ½ Σ dκ,   R = C (ḡḡᵀ + diag(σ̃² r)) C - C.

**Prediction.** f given g is Gaussian: regression on g with unit noise. `gaussian` puts ḡ for g
(Nickisch & Rasmussen 2008; O(M²) a row). `monte_carlo` averages eq. (mf_pred) over samples of g,
each brought to M numbers once: O(M² + M·samples) a row, however many rows were learned from.

With several classes each has its own g, and the largest g gives the class: truncated_cone.py has
the same formulas for this case.

Nothing is clipped: a very low bound (the paper's "Large" entries) is reported as it is.

| symbol | name here      | shape |
|--------|----------------|-------|
| A, κ   | features.*     | N×M, N|
| G      | (I + AᵀA)⁻¹    | M×M   |
| C      | (Q + I)⁻¹      | never formed when sparse: C x = x - A G Aᵀ x |
| a      | centre         | N     |
| ḡ, σ̃²  | mean, spread   | N     |

Cost: O(NM²) per Newton step (full: O(N³)).
"""

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int

from ..likelihoods import Likelihood
from ..numerics.arrays import AnyArray
from ..posterior import MixturePosterior
from .method import Evaluated, HeldByRows, Method, OverRows, without_jitter
from .natural_gradient import rounding
from .noisy_prior import DenseNoisyPrior, NoisyPrior
from .priors import FullPrior
from .sites import Sites
from .truncated import AtZero, Cut, Truncated
from .truncated_cone import WhereOneLeads

_SMALLEST_STEP = 1e-6
Predictor = Literal["gaussian", "monte_carlo"]


def cut_off(likelihood: Likelihood, y: Float[Array, " N"]) -> Cut:
    """The constraints that the labels put on g."""
    if likelihood.n_latent == 1:
        return AtZero(y)
    return WhereOneLeads(jnp.arange(likelihood.n_latent)[:, None] == y)


def solve_mean_field(
    prior: NoisyPrior,
    cut: Cut,
    start: Float[AnyArray, "*C N"],
    tolerance: Float[Array, ""],
    max_passes: Int[Array, ""] | int,
) -> Truncated:
    """Find the best factors, to within about `tolerance` nats."""

    class MeanFieldState(NamedTuple):
        best: Truncated
        length: Array
        gain: Array
        passes: Array

    def improving(state: MeanFieldState):
        return (state.gain > tolerance) & (state.length > _SMALLEST_STEP)

    def unfinished(state: MeanFieldState):
        return improving(state) & (state.passes < max_passes)

    def advance(state: MeanFieldState) -> MeanFieldState:
        new = cut.look(prior, state.best.centre + state.length * state.best.step)
        gain = new.bound - state.best.bound
        accepted = gain > -rounding(state.best.bound)
        best = lax.cond(accepted, lambda: new, lambda: state.best)
        length = jnp.where(accepted, jnp.minimum(4.0 * state.length, 1.0), 0.25 * state.length)
        return MeanFieldState(best, length, jnp.where(accepted, gain, jnp.inf), state.passes + 1)

    first = cut.look(prior, jnp.asarray(start))
    one = jnp.ones_like(first.bound)
    start_state = MeanFieldState(first, one, jnp.inf * one, jnp.asarray(0))
    last = lax.while_loop(unfinished, advance, start_state)
    return last.best._replace(solved=~improving(last))


@dataclass(frozen=True)
class HoldsFactors(Method):
    """Base of both mean field methods; their memory is the centres."""

    # a step function with Gaussian noise
    likelihoods: ClassVar[tuple[str, ...] | None] = ("probit",)
    several_latent = "largest_leads"
    optimizer = "scg"  # scaled conjugate gradients do better, section 3.1
    is_bound = True
    weights = "whole"
    OPTIONS: ClassVar = {"predictor": ("gaussian", "monte_carlo")}
    predictor: Predictor = "gaussian"

    def start(self, rows, n_latent=1):
        shape = (len(rows.y),) if n_latent == 1 else (n_latent, len(rows.y))
        return np.zeros(shape, rows.y.dtype)

    @staticmethod
    def for_each(shared: Float[AnyArray, "1 M M"], mean: Float[AnyArray, "L M"]) -> np.ndarray:
        """Repeat for each function what is the same for all."""
        return np.repeat(np.asarray(shared), len(mean), axis=0)


@dataclass(frozen=True)
class MeanField(HoldsFactors, OverRows):
    """GPClassifier(method="mean_field")."""

    name = "mean_field"

    def evaluate(self, kernel, Z, likelihood, rows, memory, jitter, budget) -> Evaluated:
        full, pullback = FullPrior.over(kernel, rows.X)
        prior = DenseNoisyPrior.of(full.covariance)
        cut = cut_off(likelihood, rows.y)
        found = solve_mean_field(prior, cut, memory, *budget)
        means = jnp.atleast_2d(found.mean)
        regression = full.belief(Sites(jnp.ones_like(means[:1]), means[:1]))
        held = HeldByRows.of(regression.gaussian)
        from_g = held.projection[0]
        if len(means) > 1:
            held = held._replace(mean=means @ from_g.T)
        sigma = 1.0 / jnp.sqrt(prior.own_precision)
        return Evaluated(
            found.bound,
            pullback(cut.total(prior.cotangents, prior, found)),
            None,
            likelihood,
            found.centre,
            (held, cut.factors(found.centre, sigma, from_g)),
            *without_jitter(found.bound),
            found.solved,
        )

    def posterior(self, kernel, Z, rows, held):
        regression, factors = held
        regression = regression._replace(
            projection=self.for_each(regression.projection, regression.mean)
        )
        if self.predictor == "gaussian":
            return regression.posterior(kernel, rows)
        sampled = regression._replace(mean=factors.sampled_means())
        return sampled.posterior(kernel, rows, MixturePosterior)
