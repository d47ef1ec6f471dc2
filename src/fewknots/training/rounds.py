r"""Full-batch training in rounds: for rows that are many, or far away, and looked at few times.

A round sends a model and q(v) to the rows, wherever they are, and gets their sums back
(row_sums.py); everything else happens here, on M×M matrices. Inside, natural-gradient steps on q
(optimize/natural_rounds.py), each a round; outside, L-BFGS on kernel and Z, as in full_batch.py and
with the same envelope theorem. The inner problem is solved only as well as the outer gain asks for,
and since a step's gain is known before it is made, mostly one or two rounds are enough for each
point that L-BFGS asks about.

The trainer knows nothing of clusters: `Summation` is where the rows are. In one process it is
`MemorySums`; distributed/rounds.py has the other one. A run is a function of its start and of what
the rounds return, so the journal of those (journal.py) and q are all that a checkpoint needs.
"""

from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import numpy as np

from ..inference.features import whiten
from ..inference.method import HeldByPoints
from ..inference.sites import Rows, WhitenedGaussian
from ..optimize.lbfgsb import Status
from ..optimize.natural_rounds import Damping, Seen
from ..precision import compiled
from ..progress import Reporter
from .checkpoint import Checkpoints, flattened, unflattened
from .full_batch import EvidenceGradient, Fitted, Problem, check_end
from .held_rows import Found, Point, Shape, Span, Subset, hold, sums_at
from .journal import Journal
from .parameters import Model, Named, decode, encode, limits
from .row_sums import model_gradient
from .saved_form import Saved
from .steps import Base, Naturals, Triangle, divergence, gaussian, target
from .stochastic import Start

_FIRST_TOLERANCE = 0.01  # nats, of the inner solve before there is an outer gain to compare with
_INNER_SHARE = 0.2  # of the last outer gain; less takes more rounds
_MOST_ROUNDS = 20  # for one point of the outer search
_FINAL_ROUNDS = 50
_FINAL_TOLERANCE = 1e-11  # of the bound
_SHORTEST_STEP = 1e-3


@runtime_checkable
class Summation(Protocol):
    """Where the rows are."""

    total_weight: float

    def __call__(self, point: Point, subset: Subset | None = None) -> Found:
        """One round."""
        ...


class MemorySums:
    """All rows in this process."""

    def __init__(self, rows: Rows, dtype: np.dtype):
        shape, span = Shape.for_rows(len(rows.y)), Span(0, len(rows.y))
        self.held = hold(rows, (span,), shape, dtype)
        self.total_weight = float(np.sum(rows.weights, dtype=np.float64))

    def __call__(self, point: Point, subset: Subset | None = None) -> Found:
        return sums_at(self.held, point, subset)


class RoundsRun(NamedTuple):
    """What a run in rounds is given beside the problem."""

    summation: Summation
    start: Start
    seed: int
    checkpoints: Checkpoints | None = None
    resumed: Saved | None = None


class Weighed(NamedTuple):
    """What a round's sums mean: the bound, its gradient, and where q should go."""

    bound: Any
    gradient: Named  # for the free parameters
    d_kernel: Any
    d_points: Any
    target: Naturals
    q: WhitenedGaussian
    model: Model
    whitener: Any
    jitter: Any
    factorised: Any


def fit_in_rounds(run: RoundsRun, problem: Problem, report: Reporter) -> Fitted:
    """L-BFGS for kernel and Z, natural gradients for q, every look at the rows a round."""
    evidence = _EvidenceInRounds(run, problem)
    plateau_gain = problem.tol * run.summation.total_weight

    def on_iteration(value: float) -> bool:
        evidence.follow(value, plateau_gain)
        if evidence.iterations <= evidence.iterations_told:  # of a run that is taken up
            return False
        evidence.iterations_told = evidence.iterations
        stop = report(value, so_far=evidence.so_far)
        if run.checkpoints is not None and run.checkpoints.is_due():
            evidence.save(report)
        return stop

    if run.resumed is not None:
        evidence.resume(run.resumed, report)
    free, status, iterations = evidence.free, Status.CONVERGED, 0
    if free:
        free, _, iterations, status = problem.maximise(
            evidence,
            free,
            limits(free),
            max_iter=problem.max_iter,
            plateau_gain=plateau_gain,
            on_iteration=on_iteration,
        )
    if run.checkpoints is not None:
        evidence.save(report)
    evidence.finish(free)
    return evidence.fitted(iterations, status)


class _EvidenceInRounds:
    """The bound at the best q, as a function of kernel and Z; it remembers the last q."""

    def __init__(self, run: RoundsRun, problem: Problem):
        self.run, self.problem = run, problem
        self.free, self.frozen = encode(run.start.model, problem.learned)
        self.q = Naturals(*map(np.asarray, run.start.q))
        self.base = run.start.base
        self.journal = Journal()
        self.damping = Damping()
        self.jitter = problem.jitter
        self.tolerance = max(_FIRST_TOLERANCE, 0.1 * problem.tol * run.summation.total_weight)
        self.value = -np.inf
        self.rounds = 0
        self.iterations = 0
        self.iterations_told = 0
        self.kept: dict[str, np.ndarray] | None = None  # q as it stood at the end of the journal
        self.last: Weighed

    def __call__(self, free: Named) -> tuple[float, Any]:
        if self.journal.replaying:
            answer = self.journal.next(free)
            if not self.journal.replaying:
                self._take_up()
            return answer
        self._solve(free, self.tolerance, _MOST_ROUNDS)
        answer = float(self.last.bound), self.last.gradient
        self.journal.add(*answer)
        return answer

    def follow(self, value: float, plateau_gain: float) -> None:
        """After an outer iteration: solve the next inner problem as well as the gain asks for."""
        self.iterations += 1
        gain = value - self.value
        if np.isfinite(gain):
            self.tolerance = _INNER_SHARE * max(gain, 0.1 * plateau_gain)
        self.value = value

    def finish(self, free: Named) -> None:
        """Solve for q to the last digit."""
        self._solve(free, _FINAL_TOLERANCE * abs(self.value), _FINAL_ROUNDS)

    def _solve(self, free: Named, tolerance: float, most_rounds: int) -> None:
        """Natural-gradient steps from the q before, until a step promises too little."""
        self.damping.forget()
        now, length = self._round(free, self.q), 1.0
        if not np.isfinite(now.bound):
            self.last = now
            return
        self.damping.learn(_seen(self.q, now))
        for _ in range(most_rounds):
            step = self.damping.step(_seen(self.q, now), length)
            if step.promise < tolerance or length < _SHORTEST_STEP:
                break
            q = Naturals(step.precision, step.linear)
            then = self._round(free, q)
            if then.bound > now.bound - 1e-13 * abs(now.bound):
                self.q, now, length = q, then, min(1.0, 2.0 * length)
                self.damping.learn(_seen(q, then))
            else:
                length *= 0.5
        self.last = now

    def _round(self, free: Named, q: Naturals) -> Weighed:
        self.rounds += 1
        model, gaussian_q = point_at(free, self.frozen, q)
        point = Point(model, gaussian_q, self.jitter)
        found = self.run.summation(jax.tree.map(np.asarray, point))
        weighed = weigh(free, self.frozen, self.base, q, found, self.jitter)
        if np.isfinite(weighed.bound):
            # A jitter once needed is kept: a bound that switches jitter has no gradient.
            self.jitter = max(self.jitter, float(found.jitter))
        return jax.tree.map(np.asarray, weighed)

    # --- checkpoints --------------------------------------------------------------------------

    def save(self, report: Reporter) -> None:
        """Keep the run as it stands."""
        assert self.run.checkpoints is not None
        header = {
            "seed": self.run.seed,
            "n_inducing": len(self.q.linear),
            "rounds": self.rounds,
            "jitter": self.jitter,
            "damping": self.damping.rate,
        }
        arrays = flattened("model", self.run.start.model) | flattened("base", self.base)
        arrays |= flattened("q", self.q) | self.journal.arrays()
        arrays |= {f"history.{name}": column for name, column in report.history().items()}
        self.run.checkpoints.write(self.iterations_told, header, arrays)

    def resume(self, saved: Saved, report: Reporter) -> None:
        """Be ready to be asked the same questions again."""
        history = {
            name.removeprefix("history."): column
            for name, column in saved.arrays.items()
            if name.startswith("history.")
        }
        report.take_up(history)
        self.iterations_told = len(history["iteration"])
        self.rounds = int(saved.header["rounds"])
        self.journal = Journal.of(saved.arrays)
        self.kept = saved.arrays
        self.jitter, self.damping.rate = saved.header["jitter"], saved.header["damping"]
        if not self.journal.replaying:
            self._take_up()

    def _take_up(self) -> None:
        assert self.kept is not None
        self.q = Naturals(*unflattened("q", self.q, self.kept))

    # --- the end ------------------------------------------------------------------------------

    def so_far(self) -> Fitted:
        """What a fit that stopped here would leave behind."""
        return self.fitted(0, Status.STOPPED)

    def fitted(self, iterations: int, status: Status) -> Fitted:
        """The posterior at the last parameters."""
        return fitted_at(self.last, iterations, self.rounds, status)


def fitted_at(last: Weighed, iterations: int, rounds: int, status: Status) -> Fitted:
    """What a fit that ended here leaves behind."""
    check_end(last.model.kernel, last.bound, last.jitter, last.factorised)
    held = HeldByPoints(last.whitener, last.q)
    gradient = EvidenceGradient(
        jax.tree.map(np.multiply, last.d_kernel, last.model.kernel), last.d_points
    )
    posterior = held.posterior(last.model.kernel, last.model.Z)
    bound, jitter = float(last.bound), float(last.jitter)
    return Fitted(posterior, held, last.model, bound, gradient, iterations, rounds, status, jitter)


def _seen(q: Naturals, now: Weighed) -> Seen:
    return Seen(*map(np.asarray, (q.precision, now.q.mean, now.q.factor, *now.target)))


@compiled
def point_at(free: Named, frozen: Named, q: Naturals | Triangle) -> tuple[Model, WhitenedGaussian]:
    """The model and q that a round is about."""
    return decode(free, frozen), gaussian(q, q[0].dtype)


@compiled
def weigh(
    free: Named, frozen: Named, base: Base, naturals: Naturals, found: Found, jitter
) -> Weighed:
    """What all rows' sums say at a point."""
    model, pullback = jax.vjp(lambda free: decode(free, frozen), free)
    whitening = whiten(model.kernel, model.Z, jitter)
    q = gaussian(naturals, naturals.precision.dtype)
    d_kernel, d_points = model_gradient(whitening, q, found.sums)
    nothing = jax.tree.map(np.zeros_like, model.likelihood)
    (gradient,) = pullback(Model(d_kernel, d_points, nothing))
    return Weighed(
        found.sums.log_prob - divergence(q, base),
        gradient,
        d_kernel,
        d_points,
        target(base, found.sums, 1.0),
        q,
        model,
        whitening.whitener,
        whitening.jitter,
        whitening.ok & found.factorised,
    )
