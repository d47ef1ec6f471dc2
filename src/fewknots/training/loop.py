r"""The host's loop of every training in steps: one chunk after another, and what lies between two.

A strategy brings its step: minibatches (stochastic.py), neighbourhoods (local/training.py), rounds
over all rows (rounds.py) or over samples of them (sampled_rounds.py). The loop does the rest:

    resume      begin at a checkpoint, if there is one
    step        a chunk of work, of about a second
    undo        if the chunk went wrong, forget it and run it again with half the rates
    count       steps and scores; when scores no longer rise, the rates fall fast (run_state.py)
    report      to the user, whose callback may ask to stop, as may the clock and Ctrl-C
    checkpoint  if so much time has passed that writing costs little beside it
    end         by the strategy's own test (steps, time, tolerance) or because somebody asked; a
                last checkpoint, and the posterior

A run is a function of its plan, its start and its seed. What changes on the way is the strategy's
state and the `RunState`. Both are in every checkpoint: a run that is resumed is the same run.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, runtime_checkable

from ..numerics.precision import one_lapack_thread
from ..optimize.lbfgsb import Status
from ..progress import Reporter
from ..stopping import StoppedEarly
from .checkpoint import Checkpoints, take_up_history, with_history
from .full_batch import Fitted
from .run_state import Measure, RunState
from .saved_form import Saved
from .schedule import Plan

State = Any  # a strategy's own, and a value: the loop may go back to an old one


@runtime_checkable
class Strategy(Protocol):
    """What one way of training brings."""

    plan: Plan  # of batch size 0 where each step sees all rows
    n_rows: int
    tol: float  # what scores must gain; 0: they do not end the run
    patience: int  # scores that a look back takes
    advice: str  # to a user whose training diverges

    def begin(self, now: RunState, saved: Saved | None) -> State:
        """The state before the first step, or the one that a checkpoint holds."""

    def status(self, state: State, now: RunState) -> Status | None:
        """How the run has ended; None if there are steps left."""

    def step(self, state: State, now: RunState) -> tuple[State, Measure]:
        """A chunk of steps; raises StoppedEarly if it was asked to stop in the middle."""

    def saved(self, state: State) -> Saved:
        """What a checkpoint must hold for `begin`."""

    def so_far(self, state: State, bound: float) -> Fitted:
        """The posterior of a moment, at the bound that was reported; soon."""

    def fitted(self, state: State, bound: float | None) -> Fitted:
        """The posterior at the end, and its evidence; `bound` was reported last, if any was."""


def train(
    strategy: Strategy,
    report: Reporter,
    seed: int,
    checkpoints: Checkpoints | None,
    resumed: Saved | None,
) -> Fitted:
    """Step until the strategy is done or somebody asks to stop."""
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
                    raise KeyboardInterrupt from None  # there is nothing to keep
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
                # The end of the time is the end of the plan, and no interruption of it.
                planned = None if report.interrupted else strategy.status(state, now)
                status = planned or Status.STOPPED
                break
            if checkpoints is not None and checkpoints.is_due():
                save(checkpoints)
    if checkpoints is not None:
        save(checkpoints)
    return ended(strategy.fitted, status)
