r"""Full-batch training in rounds: for rows that are many, or far away, and looked at few times.

A round looks at all rows at one kernel, Z and q, wherever the rows are (summation.py). Between two
rounds the client maximises a surrogate: its own sample of the rows, corrected by what the rounds
have told (surrogate.py). What is here is the outer loop, a trust-region method. The surrogate is
trusted in a box around the best place known, |θ - θ_k| ≤ radius for every coordinate, and the next
round says how much of the promised gain was real:

| gain                        | the place                  | the box                     |
|-----------------------------|----------------------------|-----------------------------|
| none                        | not followed               | a quarter of the step       |
| less than ¼ of the promise  | followed                   | half of the step            |
| more than ¾, at the border  | followed                   | twice as wide               |

In a small enough box the surrogate is right, for its gradient is; should the box vanish because q
is far from its best, q takes a natural-gradient step by what all rows said. The fit ends when the
surrogate promises so little that ten rounds like it would gain less than `tol` for each unit of
weight.

A run is a function of its start, its sample and where it stands, which is all that goes into a
checkpoint: the best place and its sums, the bends and the radius. No round is made twice.
"""

import jax
import numpy as np

from ..optimize.lbfgsb import Status, flatten
from ..optimize.natural_rounds import Damping
from ..progress import Reporter
from .checkpoint import flattened, unflattened
from .correction import Bends
from .full_batch import Fitted, Problem
from .held_rows import Found, Point, Shape
from .parameters import encode, limits
from .saved_form import Saved
from .steps import Naturals
from .summation import MemorySums, RoundsRun, fitted_at, point_at, seen_at, weigh
from .surrogate import Place, Proposal, Sample, Standing, Surrogate

_FIRST_RADIUS = 0.03  # lengthscales for Z, logarithms for the kernel's parameters
_LEAST_RADIUS = 1e-6
_POOR, _GOOD = 0.25, 0.75  # of the gain that was promised
_PLATEAU_ROUNDS = 10  # that would together gain less than `tol`


def fit_in_rounds(run: RoundsRun, problem: Problem, report: Reporter) -> Fitted:
    """Ask all rows, go where the surrogate is best, ask again."""
    search = _TrustRegion(run, problem)
    if run.resumed is None:
        search.ask_first()
    else:
        search.resume(run.resumed, report)
    while True:
        if search.rounds > len(report.moments):  # or it is a run taken up, and was told
            stop = report(search.bound, so_far=search.so_far)
            if run.checkpoints is not None and (stop or run.checkpoints.is_due()):
                search.save(report)
            if stop:
                status = Status.STOPPED
                break
        if search.is_over or search.rounds >= problem.max_iter:
            status = Status.CONVERGED if search.is_over else Status.MAX_ITER
            break
        proposal = search.proposal(report)
        if report.is_asked_to_stop():
            status = Status.STOPPED
            break
        search.follow(proposal)
    if run.checkpoints is not None:
        search.save(report)
    return search.fitted(status)


class _TrustRegion:
    """The best place known, and how far around it the surrogate is trusted."""

    def __init__(self, run: RoundsRun, problem: Problem):
        self.run, self.problem = run, problem
        free, self.frozen = encode(run.start.model, problem.learned)
        self.start = Place(free, Naturals(*map(np.asarray, run.start.q)))
        self.limits = limits(free)
        rows = MemorySums(problem.rows, problem.rows.y.dtype, Shape.for_rows(len(problem.rows.y)))
        weight = run.summation.total_weight
        scale, worthwhile = weight / rows.total_weight, problem.tol * weight / _PLATEAU_ROUNDS
        self.sample = Sample(rows, scale, run.start.base, self.frozen, problem, worthwhile)
        self.bends = Bends.none(len(flatten(free)))
        self.radius = _FIRST_RADIUS
        self.jitter = problem.jitter
        self.rounds = 0
        self.is_over = False
        self.here: Standing

    @property
    def bound(self) -> float:
        """The best so far."""
        return float(self.here.weighed.bound)

    def ask_first(self) -> None:
        """The round from which all others follow."""
        self.here = self._ask(self.start)

    def proposal(self, report: Reporter) -> Proposal:
        """Where to ask next."""
        if self.radius < _LEAST_RADIUS:
            return self._natural_step()
        free, (lowest, highest) = self.here.place.free, self.limits
        reach = (
            jax.tree.map(lambda x, low: np.maximum(x - self.radius, low), free, lowest),
            jax.tree.map(lambda x, high: np.minimum(x + self.radius, high), free, highest),
        )
        return self._surrogate(self.here).proposal(reach, report.is_asked_to_stop)

    def _natural_step(self) -> Proposal:
        """By what all rows have said, θ as it is: for a q from which the surrogate misleads."""
        (free, q), weighed = self.here.place, self.here.weighed
        step = Damping().step(seen_at(q, weighed), 1.0)
        assert step is not None  # the bound's own target is a precision
        place = Place(free, Naturals(step.precision, step.linear))
        return Proposal(place, step.promise, np.zeros(self.bends.directions.shape[1]))

    def follow(self, proposal: Proposal) -> None:
        """Ask there, go there if that is better, and learn how far to trust."""
        there = self._ask(proposal.place)
        gain = float(there.weighed.bound) - self.bound
        step = flatten(proposal.place.free) - flatten(self.here.place.free)
        length = float(np.max(np.abs(step), initial=0.0))
        was_last_resort = self.radius < _LEAST_RADIUS
        if not gain > 0.0:  # nor a number, perhaps
            self.radius = 0.25 * length
        elif was_last_resort:
            self.radius = _FIRST_RADIUS
        elif gain < _POOR * proposal.promise:
            self.radius = 0.5 * length
        elif gain > _GOOD * proposal.promise and length > 0.99 * self.radius:
            self.radius *= 2.0
        if np.isfinite(gain):  # a place that is not followed teaches as much
            error = self._surrogate(there).gradient_here() - proposal.gradient
            self.bends = self.bends.learned(error, step)
        if gain > 0.0:
            self.here = there
        little = proposal.promise < self.sample.worthwhile
        self.is_over = bool(little or (was_last_resort and not gain > 0.0))

    def _surrogate(self, standing: Standing) -> Surrogate:
        return Surrogate(self.sample, standing, self.bends, self.jitter)

    def _ask(self, place: Place) -> Standing:
        self.rounds += 1
        model, q = point_at(place.free, self.frozen, place.q)
        point = Point(model, q, self.jitter)
        found = self.run.summation(jax.tree.map(np.asarray, point))
        if np.isfinite(found.sums.log_prob):
            # A jitter once needed is kept: a bound that switches jitter has no gradient.
            self.jitter = max(self.jitter, float(found.jitter))
        return self._standing(place, found)

    def _standing(self, place: Place, found: Found) -> Standing:
        base = self.run.start.base
        weighed = weigh(place.free, self.frozen, base, place.q, found, self.jitter)
        return Standing(place, found, jax.tree.map(np.asarray, weighed))

    # --- checkpoints --------------------------------------------------------------------------

    def save(self, report: Reporter) -> None:
        """Keep the run as it stands."""
        assert self.run.checkpoints is not None
        header = {
            "seed": self.run.seed,
            "n_inducing": len(self.start.q.linear),
            "rounds": self.rounds,
            "jitter": self.jitter,
            "radius": self.radius,
            "is_over": self.is_over,
        }
        arrays = flattened("model", self.run.start.model)
        arrays |= flattened("place", self.here.place) | flattened("found", self.here.found)
        arrays |= flattened("bends", self.bends)
        arrays |= {f"history.{name}": column for name, column in report.history().items()}
        self.run.checkpoints.write(self.rounds, header, arrays)

    def resume(self, saved: Saved, report: Reporter) -> None:
        """Stand where the run stood."""
        history = {
            name.removeprefix("history."): column
            for name, column in saved.arrays.items()
            if name.startswith("history.")
        }
        report.take_up(history)
        self.rounds, self.is_over = saved.header["rounds"], saved.header["is_over"]
        self.radius, self.jitter = saved.header["radius"], saved.header["jitter"]
        place = unflattened("place", self.start, saved.arrays)
        found = unflattened("found", self.sample.look(self.start, self.jitter), saved.arrays)
        self.bends = Bends(saved.arrays["bends.0"], saved.arrays["bends.1"])
        self.here = self._standing(place, found)

    # --- the end ------------------------------------------------------------------------------

    def so_far(self) -> Fitted:
        """What a fit that stopped here would leave behind."""
        return self.fitted(Status.STOPPED)

    def fitted(self, status: Status) -> Fitted:
        """The posterior at the best place."""
        return fitted_at(self.here.weighed, self.rounds, self.rounds, status)
