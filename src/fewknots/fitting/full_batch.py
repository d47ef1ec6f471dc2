"""Training on all rows at once."""

import numpy as np
from sklearn.utils import check_random_state

from ..data.blocks import padded, rounded_up
from ..inference.sites import Rows
from ..numerics.precision import computing_in, one_lapack_thread, resolve_dtype, resolve_jitter
from .job import Job, Trained
from .start import in_dtype, problem_of, starting_model, with_stored


def train_full_batch(job: Job) -> Trained:
    """From the rows to a problem, and to its solution by the plan's own trainer."""
    settings, n_rows = job.settings, job.table.n_rows
    for name in ("checkpoint", "validation_fraction"):
        if getattr(settings, name) is not None:
            raise ValueError(
                f"{name} is for training by minibatches, and {n_rows} distinct rows are fitted "
                "in full batch. Leave it out, or set optimizer='natural_gradient'."
            )
    dtype = resolve_dtype(settings.dtype)
    rng = check_random_state(settings.random_state)
    rows = job.table.take(np.arange(n_rows))
    model = starting_model(job, rows, rng, dtype)
    whole = job.fit_plan.method.weights == "whole"
    X, y, weights = in_dtype(rows, dtype)
    size = n_rows if whole else rounded_up(n_rows)  # so that few programs are compiled
    weights = np.concatenate([weights, np.zeros(size - n_rows, dtype)])
    rows = Rows(padded(X, size), padded(y, size), weights)
    problem = problem_of(job, rows, model, resolve_jitter(settings.jitter, dtype), rng)
    with computing_in(dtype), one_lapack_thread(), job.report() as reporter:
        fitted = job.fit_plan.train(problem, reporter)
    return with_stored(job, fitted, X), reporter
