"""Stochastic training in rounds: each looks at a random part of the rows, wherever they are.

The steps are those of steps.py, natural gradients and Adam (or an optimiser over everything), at
the rates of schedule.py; a batch is whatever rows the hash of held_rows.py picks, `batch_size` of
them on average. For rows so many that not even tens of looks at all of them can be afforded.
"""

import jax
import numpy as np

from ..exceptions import NumericalError
from ..optimize.lbfgsb import Status
from ..progress import Reporter
from ..stopping import StoppedEarly, to_the_end
from . import steps
from .checkpoint import flattened, take_up_history, unflattened, with_history
from .full_batch import Fitted, Problem
from .held_rows import Point, Subset
from .parameters import encode
from .schedule import Plan, rates
from .summation import RoundsRun, fitted_at, point_at, weigh


def fit_in_sampled_rounds(
    run: RoundsRun, plan: Plan, n_rows: int, problem: Problem, report: Reporter
) -> Fitted:
    """`plan.steps` rounds on `plan.batch_size` rows each; then one on all rows, for the bound."""
    free, frozen = encode(run.start.model, problem.learned, moving_unit=False)
    wide = np.dtype(np.float64)
    state = steps.start_state(plan.optimizer, free, run.start.q, wide)
    base, done, jitter = run.start.base, 0, problem.jitter
    if run.resumed is not None:
        state = unflattened("state", state, run.resumed.arrays)
        done, jitter = int(run.resumed.header["done"]), run.resumed.header["jitter"]
        take_up_history(report, run.resumed)
    total, status = run.summation.total_weight, Status.CONVERGED
    share = min(1.0, plan.batch_size / n_rows)

    def so_far() -> Fitted:
        with to_the_end():
            found = run.summation(_point(state, frozen, jitter))
        q = steps.naturals_of(state.q)
        last = weigh(state.free, frozen, base, q, found, jitter)
        return fitted_at(jax.tree.map(np.asarray, last), done, done, status)

    def save() -> None:
        assert run.checkpoints is not None
        n_inducing = run.start.q.linear.shape[1]
        header = {"seed": run.seed, "n_inducing": n_inducing, "done": done, "jitter": jitter}
        arrays = flattened("state", state) | flattened("model", run.start.model)
        run.checkpoints.write(done, header, arrays | with_history(report))

    while done < plan.steps:
        subset = None if share >= 1.0 else Subset(run.seed, done, share)
        try:
            found = run.summation(_point(state, frozen, jitter), subset)
        except StoppedEarly:
            status = Status.STOPPED
            break
        part = np.array([done / plan.steps])
        rate = steps.Rates(*(r[0] for r in rates(plan, done, part, n_rows, 1.0, wide)))
        new, bound = steps.step_from_sums(
            plan.optimizer, state, frozen, base, found.sums, rate, total, jitter
        )
        if not all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves((new, bound))):
            raise NumericalError(
                f"training diverged in round {done}. Try a larger batch_size or jitter."
            )
        jitter = max(jitter, float(found.jitter))
        state, done = jax.tree.map(np.asarray, new), done + 1
        seen = plan.batch_size
        stop = report(
            float(bound),
            rows=seen,
            passes=done * seen / n_rows,
            share=done / plan.steps,
            so_far=so_far,
        )
        if run.checkpoints is not None and (stop or run.checkpoints.is_due()):
            save()
        if stop:
            status = Status.STOPPED
            break
    return so_far()


def _point(state: steps.TrainState, frozen, jitter: float) -> Point:
    model, q = point_at(state.free, frozen, state.q)
    return jax.tree.map(np.asarray, Point(model, q, jitter))
