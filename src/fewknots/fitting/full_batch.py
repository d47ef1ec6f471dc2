"""Training in full batch: from a fit whose choices are made to the problem that is solved."""

import numpy as np
from sklearn.utils import check_random_state

from ..data.blocks import padded, rounded_up
from ..inference.method import Method
from ..inference.sites import Rows
from ..numerics.precision import computing_in, one_lapack_thread, resolve_dtype, resolve_jitter
from ..training.full_batch import Problem
from ..training.parameters import Model
from .start import (
    Job,
    Trained,
    enough_of,
    in_precision,
    learned_of,
    starting_kernel,
    starting_points,
    with_stored,
)


def train_full_batch(job: Job) -> Trained:
    """All rows at once."""
    settings, fit_plan = job.settings, job.fit_plan
    for name in ("checkpoint", "validation_fraction"):
        if getattr(settings, name) is not None:
            raise ValueError(
                f"{name} is for training by minibatches, and {job.table.n_rows} distinct rows are "
                "fitted in full batch. Leave it out, or set optimizer='natural_gradient'."
            )
    dtype = resolve_dtype(settings.dtype)
    rows = job.table.take(np.arange(job.table.n_rows))
    problem = _whole_problem(job, rows, dtype)
    reporter = job.report(problem.max_iter)
    with computing_in(dtype), one_lapack_thread(), reporter:
        fitted = fit_plan.train(problem, reporter)
    real = problem.rows.X[: len(rows.y)]  # the others fill up a block
    return with_stored(job, fitted, real), reporter


def _whole_problem(job: Job, rows: Rows, dtype: np.dtype) -> Problem:
    settings, method = job.settings, job.fit_plan.method
    assert isinstance(method, Method)
    rng = check_random_state(settings.random_state)
    kernel, Z = None if job.warm is None else job.warm.kernel, None
    if kernel is None:
        some = enough_of(len(rows.y))
        kernel = starting_kernel(job.kernel, rows.X[some], rows.weights[some], settings.ard)
    if method.sparse and job.warm is not None:
        Z = job.warm.posterior.points
    elif method.sparse:
        Z = starting_points(settings, job.standardiser, kernel, rows.X, rows.weights, rng)
    model = in_precision(Model(kernel, Z, job.likelihood), dtype)
    size = len(rows.y) if method.weights == "whole" else rounded_up(len(rows.y))
    no_weight = np.zeros(size - len(rows.y))
    return Problem(
        rows=Rows(
            padded(rows.X.astype(dtype), size),
            padded(rows.y.astype(dtype), size),
            np.concatenate([rows.weights, no_weight]).astype(dtype),
        ),
        model=model,
        learned=learned_of(job, model),
        method=method,
        maximise=job.fit_plan.maximise,
        jitter=resolve_jitter(settings.jitter, dtype),
        max_iter=job.fit_plan.iterations if settings.max_iter is None else int(settings.max_iter),
        tol=settings.tol,
        rng=rng,
        off_rows=not settings.store_rows,
    )
