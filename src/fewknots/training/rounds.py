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

In a small enough box the surrogate is right for θ, since its gradient is. A promise that is several
times what the gradient here allows is not believed, and costs no round: the box is made smaller at
once. q knows no box: where it is q that is promised too much, the next round is at a
natural-gradient step by what all rows said, θ as it is, and at a shorter one if need be.

The fit ends when the surrogate promises so little that ten rounds like it would gain less than
`tol` for each unit of weight: at once if it is not the box that keeps it from more, else after
three such rounds.

A run is a function of its start, its sample and where it stands, which is all that goes into a
checkpoint: the best place and its sums, the corrections and the radius. No round is made twice.
"""

import time

import jax
import numpy as np
from jaxtyping import Float

from ..optimize.lbfgsb import Status, flatten
from ..optimize.natural_rounds import Damping
from ..progress import Reporter
from ..stopping import StoppedEarly
from .checkpoint import flattened, take_up_history, unflattened, with_history
from .correction import CurvatureCorrections
from .full_batch import Fitted, Problem
from .held_rows import Found, Point, Shape
from .parameters import Named, encode, limits
from .saved_form import Saved
from .steps import Naturals
from .summation import MemorySums, RoundsRun, fitted_at, point_at, seen_at, weigh
from .surrogate import Iterate, Proposal, Sample, Surrogate, Visited

_FIRST_RADIUS = 0.03  # lengthscales for Z, logarithms for the kernel's parameters
_LEAST_RADIUS = 1e-6
_SHORTEST_NATURAL = 0.01  # of a natural-gradient step
_POOR, _GOOD = 0.25, 0.75  # of the gain that was promised
_MOSTLY = 0.5
_INCREDIBLE = 4.0  # times what is right to first order
_MOST_DOUBTS = 3  # about θ, before it is q that is doubted
_LITTLE_ROUNDS = 3
_PLATEAU_ROUNDS = 10  # that would together gain less than `tol`


def fit_in_rounds(run: RoundsRun, problem: Problem, report: Reporter) -> Fitted:
    """Ask all rows, go where the surrogate is best, ask again."""
    search = _TrustRegion(run, problem)
    if run.resumed is None:
        search.ask_first()
    else:
        search.resume(run.resumed, report)
    seconds = 0.0  # that the last round took
    while True:
        if search.rounds > len(report.moments):  # or it is a run taken up, and was told
            stop = report(search.evidence, so_far=search.so_far)
            if run.checkpoints is not None and (stop or run.checkpoints.is_due()):
                search.save(report)
            if stop:
                status = Status.STOPPED
                break
        if search.is_over or search.rounds >= problem.max_iter:
            status = Status.CONVERGED if search.is_over else Status.MAX_ITER
            break
        try:
            proposal = search.proposal(report)
            no_time = report.limit is not None and report.limit.left() < seconds
            if no_time or report.is_asked_to_stop():
                status = Status.STOPPED
                break
            began = time.perf_counter()
            search.follow(proposal)
        except StoppedEarly:
            status = Status.STOPPED
            break
        seconds = time.perf_counter() - began
    if run.checkpoints is not None:
        search.save(report)
    return search.fitted(status)


class _TrustRegion:
    """The best place known, and how far around it the surrogate is trusted."""

    def __init__(self, run: RoundsRun, problem: Problem):
        self.run, self.problem = run, problem
        free, self.frozen = encode(run.start.model, problem.learned)
        self.start = Iterate(free, Naturals(*map(np.asarray, run.start.q)))
        self.limits = limits(free, self.frozen)
        rows = MemorySums(problem.rows, problem.rows.y.dtype, Shape.for_rows(len(problem.rows.y)))
        weight = run.summation.total_weight
        scale, worthwhile = weight / rows.total_weight, problem.tol * weight / _PLATEAU_ROUNDS
        self.sample = Sample(rows, scale, run.start.base, self.frozen, problem, worthwhile)
        self.corrections = CurvatureCorrections.none(len(flatten(free)))
        self.radius = _FIRST_RADIUS
        self.natural = 0.0  # the length of the natural-gradient step to be made next, if one is
        self.little_rounds = 0  # in a row
        self.jitter = problem.jitter
        self.rounds = 0
        self.is_over = False
        self.here: Visited

    @property
    def bound(self) -> float:
        """The best so far, with the priors of the kernel's parameters."""
        return float(self.here.weighed.bound)

    @property
    def evidence(self) -> float:
        """The same without the priors."""
        return self.here.weighed.evidence

    def ask_first(self) -> None:
        """The round from which all others follow."""
        self.here = self._ask(self.start)

    def proposal(self, report: Reporter) -> Proposal:
        """Where to ask next."""
        if self.natural:
            return self._natural_step()
        radius = self.radius
        for _ in range(_MOST_DOUBTS):
            found = self._surrogate(self.here).proposal(self._box(radius), report.is_asked_to_stop)
            credible = _INCREDIBLE * found.first_order + self.sample.worthwhile
            if found.promise <= credible or report.is_asked_to_stop():
                self.radius = radius
                return found
            radius *= 0.25
        self.natural = 1.0
        return self._natural_step()

    def _box(self, radius: float) -> tuple[Named, Named]:
        """The lowest and highest θ that the surrogate is trusted at."""
        free, (lowest, highest) = self.here.place.free, self.limits
        return (
            jax.tree.map(lambda x, low: np.maximum(x - radius, low), free, lowest),
            jax.tree.map(lambda x, high: np.minimum(x + radius, high), free, highest),
        )

    def _step(self, proposal: Proposal) -> Float[np.ndarray, " P"]:
        return flatten(proposal.place.free) - flatten(self.here.place.free)

    def _length(self, proposal: Proposal) -> float:
        return float(np.max(np.abs(self._step(proposal)), initial=0.0))

    def _natural_step(self) -> Proposal:
        """By what all rows have said, θ as it is: for a q from which the surrogate misleads."""
        (free, q), weighed = self.here.place, self.here.weighed
        step = Damping().step(seen_at(q, weighed), self.natural)
        assert step is not None  # the bound's own target is a precision
        place = Iterate(free, Naturals(step.precision, step.linear))
        nothing = np.zeros(self.corrections.directions.shape[1])
        return Proposal(place, step.promise, nothing, step.promise, step.promise)

    def follow(self, proposal: Proposal) -> None:
        """Ask there, go there if that is better, and learn how far to trust."""
        there = self._ask(proposal.place)
        gain = float(there.weighed.bound) - self.bound
        if self.natural:
            self.natural = 0.0 if gain > 0.0 else 0.5 * self.natural
            self.is_over = 0.0 < self.natural < _SHORTEST_NATURAL
        else:
            if np.isfinite(gain):  # a place that is not followed teaches as much
                error = self._surrogate(there).gradient_here() - proposal.gradient
                self.corrections = self.corrections.learned(error, self._step(proposal))
            self._learn_how_far_to_trust(proposal, gain)
        if gain > 0.0:
            self.here = there

    def _learn_how_far_to_trust(self, proposal: Proposal, gain: float) -> None:
        length = self._length(proposal)
        at_border = length > 0.99 * self.radius
        if not gain > 0.0:  # nor a number, perhaps
            self.radius = max(0.25 * length, _LEAST_RADIUS)
            self.natural = float(proposal.of_q > _MOSTLY * proposal.promise)
        elif gain < _POOR * proposal.promise:
            self.radius = max(0.5 * length, _LEAST_RADIUS)
        elif gain > _GOOD * proposal.promise and at_border:
            self.radius *= 2.0
        little = proposal.promise < self.sample.worthwhile
        self.little_rounds = self.little_rounds + 1 if little else 0
        self.is_over = little and (not at_border or self.little_rounds >= _LITTLE_ROUNDS)

    def _surrogate(self, visited: Visited) -> Surrogate:
        return Surrogate(self.sample, visited, self.corrections, self.jitter)

    def _ask(self, place: Iterate) -> Visited:
        self.rounds += 1
        model, q = point_at(place.free, self.frozen, place.q)
        point = Point(model, q, self.jitter)
        found = self.run.summation(jax.tree.map(np.asarray, point))
        if np.isfinite(found.sums.log_prob):
            # A jitter once needed is kept: a bound that switches jitter has no gradient.
            self.jitter = max(self.jitter, float(found.jitter))
        return self._visited(place, found)

    def _visited(self, place: Iterate, found: Found) -> Visited:
        base = self.run.start.base
        weighed = weigh(place.free, self.frozen, base, place.q, found, self.jitter)
        return Visited(place, found, jax.tree.map(np.asarray, weighed))

    # --- checkpoints --------------------------------------------------------------------------

    def save(self, report: Reporter) -> None:
        """Keep the run as it stands."""
        assert self.run.checkpoints is not None
        header = {
            "seed": self.run.seed,
            "n_inducing": self.start.q.linear.shape[1],
            "rounds": self.rounds,
            "jitter": self.jitter,
            "radius": self.radius,
            "natural": self.natural,
            "little_rounds": self.little_rounds,
            "is_over": self.is_over,
        }
        arrays = flattened("model", self.run.start.model)
        arrays |= flattened("place", self.here.place) | flattened("found", self.here.found)
        arrays |= flattened("bends", self.corrections) | with_history(report)
        self.run.checkpoints.write(self.rounds, header, arrays)

    def resume(self, saved: Saved, report: Reporter) -> None:
        """Stand where the run stood."""
        take_up_history(report, saved)
        self.rounds, self.is_over = saved.header["rounds"], saved.header["is_over"]
        self.radius, self.natural = saved.header["radius"], saved.header["natural"]
        self.jitter = saved.header["jitter"]
        self.little_rounds = saved.header["little_rounds"]
        place = unflattened("place", self.start, saved.arrays)
        found = unflattened("found", self.sample.look(self.start, self.jitter), saved.arrays)
        self.corrections = CurvatureCorrections(saved.arrays["bends.0"], saved.arrays["bends.1"])
        self.here = self._visited(place, found)

    # --- the end ------------------------------------------------------------------------------

    def so_far(self) -> Fitted:
        """What a fit that stopped here would leave behind."""
        return self.fitted(Status.STOPPED)

    def fitted(self, status: Status) -> Fitted:
        """The posterior at the best place."""
        return fitted_at(self.here.weighed, self.rounds, self.rounds, status)
