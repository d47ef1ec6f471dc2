r"""Solving for the sites at fixed kernel and Z: natural gradients as a damped fixed-point
iteration.

For any prior of priors.py and any rule of rules.py, at the optimum every site equals its target:
b = wβ, and the slope g - bμ = wα. A full natural-gradient step sets the sites to their targets
under the current belief. For the mean this is Newton's method, because ∂α/∂μ = -β. For the
variances (variational rule) it is a fixed-point iteration whose Jacobian is, with C the posterior
covariance of the values that the sites act on,

    ∂b_new / ∂b = -diag(∂β/∂σ²) (C∘C).                                                 (J)

If the kernel's variance is large, its row sums are below -1 and the full step oscillates for ever.
If row n's step is divided by 1 + Σ_m (C∘C)_nm (∂β/∂σ²)_m, where the sum is the row sum of -J, the
iteration is a contraction (Gershgorin). The row sum costs two products and is computed once per
solve; on the image data it reduces 40 damped passes to 10.

The slope does not depend on b, so any b gives a valid Newton-like step for the mean. The linear
term is g = wα + bμ with the *new* b, so damping b does not slow down the mean.

With several latent functions each takes its own step, as if the others were fixed. If only their
differences matter (`shift_invariant`, the softmax), their slopes add up to zero at the optimum,
and so do their means. In plain steps a common part of the means would vanish slowly, over hundreds
of passes. So every step removes it: this changes no row's term and lowers the divergence from the
prior. (With a kernel for each class, slopes that add up to zero do not give such means: see
`_common_part`.)

A step that lowers the objective is rejected: its size is halved and it is tried again from the old
sites. So the objective never falls, and the loop ends when an accepted step gains less than
`tolerance`, or after `max_passes`.

If log p is not concave, a site may have a negative precision. A full step may then give a precision
matrix that is not positive definite: the objective is NaN, and the step is rejected, too. Both
steps are natural-gradient steps, so short ones raise the objective. If the sites of `start`
themselves do not give a Gaussian (because the kernel has changed), the loop starts from the prior.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from ..likelihoods import Expectations, Likelihood
from .rules import Seen
from .sites import Belief, CommonShift, Rows, Sites

_SMALLEST_STEP = 1e-4


@runtime_checkable
class Prior(Protocol):
    """What the solver needs from a prior."""

    def belief(self, sites: Sites) -> Belief: ...

    def common_shift(self) -> CommonShift | None:
        """The map from the average slope to the shift of all means; None if functions share the
        prior.
        """
        ...

    def response(self, belief: Belief, change: Float[Array, "L N"]) -> Float[Array, "L N"]:
        """(C∘C) change."""
        ...


@runtime_checkable
class Rule(Protocol):
    """What the solver needs from a rule."""

    @property
    def likelihood(self) -> Likelihood: ...

    def look(self, belief: Belief, sites: Sites, rows: Rows) -> Seen: ...


class Solution(NamedTuple):
    """Sites, the belief that follows from them, and the objective and targets under it."""

    sites: Sites
    belief: Belief
    terms: Expectations
    objective: Float[Array, ""]
    solved: Bool[Array, ""]  # no further pass would help


def solve_sites(
    prior: Prior,
    rule: Rule,
    rows: Rows,
    start: Sites,
    tolerance: Float[Array, ""],
    max_passes: Int[Array, ""] | int,
) -> Solution:
    """The sites that maximise the rule's objective, to within about `tolerance` nats."""

    def evaluate(sites: Sites) -> Solution:
        belief = prior.belief(sites)
        seen = rule.look(belief, sites, rows)
        return Solution(sites, belief, seen.terms, seen.objective, jnp.asarray(False))

    common_part = _common_part(prior) if rule.likelihood.shift_invariant else None

    # The loop's first pass evaluates `start`: one copy of `evaluate` to compile, not two.
    class AscentState(NamedTuple):
        best: Solution
        trial: Sites
        step: Array
        gain: Array
        damping: Array
        passes: Array

    def improving(state: AscentState):
        return (state.gain > tolerance) & (state.step > _SMALLEST_STEP)

    def unfinished(state: AscentState):
        return improving(state) & (state.passes < max_passes)

    def advance(state: AscentState) -> AscentState:
        new = evaluate(state.trial)
        gain = new.objective - state.best.objective
        # Rounding can make a tiny gain look like a loss: that ends the loop as a gain would.
        accepted = gain > -rounding(state.best.objective)
        best = lax.cond(accepted, lambda: new, lambda: state.best)
        step = jnp.where(accepted, jnp.minimum(2.0 * state.step, 1.0), 0.5 * state.step)
        is_first = accepted & (state.best.objective == -jnp.inf)
        damping = lax.cond(
            is_first & (max_passes > 1),
            lambda: _damping(prior, new),
            lambda: state.damping,
        )
        return AscentState(
            best,
            _step(best, step, damping, common_part),
            step,
            jnp.where(accepted, gain, jnp.inf),
            damping,
            state.passes + 1,
        )

    blank = jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), jax.eval_shape(evaluate, start))
    nothing = jnp.full_like(blank.objective, -jnp.inf)
    first = AscentState(
        best=blank._replace(objective=nothing),
        trial=start,
        step=jnp.ones_like(nothing),
        gain=-nothing,
        damping=jnp.ones_like(start.precision),
        passes=jnp.asarray(0),
    )
    last = lax.while_loop(unfinished, advance, first)
    return last.best._replace(solved=~improving(last))


def _step(now: Solution, step, damping, common_part) -> Sites:
    """Move the sites towards their targets; `step` = 1 is the (damped) full step."""
    sites, mean, terms = now.sites, now.belief.mean, now.terms
    precision = sites.precision + step * damping * (terms.curvature - sites.precision)
    slope = sites.linear - sites.precision * mean  # α according to the current sites
    if common_part is not None:
        slope = slope - jnp.mean(slope, axis=0)
        mean = mean - common_part(now)
    slope = slope + step * (terms.slope - slope)
    return Sites(precision, slope + precision * mean)


def _common_part(prior: Prior) -> Callable[[Solution], Float[Array, "*L N"]]:
    """The map to the common part of the means that has no effect on any row.

    With one kernel it is their average. Otherwise it is computed from the common part of the
    slopes, which vanishes at the same time.
    """
    shift = prior.common_shift()
    if shift is None:
        return lambda now: jnp.mean(now.belief.mean, axis=0)

    def found(now: Solution) -> Float[Array, "L N"]:
        mean, sites = now.belief.mean, now.sites
        return shift(jnp.mean(sites.linear - sites.precision * mean, axis=0))

    return found


def _damping(prior: Prior, now: Solution) -> Float[Array, "L N"]:
    """1 / (1 + row sums of -J)."""
    row_sums = prior.response(now.belief, now.terms.curvature_change)
    return 1.0 / (1.0 + jnp.maximum(row_sums, 0.0))


def rounding(value: Float[Array, ""]) -> Float[Array, ""]:
    """The rounding error of this value (0 at -inf, the value before the first)."""
    size = 1.0 + jnp.where(value > -jnp.inf, jnp.abs(value), 0.0)
    return 8.0 * float(jnp.finfo(value.dtype).eps) * size
