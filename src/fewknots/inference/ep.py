r"""Expectation propagation, for any prior of priors.py (Minka 2001; Table 1's "EP" and "EPFitc").

Each site is chosen so that it gives the same mean and variance as its row's likelihood in its
place. Without the site, f_n has the *cavity* distribution N(μ₋, σ₋²); with the likelihood instead
of the site the *tilted* moments follow from

    Ẑ = ∫ p(y|f) N(f|μ₋, σ₋²) df,   α = ∂ log Ẑ/∂μ₋,   c = -∂² log Ẑ/∂μ₋²,

and the site with these moments is b = c/(1 - σ₋²c), g = (α + cμ₋)/(1 - σ₋²c). For a log-concave
likelihood 0 < σ₋²c < 1, so b is positive for every cavity. At the fixed point

    log Z_EP = log ∫ p(f) Π_n site_n(f_n) df + Σ_n (log Ẑ_n - log ∫ N(f|μ₋, σ₋²) site_n(f) df)

is stationary in the sites, so its gradient with respect to the kernel is (R) of priors.py, and with
respect to the likelihood's own parameters Σ_n ∂ log Ẑ_n at fixed sites.

A weight w ≥ 1 means w equal copies of the row, each with an equal share of the site, and the cavity
removes one copy: exact for whole numbers. Below 1 the cavity may not exist.

| symbol     | name here            | shape |
|------------|----------------------|-------|
| b, g       | sites.*, all copies  | 1×N   |
| μ, σ²      | belief.*             | 1×N   |
| μ₋, σ₋²    | cavity.*             | 1×N   |
| 1 - bσ²    | left                 | 1×N   |

Cost of a sweep: parallel, one pass of the prior (O(N³) or O(NM²)); sequential, N rank-one steps of
the same order in total, but fewer sweeps.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, Protocol, runtime_checkable

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from ..likelihoods import Likelihood, Tilted
from .method import Evaluated, HeldByRows, OverRows, likelihood_gradient, without_jitter
from .priors import FullPrior
from .sites import Belief, Direction, Rows, Running, Sites, log_partition

Sweeps = Literal["parallel", "sequential"]
_SMALLEST_STEP = 0.1
_PATIENCE = 20  # sweeps without progress: the remaining change is rounding


@runtime_checkable
class EpPrior(Protocol):
    """A prior whose posterior can also be updated one row at a time."""

    def belief(self, sites: Sites) -> Belief: ...

    def start_sweep(self, belief: Belief) -> Running: ...

    def direction(self, running: Running, n: Int[Array, ""]) -> Direction: ...


class Cavity(NamedTuple):
    """The marginal of f_n without one copy of its row."""

    mean: Array
    variance: Array
    left: Array  # 1 - bσ², b of one copy


class Propagated(NamedTuple):
    """Sites at (or near) their fixed point."""

    sites: Sites
    targets: Sites  # the target of each, given the others
    belief: Belief
    evidence: Float[Array, ""]
    change: Float[Array, ""]  # the largest change a further sweep would make, see `_distance`
    solved: Bool[Array, ""]  # no further sweep would help


def solve_ep(
    prior: EpPrior,
    likelihood: Likelihood,
    rows: Rows,
    start: Sites,
    sweeps: Sweeps,
    tolerance: Float[Array, ""],
    max_sweeps: Int[Array, ""] | int,
) -> Propagated:
    """The fixed point: until a sweep changes log Z_EP by less than `tolerance`."""
    revise = _sequential if sweeps == "sequential" else _parallel
    patience = jnp.clip(max_sweeps - 1, 1, _PATIENCE)

    class SweepState(NamedTuple):
        now: Propagated
        gain: Array
        step: Array
        sweep: Array
        closest: Array  # the smallest change so far
        stale: Array  # sweeps since it was reached

    def improving(state: SweepState):
        # log Z_EP is stationary in the sites, so it converges before them. With tolerance 0 the
        # sites themselves must converge.
        moving = (state.gain > tolerance) | (tolerance == 0)
        closing_in = (state.now.change > _precision(rows)) & (state.stale < patience)
        return moving & closing_in

    def unfinished(state: SweepState):
        return improving(state) & (state.sweep < max_sweeps)

    def advance(state: SweepState) -> SweepState:
        target = revise(prior, state.now, likelihood, rows)
        sites = Sites(
            *(
                old + state.step * (new - old)
                for old, new in zip(state.now.sites, target, strict=True)
            )
        )
        new = look(prior, sites, likelihood, rows)
        worse = ~(new.change <= state.now.change)
        step = jnp.where(
            worse, jnp.maximum(0.7 * state.step, _SMALLEST_STEP), jnp.minimum(1.1 * state.step, 1.0)
        )
        gain = jnp.abs(new.evidence - state.now.evidence)
        closer = new.change < 0.9 * state.closest
        return SweepState(
            new,
            gain,
            step,
            state.sweep + 1,
            jnp.where(closer, new.change, state.closest),
            jnp.where(closer, 0, state.stale + 1),
        )

    first = look(prior, start, likelihood, rows)
    one = jnp.ones_like(first.evidence)
    state = SweepState(first, jnp.inf * one, one, jnp.asarray(0), first.change, jnp.asarray(0))
    last = lax.while_loop(unfinished, advance, state)
    return last.now._replace(solved=~improving(last))


def look(prior: EpPrior, sites: Sites, likelihood: Likelihood, rows: Rows) -> Propagated:
    """Posterior and evidence for `sites`, and the distance of the sites from their targets."""
    belief = prior.belief(sites)
    copies = _copies(rows)
    b, g = sites.precision / copies, sites.linear / copies
    cavity = _cavity(belief.mean, belief.variance, b, g)
    tilted = likelihood.tilted(jnp.asarray(rows.y), cavity.mean, cavity.variance)
    mean, variance = belief.mean, belief.variance
    # log of the cavity times the site, integrated, without dividing by σ²
    site = 0.5 * (
        jnp.log(cavity.left) + (2 * mean * g - b * mean**2 - g**2 * variance) / cavity.left
    )
    evidence = log_partition(belief, sites) + rows.weights @ (tilted.log_prob - site[0])
    one = _site(tilted, cavity)
    targets = Sites(rows.weights * one.precision, rows.weights * one.linear)
    change = _distance(sites, targets, belief)
    return Propagated(sites, targets, belief, evidence, change, jnp.asarray(False))


def tilted_gradient(likelihood: Likelihood, rows: Rows, now: Propagated) -> Likelihood:
    """Gradient of the evidence with respect to the likelihood's own parameters."""
    copies = _copies(rows)
    b, g = now.sites.precision / copies, now.sites.linear / copies
    cavity = _cavity(now.belief.mean, now.belief.variance, b, g)

    def part(likelihood: Likelihood) -> Float[Array, ""]:
        tilted = likelihood.tilted(jnp.asarray(rows.y), cavity.mean, cavity.variance)
        return rows.weights @ tilted.log_prob

    return likelihood_gradient(likelihood, part)


def _parallel(prior, now: Propagated, likelihood, rows: Rows) -> Sites:
    """Every site's target under the same posterior."""
    return now.targets


def _sequential(prior, now: Propagated, likelihood, rows: Rows) -> Sites:
    """Update one site after the other, each given the sites updated before."""

    def revise(n, state):
        running, sites = state
        seen = prior.direction(running, n)
        b, g = sites.precision[0, n], sites.linear[0, n]
        weight = rows.weights[n]
        copies = jnp.where(weight > 0, weight, 1.0)
        passed = 1.0 / (1.0 + b * seen.unexplained)
        mean = passed * (seen.mean + seen.unexplained * g)
        variance = passed * (seen.unexplained + passed * seen.variance)
        cavity = _cavity(mean, variance, b / copies, g / copies)
        tilted = likelihood.tilted(
            rows.y[n][None], cavity.mean[None, None], cavity.variance[None, None]
        )
        one = _site(Tilted(*(moment.reshape(()) for moment in tilted)), cavity)
        new_b, new_g = weight * one.precision, weight * one.linear
        new_passed = 1.0 / (1.0 + new_b * seen.unexplained)
        more_b = new_b * new_passed - b * passed
        more_g = new_g * new_passed - g * passed
        shrink = 1.0 / (1.0 + more_b * seen.variance)
        running = Running(
            running.mean + seen.column * ((more_g - more_b * seen.mean) * shrink),
            running.covariance - (more_b * shrink) * jnp.outer(seen.column, seen.column),
        )
        sites = Sites(sites.precision.at[0, n].set(new_b), sites.linear.at[0, n].set(new_g))
        return running, sites

    running = prior.start_sweep(now.belief)
    return lax.fori_loop(0, len(rows.y), revise, (running, now.sites))[1]


def _copies(rows: Rows):
    return jnp.where(rows.weights > 0, rows.weights, 1.0)


def _cavity(mean, variance, b, g) -> Cavity:
    left = 1.0 - b * variance
    return Cavity((mean - g * variance) / left, variance / left, left)


def _site(tilted: Tilted, cavity: Cavity) -> Sites:
    """The site of one copy that gives the tilted mean and variance."""
    kept = 1.0 - cavity.variance * tilted.curvature
    return Sites(tilted.curvature / kept, (tilted.slope + tilted.curvature * cavity.mean) / kept)


def _distance(sites: Sites, targets: Sites, belief: Belief) -> Float[Array, ""]:
    """The largest difference of a site and its target, as a share of its marginal."""
    more = targets.precision - sites.precision
    pull = targets.linear - sites.linear - more * belief.mean
    sigma = jnp.sqrt(belief.variance)
    return jnp.max(jnp.maximum(jnp.abs(more) * belief.variance, jnp.abs(pull) * sigma))


def _precision(rows: Rows) -> float:
    """The size of changes that are only rounding."""
    return 1e4 * float(jnp.finfo(rows.y.dtype).eps)


@dataclass(frozen=True)
class EP(OverRows):
    """GPClassifier(method="ep")."""

    name = "ep"
    is_bound = False
    weights = "copies"
    OPTIONS: ClassVar = {"sweeps": ("parallel", "sequential")}
    sweeps: Sweeps = "parallel"

    def evaluate(self, kernel, Z, likelihood, rows, memory, jitter, budget) -> Evaluated:
        prior, pullback = FullPrior.over(kernel, rows.X)
        found = solve_ep(prior, likelihood, rows, memory, self.sweeps, *budget)
        return Evaluated(
            found.evidence,
            pullback(prior.cotangent(found.belief, found.sites)),
            None,
            tilted_gradient(likelihood, rows, found),
            found.sites,
            HeldByRows.of(found.belief.gaussian),
            *without_jitter(found.evidence),
            found.solved,
        )
