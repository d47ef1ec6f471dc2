"""Stochastic training in rounds: each uses a random part of the rows, wherever they are.

For so many rows that even tens of passes over all of them are too expensive. The steps are those of
steps.py, natural gradients and Adam (or an optimiser over everything), with the rates of
schedule.py; a batch consists of the rows that the hash of held_rows.py selects, `batch_size` of
them on average. A step is one round of the loop in loop.py; a final round on all rows gives the
bound.
"""

from typing import NamedTuple

import jax
import numpy as np

from ..optimize.lbfgsb import Status
from ..progress import Reporter
from ..stopping import to_the_end
from . import steps
from .checkpoint import Saved, flattened, unflattened
from .full_batch import Fitted, Problem
from .held_rows import Point, Subset
from .loop import Measure, RunState, all_finite, train
from .parameters import encode
from .schedule import Plan, rates
from .summation import RoundsRun, fitted_at, point_at, weigh

_WIDE = np.dtype(np.float64)


def fit_in_sampled_rounds(
    run: RoundsRun, plan: Plan, n_rows: int, problem: Problem, report: Reporter
) -> Fitted:
    """`plan.steps` rounds on `plan.batch_size` rows each; then one on all rows, for the bound."""
    strategy = _SampledRounds(run, plan, n_rows, problem)
    return train(strategy, report, run.seed, run.checkpoints, run.resumed)


class _State(NamedTuple):
    """The state that a round changes."""

    train: steps.TrainState
    jitter: float


class _SampledRounds:
    """One round is one step (a `Strategy`)."""

    tol, patience = 0.0, 0
    advice = "a larger batch_size or jitter"

    def __init__(self, run: RoundsRun, plan: Plan, n_rows: int, problem: Problem):
        self.run, self.plan, self.n_rows = run, plan, n_rows
        self.free, self.frozen = encode(run.start.model, problem.learned, moving_unit=False)
        self.jitter = problem.jitter

    def begin(self, now: RunState, saved: Saved | None) -> _State:
        train = steps.start_state(self.plan.optimizer, self.free, self.run.start.q, _WIDE)
        if saved is None:
            return _State(train, self.jitter)
        return _State(unflattened("state", train, saved.arrays), saved.header["jitter"])

    def status(self, state: _State, now: RunState) -> Status | None:
        return None if now.done < self.plan.steps else Status.CONVERGED

    def step(self, state: _State, now: RunState) -> tuple[_State, Measure]:
        run, plan, total = self.run, self.plan, self.run.summation.total_weight
        share = plan.batch_size / self.n_rows
        subset = None if share >= 1.0 else Subset(run.seed, now.done, share)
        found = run.summation(self._point(state), subset)
        part = np.array([now.done / plan.steps])
        rate = rates(plan, now.done, part, self.n_rows, now.slowdown, _WIDE)
        new, bound = steps.step_from_sums(
            plan.optimizer,
            state.train,
            self.frozen,
            run.start.base,
            found.sums,
            steps.Rates(*(r[0] for r in rate)),
            total,
            state.jitter,
        )
        moved = _State(jax.tree.map(np.asarray, new), max(state.jitter, float(found.jitter)))
        objective = float(bound) / total
        return moved, Measure(1, float(bound), objective, is_good=all_finite((new, bound)))

    def saved(self, state: _State) -> Saved:
        start = self.run.start
        arrays = flattened("state", state.train) | flattened("model", start.model)
        return Saved({"n_inducing": start.q.linear.shape[1], "jitter": state.jitter}, arrays)

    def so_far(self, state: _State, bound: float | None) -> Fitted:
        with to_the_end():
            found = self.run.summation(self._point(state))
        free, q, base = state.train.free, state.train.q, self.run.start.base
        last = weigh(free, self.frozen, base, steps.naturals_of(q), found, state.jitter)
        return fitted_at(jax.tree.map(np.asarray, last))

    fitted = so_far

    def _point(self, state: _State) -> Point:
        model, q = point_at(state.train.free, self.frozen, state.train.q)
        return jax.tree.map(np.asarray, Point(model, q, state.jitter))
