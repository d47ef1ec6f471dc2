"""Fits in rounds, whether the rows are in memory or on a cluster. Order and manners only.

A sample of the rows is fitted first, in this process and in full batch: kernel and inducing points
are then nearly right before the first round. The same sample stands for all rows between rounds
(training/surrogate.py), which leaves tens of them instead of hundreds. It is drawn by row numbers,
so that it is the same however the rows are split; where there are few rows, it is all of them.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from ..inference.sites import Rows
from ..likelihoods import Likelihood
from ..local.method import Local
from ..numerics.precision import computing_in, one_lapack_thread, resolve_dtype, resolve_jitter
from ..progress import Reporter
from ..training import saved_form
from ..training.full_batch import Fitted, Problem, fit_collapsed
from ..training.rounds import fit_in_rounds
from ..training.sampled_rounds import fit_in_sampled_rounds
from ..training.steps import Naturals
from ..training.stochastic import Start
from ..training.summation import RoundsRun, Summation
from .methods import ROUNDS, FitPlan
from .minibatches import (
    Table,
    Warm,
    cast,
    checkpoints_of,
    drawn_sample,
    learned_of,
    problem_of,
    start_of,
    starting_model,
)
from .stored_rows import n_stored

_WIDE = np.dtype(np.float64)
_SAMPLE_ITERATIONS = 200


def fit_table_in_rounds(
    estimator: Any, table: Table, fit_plan: FitPlan, likelihood: Likelihood, warm: Warm | None
) -> tuple[Fitted, Reporter]:
    """Train on a table that can sum its rows; (what was found, who reported)."""
    plan = fit_plan.plan
    assert plan is not None
    assert table.summation is not None
    assert not isinstance(fit_plan.method, Local)
    if getattr(estimator, "validation_fraction", None) is not None:
        raise ValueError(
            "validation_fraction is for minibatches, and training in rounds has none. Leave it out."
        )
    dtype = resolve_dtype(estimator.dtype)
    on_all_rows = plan.optimizer == ROUNDS
    check = saved_form.of_rounds if on_all_rows else saved_form.of_sampled_rounds
    saved, checkpoints = checkpoints_of(estimator, table, dtype, check)
    random_state = check_random_state(estimator.random_state)
    seed = int(random_state.randint(2**31)) if saved is None else int(saved.header["seed"])
    sample = drawn_sample(estimator, table, np.random.default_rng(seed))
    model = starting_model(estimator, table, sample, likelihood, saved, warm, seed, _WIDE)
    learned = learned_of(estimator, model)
    jitter = resolve_jitter(estimator.jitter, dtype)
    problem = problem_of(estimator, fit_plan, cast(sample, _WIDE), model, learned, jitter, seed)
    with computing_in(_WIDE), one_lapack_thread():
        summation = table.summation(dtype)
        with estimator._reporter(fit_plan, plan.steps) as reporter:
            start = start_of(model, problem.jitter, _WIDE, warm)
            if saved is None and warm is None and on_all_rows:
                start = _start_from_sample(start, problem, summation, reporter)
            run = RoundsRun(summation, start, seed, checkpoints, saved)
            if on_all_rows:
                fitted = fit_in_rounds(run, problem, reporter)
            else:
                fitted = fit_in_sampled_rounds(run, plan, table.n_rows, problem, reporter)
            stored = n_stored(fit_plan.method, fitted.posterior, sample.X)
            return fitted._replace(stored_rows=stored), reporter


class _Silent(NamedTuple):
    """Listens to whoever may stop the fit, and tells nobody: a start is no moment of the fit."""

    reporter: Reporter

    def __call__(self, bound: float, iterations: int = 1, *, so_far: Any = None) -> bool:
        return self.is_asked_to_stop()

    def is_asked_to_stop(self) -> bool:
        return self.reporter.is_asked_to_stop()


def _start_from_sample(
    start: Start, problem: Problem, summation: Summation, reporter: Reporter
) -> Start:
    """Kernel, inducing points and q as the sample has them, q as if for all rows."""
    rows: Rows = problem.rows
    short = replace(problem, max_iter=_SAMPLE_ITERATIONS)
    fitted = fit_collapsed(short, _Silent(reporter))
    factor, mean = np.asarray(fitted.held.q.factor), np.asarray(fitted.held.q.mean)
    precision = np.linalg.inv(factor.mT @ factor)
    times = summation.total_weight / float(np.sum(rows.weights))
    prior = start.base.naturals.precision
    # The sample's rows stand for all: what they say counts that many times.
    q = Naturals(prior + times * (precision - prior), times * (precision @ mean[..., None])[..., 0])
    return Start(fitted.model, q, start.base)
