r"""Natural-gradient ascent on q(v) at fixed kernel and Z: a damped fixed-point iteration.

At the optimum every site equals its target (sparse_kl.py): b = wβ, and m = Aᵀ(wα). A full
natural-gradient step sets the sites to the targets seen under the present q. For the mean that
is Newton's method, because ∂α/∂μ = -β. For the variances it is a plain fixed point whose
Jacobian, with C = A S Aᵀ, is

    ∂b_new / ∂b = -diag(∂β/∂σ²) (C∘C).                                                 (J)

Where the kernel's variance is large its rows sum to less than -1 and the full step oscillates
for ever. Dividing row n's step by 1 + Σ_m (C∘C)_nm (∂β/∂σ²)_m, the row sum of -J, makes the
iteration a contraction (Gershgorin). The row sum costs two products, is computed once per
solve, and is what turns 40 damped passes into 10 on the image data.

Since m = Aᵀ(wα) does not mention b, any b makes a valid Newton-like step for the mean; the
linear term is g = wα + bμ with the *new* b, so damping b does not slow the mean.

A step that lowers the bound is not taken: its size is halved and tried again from the old
sites. So the bound never falls, and the loop ends when an accepted step gains less than
`tolerance`, or at `max_passes`.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int

from ..inference.features import Features
from ..inference.sparse_kl import (
    Look,
    Rows,
    Sites,
    WhitenedGaussian,
    bound,
    gaussian_from_sites,
    look,
)
from ..likelihoods import Likelihood

_SMALLEST_STEP = 1e-4


class Solution(NamedTuple):
    """Sites, the q they stand for, and everything seen under it."""

    sites: Sites
    q: WhitenedGaussian
    seen: Look
    bound: Float[Array, ""]


def solve_q(
    features: Features,
    likelihood: Likelihood,
    rows: Rows,
    start: Sites,
    tolerance: Float[Array, ""],
    max_passes: Int[Array, ""] | int,
) -> Solution:
    """The q(v) that maximises the bound, to within about `tolerance` nats."""

    def evaluate(sites: Sites) -> Solution:
        q = gaussian_from_sites(features.explained, sites)
        seen = look(features, q, likelihood, rows)
        return Solution(sites, q, seen, bound(q, seen))

    # The loop's first pass evaluates `start`: one copy of `evaluate` to compile, not two.
    class State(NamedTuple):
        best: Solution
        trial: Sites
        step: Array
        gain: Array
        damping: Array
        passes: Array

    def unfinished(state: State):
        improving = (state.gain > tolerance) & (state.step > _SMALLEST_STEP)
        return improving & (state.passes < max_passes)

    def advance(state: State) -> State:
        new = evaluate(state.trial)
        gain = new.bound - state.best.bound
        # Rounding makes steps of no consequence look like losses; those end the loop as gains.
        accepted = gain > -_rounding(state.best.bound)
        best = lax.cond(accepted, lambda: new, lambda: state.best)
        step = jnp.where(accepted, jnp.minimum(2.0 * state.step, 1.0), 0.5 * state.step)
        damping = lax.cond(
            state.passes == 0, lambda: _damping(features, new), lambda: state.damping
        )
        return State(
            best,
            _step(best, step, damping),
            step,
            jnp.where(accepted, gain, jnp.inf),
            damping,
            state.passes + 1,
        )

    blank = jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), jax.eval_shape(evaluate, start))
    nothing = jnp.full_like(blank.bound, -jnp.inf)
    first = State(
        best=blank._replace(bound=nothing),
        trial=start,
        step=jnp.ones_like(nothing),
        gain=-nothing,
        damping=jnp.ones_like(start.precision),
        passes=jnp.asarray(0),
    )
    return lax.while_loop(unfinished, advance, first).best


def _step(now: Solution, step, damping) -> Sites:
    """From the present sites towards their targets; `step` = 1 is the (damped) full step."""
    sites, mean, expected = now.sites, now.seen.mean, now.seen.expected
    precision = sites.precision + step * damping * (expected.curvature - sites.precision)
    slope = sites.linear - sites.precision * mean  # what the present sites say α is
    slope = slope + step * (expected.slope - slope)
    return Sites(precision, slope + precision * mean)


def _damping(features: Features, now: Solution) -> Float[Array, " N"]:
    """1 / (1 + row sums of -J).

    With c = ∂β/∂σ² the row sums Σ_m (C∘C)_nm c_m are a_nᵀ (S Aᵀ diag(c) A S) a_n.
    """
    A = features.explained
    S = now.q.factor.T @ now.q.factor
    middle = S @ ((A * now.seen.expected.curvature_change[:, None]).T @ A) @ S
    return 1.0 / (1.0 + jnp.maximum(jnp.sum((A @ middle) * A, axis=1), 0.0))


def _rounding(value: Float[Array, ""]) -> Float[Array, ""]:
    """What may be lost to rounding at this value (nothing at -inf, the value before the first)."""
    return (
        8.0
        * float(jnp.finfo(value.dtype).eps)
        * (1.0 + jnp.where(value > -jnp.inf, jnp.abs(value), 0.0))
    )
