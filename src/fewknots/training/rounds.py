r"""Full-batch training in rounds: for rows that are many or on other machines, with few passes
over them.

A round evaluates sums over all rows at one kernel, Z and q, wherever the rows are (summation.py).
Between two rounds the client maximises a surrogate: the bound of its own sample of the rows,
corrected by the results of the rounds (surrogate.py). This file is one step of the loop (loop.py),
a trust-region method. The surrogate is trusted in a box around the best point so far,
|θ - θ_k| ≤ radius for every coordinate, and the next round shows how much of the predicted gain was
real:

| gain                        | the new point              | the box                     |
|-----------------------------|----------------------------|-----------------------------|
| none                        | rejected                   | a quarter of the step       |
| less than ¼ of prediction   | accepted                   | half of the step            |
| more than ¾, at the border  | accepted                   | twice as wide               |

In a small enough box the surrogate is accurate for θ, since its gradient is exact. If the predicted
gain is several times what the gradient allows to first order, the box is made smaller at once,
without a round. The box does not limit q: if the gain predicted for q is wrong, the next round is
at a natural-gradient step for q from the sums of all rows, with θ fixed, and if necessary at a
shorter one.

The fit ends when the predicted gain is so small that ten such rounds would gain less than `tol` per
unit of weight: at once if the box does not limit the step, otherwise after three such rounds.

A run is determined by its start, its sample and its state, which a checkpoint contains: the best
point and its sums, the corrections and the radius. So a resumed run repeats no round.
"""

import time
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from ..optimize.lbfgsb import Status, flatten
from ..optimize.natural_rounds import Damping
from ..progress import Reporter
from ..stopping import StoppedEarly
from .checkpoint import Saved, flattened, unflattened
from .full_batch import Fitted, Problem
from .held_rows import Found, Point, Shape
from .loop import Measure, RunState, train
from .parameters import Named, encode, limits
from .schedule import Plan
from .steps import Naturals
from .summation import MemorySums, RoundsRun, fitted_at, point_at, seen_at, weigh
from .surrogate import CurvatureCorrections, Iterate, Proposal, Sample, Surrogate, Visited

_FIRST_RADIUS = 0.03  # lengthscales for Z, logarithms for the kernel's parameters
_LEAST_RADIUS = 1e-6
_SHORTEST_NATURAL = 0.01  # length of a natural-gradient step
_POOR, _GOOD = 0.25, 0.75  # shares of the predicted gain
_MOSTLY = 0.5
_INCREDIBLE = 4.0  # limit of a predicted gain, times the first-order gain
_MOST_DOUBTS = 3  # failures for θ before q is the suspect
_LITTLE_ROUNDS = 3
_PLATEAU_ROUNDS = 10  # rounds that together would gain less than `tol`
_KEPT = ("jitter", "radius", "natural", "little_rounds", "is_over")  # in a checkpoint's header


def fit_in_rounds(run: RoundsRun, problem: Problem, report: Reporter) -> Fitted:
    """Evaluate all rows, move to the surrogate's maximum, and repeat."""
    strategy = _Rounds(run, problem, report)
    return train(strategy, report, run.seed, run.checkpoints, run.resumed)


class _TrustRegion(NamedTuple):
    """The best point so far, and the radius in which the surrogate is trusted."""

    here: Visited
    corrections: CurvatureCorrections
    jitter: float
    radius: float = _FIRST_RADIUS
    natural: float = 0.0  # length of the next natural-gradient step, if there is one
    little_rounds: int = 0  # consecutive
    is_over: bool = False

    def box(self, radius: float, limits: tuple[Named, Named]) -> tuple[Named, Named]:
        """The lowest and highest θ that the surrogate is trusted at."""
        free, (lowest, highest) = self.here.place.free, limits
        return (
            jax.tree.map(lambda x, low: np.maximum(x - radius, low), free, lowest),
            jax.tree.map(lambda x, high: np.minimum(x + radius, high), free, highest),
        )

    def move(self, proposal: Proposal) -> Float[np.ndarray, " P"]:
        """The step from here, in each coordinate of θ."""
        return flatten(proposal.place.free) - flatten(self.here.place.free)

    def natural_step(self) -> Proposal:
        """A natural-gradient step for q from the sums of all rows, with θ fixed: used if the
        surrogate is wrong in q.
        """
        (free, q), weighed = self.here.place, self.here.weighed
        seen, length = seen_at(q, weighed), self.natural
        # If log p is not concave, the target may not be positive definite: then go part of the way.
        while (step := Damping().step(seen, length)) is None:
            length *= 0.5
        place = Iterate(free, Naturals(step.precision, step.linear))
        nothing = np.zeros(self.corrections.directions.shape[1])
        return Proposal(place, step.promise, nothing, step.promise, step.promise)

    def after(self, proposal: Proposal, gain: float, worthwhile: float) -> "_TrustRegion":
        """The new radius, given the actual gain."""
        length = float(np.max(np.abs(self.move(proposal)), initial=0.0))
        at_border = length > 0.99 * self.radius
        radius, natural = self.radius, self.natural
        if not gain > 0.0:  # or it is NaN
            radius = max(0.25 * length, _LEAST_RADIUS)
            natural = float(proposal.of_q > _MOSTLY * proposal.promise)
        elif gain < _POOR * proposal.promise:
            radius = max(0.5 * length, _LEAST_RADIUS)
        elif gain > _GOOD * proposal.promise and at_border:
            radius *= 2.0
        little = proposal.promise < worthwhile
        rounds = self.little_rounds + 1 if little else 0
        is_over = little and (not at_border or rounds >= _LITTLE_ROUNDS)
        return self._replace(radius=radius, natural=natural, little_rounds=rounds, is_over=is_over)


class _Rounds:
    """One round is one step (a `Strategy`); the state is None before the first."""

    n_rows, tol, patience = 0, 0.0, 0  # the loop does not count rows or check scores
    advice = "a larger jitter"

    def __init__(self, run: RoundsRun, problem: Problem, report: Reporter):
        self.run, self.problem, self.report = run, problem, report
        self.plan = Plan("rounds", 0, problem.max_iter)
        free, self.frozen = encode(run.start.model, problem.learned)
        self.start = Iterate(free, Naturals(*map(np.asarray, run.start.q)))
        self.limits = limits(free, self.frozen)
        rows = MemorySums(problem.rows, problem.rows.y.dtype, Shape.for_rows(len(problem.rows.y)))
        weight = run.summation.total_weight
        scale, worthwhile = weight / rows.total_weight, problem.tol * weight / _PLATEAU_ROUNDS
        base, looks = run.start.base, run.looks
        self.sample = Sample(rows, scale, base, self.frozen, problem, worthwhile, looks)
        self.seconds = 0.0  # seconds of the last round

    def begin(self, now: RunState, saved: Saved | None) -> _TrustRegion | None:
        if saved is None:
            return None
        held = {name: saved.header[name] for name in _KEPT}
        place = unflattened("place", self.start, saved.arrays)
        like = self.sample.look(self.start, held["jitter"])
        found = unflattened("found", like, saved.arrays)
        corrections = CurvatureCorrections(saved.arrays["bends.0"], saved.arrays["bends.1"])
        return _TrustRegion(self._visited(place, found, held["jitter"]), corrections, **held)

    def status(self, state: _TrustRegion | None, now: RunState) -> Status | None:
        if state is not None and state.is_over:
            return Status.CONVERGED
        return Status.MAX_ITER if now.done >= self.plan.steps else None

    def step(self, state: _TrustRegion | None, now: RunState) -> tuple[_TrustRegion, Measure]:
        if state is None:
            here, jitter = self._ask(self.start, self.problem.jitter)
            nothing = CurvatureCorrections.none(len(flatten(self.start.free)))
            new = _TrustRegion(here, nothing, jitter)
            self.so_far(new, None)  # raises an error if the start itself cannot be evaluated
        else:
            state, proposal = self._proposal(state)
            limit = self.report.limit
            no_time = limit is not None and limit.left() < self.seconds
            if no_time or self.report.is_asked_to_stop():
                raise StoppedEarly
            began = time.perf_counter()
            new = self._follow(state, proposal)
            self.seconds = time.perf_counter() - began
        evidence = new.here.weighed.evidence
        return new, Measure(1, evidence, evidence / self.run.summation.total_weight)

    def _proposal(self, state: _TrustRegion) -> tuple[_TrustRegion, Proposal]:
        """The next point, and the radius that was used for it."""
        if state.natural:
            return state, state.natural_step()
        asked_to_stop, radius = self.report.is_asked_to_stop, state.radius
        for _ in range(_MOST_DOUBTS):
            surrogate = Surrogate(self.sample, state.here, state.corrections, state.jitter)
            found = surrogate.proposal(state.box(radius, self.limits), asked_to_stop)
            credible = _INCREDIBLE * found.first_order + self.sample.worthwhile
            if found.promise <= credible or asked_to_stop():
                return state._replace(radius=radius), found
            radius *= 0.25
        state = state._replace(natural=1.0)
        return state, state.natural_step()

    def _follow(self, state: _TrustRegion, proposal: Proposal) -> _TrustRegion:
        """Evaluate the point, accept it if better, and update the radius."""
        there, jitter = self._ask(proposal.place, state.jitter)
        state = state._replace(jitter=jitter)
        gain = float(there.weighed.bound) - float(state.here.weighed.bound)
        if state.natural:
            natural = 0.0 if gain > 0.0 else 0.5 * state.natural  # try a shorter one next
            state = state._replace(natural=natural, is_over=0.0 < natural < _SHORTEST_NATURAL)
        else:
            if np.isfinite(gain):  # rejected points give a correction, too
                surrogate = Surrogate(self.sample, there, state.corrections, jitter)
                error = surrogate.gradient_here() - proposal.gradient
                corrections = state.corrections.learned(error, state.move(proposal))
                state = state._replace(corrections=corrections)
            state = state.after(proposal, gain, self.sample.worthwhile)
        return state._replace(here=there) if gain > 0.0 else state

    def _ask(self, place: Iterate, jitter: float) -> tuple[Visited, float]:
        model, q = point_at(place.free, self.frozen, place.q)
        point = Point(model, q, jitter)
        found = self.run.summation(jax.tree.map(np.asarray, point))
        if np.isfinite(found.sums.log_prob):
            # A jitter once needed is kept: a bound that switches jitter has no gradient.
            jitter = max(jitter, float(found.jitter))
        return self._visited(place, found, jitter), jitter

    def _visited(self, place: Iterate, found: Found, jitter: float) -> Visited:
        base = self.run.start.base
        weighed = weigh(place.free, self.frozen, base, place.q, found, jitter)
        return Visited(place, found, jax.tree.map(np.asarray, weighed))

    def saved(self, state: _TrustRegion) -> Saved:
        header = {name: getattr(state, name) for name in _KEPT}
        arrays = flattened("model", self.run.start.model) | flattened("bends", state.corrections)
        arrays |= flattened("place", state.here.place) | flattened("found", state.here.found)
        return Saved({"n_inducing": self.start.q.linear.shape[1]} | header, arrays)

    def so_far(self, state: _TrustRegion, bound: float | None) -> Fitted:
        return fitted_at(state.here.weighed)

    fitted = so_far
