r"""The host's loop of every training in steps: chunks of work, and what happens between two of
them.

A strategy brings its step: minibatches (stochastic.py), neighbourhoods (local/training.py), rounds
over all rows (rounds.py) or over samples of them (sampled_rounds.py). The loop does the rest:

    resume      start from a checkpoint, if there is one
    step        a chunk of work, of about a second
    undo        if the chunk diverged, discard it and repeat it with half the rates
    count       steps and scores; when scores no longer rise, the rates fall fast (`RunState`)
    report      to the user; the callback, the time limit or Ctrl-C may ask to stop
    checkpoint  if enough time has passed that writing takes a small share of it
    end         by the strategy's own test (steps, time, tolerance) or on request; a last
                checkpoint, and the posterior

A run is determined by its plan, its start and its seed. Only the strategy's state and the
`RunState` change during a run. Both are in every checkpoint, so a resumed run gives the same
result.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import numpy as np

from ..exceptions import NumericalError, NumericalWarning, warn
from ..numerics.precision import one_lapack_thread
from ..optimize.lbfgsb import Status
from ..progress import Reporter
from ..stopping import StoppedEarly, TimeLimit
from .checkpoint import Checkpoints, Saved, take_up_history, with_history
from .full_batch import Fitted
from .schedule import Pace, Plan, has_plateaued

State = Any  # the strategy's state, immutable: the loop may return to an old one
_MOST_RETRIES = 5


class Measure(NamedTuple):
    """The result of a chunk of steps."""

    steps: int
    bound: float  # the bound of all rows, or an estimate
    objective: float  # its negative per unit of weight
    held_out_nlp: float | None = None
    is_good: bool = True  # if False, the chunk is undone


class RunState(NamedTuple):
    """The progress of a run."""

    done: int
    pace: Pace
    slowdown: float
    retries: int
    seconds: float
    lowest: float  # the lowest objective per unit of weight so far
    scores: tuple[float, ...]

    @classmethod
    def at_first(cls, plan: Plan) -> "RunState":
        """Before the first step."""
        return cls(0, Pace(0, 0.0, plan.steps), 1.0, 0, 0.0, 0.0, ())

    @classmethod
    def of(cls, saved: Saved, plan: Plan) -> "RunState":
        """The progress in a checkpoint; the plan may have become longer or shorter since then."""
        if "standing" not in saved.header:  # in rounds, kept by an older fewknots
            done = saved.header["rounds" if "rounds" in saved.header else "done"]
            return cls.at_first(plan)._replace(done=done)
        held = saved.header["standing"]
        pace, done = Pace(**held["pace"]), held["done"]
        if saved.header["planned_steps"] != plan.steps:
            pace = Pace(done, min(pace.share(done), done / plan.steps), plan.steps)
        return cls(**(held | {"pace": pace, "scores": tuple(held["scores"])}))

    def header(self, plan: Plan, seed: int) -> dict[str, Any]:
        """The part for a checkpoint's header."""
        return {
            "standing": self._asdict() | {"pace": self.pace._asdict()},
            "planned_steps": plan.steps,
            "seed": seed,
        }

    def share(self, limit: TimeLimit | None) -> float:
        """How much of the run is over: the share of its steps or of its time, whichever is
        larger.
        """
        share = self.pace.share(self.done)
        return share if limit is None else max(share, limit.share())

    def after(
        self, found: Measure, limit: TimeLimit | None, seconds: float, tol: float, patience: int
    ) -> "RunState":
        """After successful steps; moves towards the end if scores have not improved for long.

        The score is the objective, unless rows are held out.
        seconds : that the fit has taken so far
        """
        now = self._replace(done=self.done + found.steps)
        score = found.objective if found.held_out_nlp is None else -found.held_out_nlp
        scores = (*self.scores, score)
        pace, share = self.pace, now.share(limit)
        cooling = pace.from_step > 0 or limit is not None
        if not cooling and has_plateaued(scores, share, tol, patience):
            pace = pace.ending(now.done, share)
        return now._replace(
            pace=pace,
            retries=0,
            seconds=seconds,
            lowest=min(self.lowest, found.objective),
            scores=scores,
        )

    def slower(self, steps: int, advice: str) -> "RunState":
        """After steps that diverged: half the rates, and a warning."""
        if self.retries >= _MOST_RETRIES:
            raise NumericalError(
                f"training diverged {self.retries + 1} times in a row around step {self.done}, "
                f"also with rates {self.slowdown:g} times the usual. Try {advice}."
            )
        slowdown = 0.5 * self.slowdown
        warn(
            f"steps {self.done} to {self.done + steps} diverged; they are undone and run again "
            f"with {slowdown:g} times the usual rates.",
            NumericalWarning,
        )
        return self._replace(slowdown=slowdown, retries=self.retries + 1)


@runtime_checkable
class Strategy(Protocol):
    """The interface of one kind of training."""

    plan: Plan  # batch size 0 if each step uses all rows
    n_rows: int
    tol: float  # least gain of the scores; 0: they do not end the run
    patience: int  # number of scores to compare with as many before
    advice: str  # advice in the error for a training that diverges

    def begin(self, now: RunState, saved: Saved | None) -> State:
        """The state before the first step, or the one in a checkpoint."""

    def status(self, state: State, now: RunState) -> Status | None:
        """How the run has ended; None if it has not."""

    def step(self, state: State, now: RunState) -> tuple[State, Measure]:
        """Do a chunk of steps; raises StoppedEarly if asked to stop in the middle."""

    def saved(self, state: State) -> Saved:
        """The contents of a checkpoint, for `begin`."""

    def so_far(self, state: State, bound: float) -> Fitted:
        """The current posterior, with the bound last reported; must be quick."""

    def fitted(self, state: State, bound: float | None) -> Fitted:
        """The final posterior and its evidence; `bound` is the one last reported, if any."""


def train(
    strategy: Strategy,
    report: Reporter,
    seed: int,
    checkpoints: Checkpoints | None,
    resumed: Saved | None,
) -> Fitted:
    """Do steps until the strategy is done or a stop is requested."""
    plan, limit, now, bound = strategy.plan, report.limit, RunState.at_first(strategy.plan), None
    if resumed is not None:
        now = RunState.of(resumed, plan)
        take_up_history(report, resumed)
    state = strategy.begin(now, resumed)

    def save(checkpoints: Checkpoints) -> None:
        header, arrays = strategy.saved(state)
        header = now.header(plan, seed) | header
        checkpoints.write(now.done, header, arrays | with_history(report))

    def ended(find: Callable[..., Fitted], status: Status) -> Fitted:
        done = now.done
        return find(state, bound)._replace(iterations=done, evaluations=done, status=status)

    with one_lapack_thread():
        while (status := strategy.status(state, now)) is None:
            try:
                new, found = strategy.step(state, now)
            except StoppedEarly:
                if not report.moments:
                    raise KeyboardInterrupt from None  # nothing to save
                status = Status.STOPPED
                break
            if not found.is_good:
                now = now.slower(found.steps, strategy.advice)
                continue
            now = now.after(found, limit, report.seconds, strategy.tol, strategy.patience)
            state, bound = new, found.bound
            stop = report(
                bound,
                found.steps,
                rows=found.steps * plan.batch_size,
                passes=now.done * plan.batch_size / strategy.n_rows if plan.batch_size else None,
                held_out_nlp=found.held_out_nlp,
                share=now.share(limit) if plan.batch_size else None,
                so_far=partial(ended, strategy.so_far, Status.STOPPED),
            )
            if stop:
                # The time limit is part of the plan: reaching it is not an interruption.
                planned = None if report.interrupted else strategy.status(state, now)
                status = planned or Status.STOPPED
                break
            if checkpoints is not None and checkpoints.is_due():
                save(checkpoints)
    if checkpoints is not None:
        save(checkpoints)
    return ended(strategy.fitted, status)


def all_finite(tree: Any) -> bool:
    """Whether every number of a state is finite."""
    return all(bool(np.all(np.isfinite(leaf))) for leaf in jax.tree.leaves(tree))
