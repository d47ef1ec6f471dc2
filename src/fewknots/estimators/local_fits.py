"""Fits of the local method: from a table of rows to a store of them and a learned metric."""

from typing import Any

import jax
import numpy as np
from jaxtyping import Int
from scipy.special import logit, ndtri
from sklearn.utils import check_random_state

from ..data.blocks import row_slices
from ..data.standardise import Standardiser
from ..inference.sites import Rows
from ..kernels import Kernel, as_kernel
from ..likelihoods import Bernoulli, Likelihood
from ..local.method import Local
from ..local.model import LocalModel
from ..local.posterior import LocalPosterior
from ..local.training import LocalRun, fit_local
from ..numerics.precision import computing_in, for_platform, resolve_dtype
from ..progress import Reporter
from ..training import saved_form
from ..training.constraints import constraints_of
from ..training.full_batch import Fitted
from ..training.schedule import Plan
from .methods import FitPlan, check_weights
from .minibatches import Table, Warm, checkpoints_of, held_out_rows

_NEIGHBORS = {"cpu": 48, "gpu": 96}  # twice as many are better by little and cost twice the time
_BATCH = 256
_STEPS = 300
_FEW_ROWS = 5000  # which can afford float64
_MOST_HELD_OUT = 4096  # each is solved for at every score
_SLICE = 65_536


def local_plan(n_rows: int, batch_size: Any, max_iter: Any, max_time: Any) -> Plan:
    """Three hundred batches of 256 rows unless the user says; fewer if nothing more is gained."""
    size = min(_BATCH if batch_size == "auto" else int(batch_size), n_rows)
    steps = _STEPS if max_time is None else 10**9
    return Plan("adam", size, steps if max_iter is None else int(max_iter))


def check_warm(warm: Warm | None, fit_plan: FitPlan) -> None:
    """What a local fit knows is of no use to another method's inducing points."""
    if warm is None or isinstance(fit_plan.method, Local):
        return
    if isinstance(warm.posterior, LocalPosterior):
        raise ValueError(
            "warm_start=True continues a fit by method='local', but method is "
            f"{fit_plan.method.name!r} now. Set warm_start=False to begin anew."
        )


def fit_neighbours(
    estimator: Any, table: Table, fit_plan: FitPlan, likelihood: Likelihood, warm: Warm | None
) -> tuple[Fitted, Reporter]:
    """Train a local model on a table; (what was found, who reported)."""
    assert fit_plan.plan is not None
    assert isinstance(fit_plan.method, Local)
    assert isinstance(likelihood, Bernoulli)
    if table.n_rows < 2:
        raise ValueError("method='local' needs at least two rows, each to predict the other.")
    dtype = resolve_dtype(estimator.dtype, minibatches=table.n_rows > _FEW_ROWS)
    saved, checkpoints = checkpoints_of(estimator, table, dtype, saved_form.of_neighbourhoods)
    random_state = check_random_state(estimator.random_state)
    seed = int(random_state.randint(2**31)) if saved is None else int(saved.header["seed"])
    rng = np.random.default_rng(seed)
    left_out = held_out_rows(estimator.validation_fraction, table.n_rows, rng)[:_MOST_HELD_OUT]
    kept = np.setdiff1d(np.arange(table.n_rows), left_out, assume_unique=True)
    rows = _taken(table, kept, dtype)
    check_weights(fit_plan.method, rows.weights)  # of a stream they are not seen before
    start = _start(estimator, rows, likelihood, warm)
    run = LocalRun(
        rows=rows,
        start=start,
        likelihood=likelihood,
        n_neighbors=neighbors(estimator.n_neighbors),
        rule=fit_plan.method.inference,
        plan=fit_plan.plan,
        seed=seed,
        tol=float(estimator.tol),
        learn=bool(estimator.learn_kernel),
        constraints=constraints_of(as_kernel(estimator.kernel), start.kernel),
        held_out=_taken(table, left_out, dtype) if len(left_out) else None,
        checkpoints=checkpoints,
        resumed=saved,
    )
    with computing_in(dtype), estimator._reporter(fit_plan, fit_plan.plan.steps) as reporter:
        fitted = fit_local(run, reporter)
        return fitted._replace(stored_rows=len(fitted.posterior.points)), reporter


def with_more_rows(posterior: LocalPosterior, rows: Rows) -> tuple[LocalPosterior, float]:
    """New rows join the store, kernel and mean stay; (all of them, their leave-one-out sum)."""
    check_weights(Local(posterior.rule), rows.weights)
    counted = rows.weights > 0
    after = posterior.extended(Rows(*(column[counted] for column in rows)))
    run = LocalRun(
        rows=after.rows,
        start=after.model,
        likelihood=after.likelihood,
        n_neighbors=after.n_neighbors,
        rule=after.rule,
        plan=Plan("adam", 1, 0),
        seed=0,
        tol=0.0,
        learn=False,
    )
    with computing_in(after.points.dtype):
        return after, fit_local(run, Reporter(None, 0, 1)).evidence


def neighbors(wanted: Any) -> int:
    """How many rows a neighbourhood has."""
    if wanted != "auto":
        return int(wanted)
    return for_platform(_NEIGHBORS)


def _start(estimator: Any, rows: Rows, likelihood: Bernoulli, warm: Warm | None) -> LocalModel:
    """The kernel as the user or the last fit left it, and a mean and sharpness to go with it.

    A mean that is learned starts where a query far from all rows has the classes' shares as its
    probabilities. If nothing is to be learned it is zero, as in every other method.
    """
    dtype = rows.X.dtype
    if warm is not None:
        kernel = warm.kernel
    else:
        some = slice(None, None, max(1, len(rows.y) // 10_000))
        spread = Standardiser.fitted(rows.X[some].astype(np.float64), rows.weights[some]).scale
        names = getattr(estimator, "feature_names_in_", None)
        kernel = as_kernel(estimator.kernel, names).prepared(spread, estimator.ard)
    mean = _prior_mean(rows, kernel, likelihood) if estimator.learn_kernel else 0.0
    model = LocalModel(kernel, np.asarray(mean), np.asarray(1.0))
    if warm is not None and isinstance(warm.posterior, LocalPosterior):
        model = warm.posterior.model
    return jax.tree.map(lambda parameter: np.asarray(parameter, dtype), model)


def _prior_mean(rows: Rows, kernel: Kernel, likelihood: Bernoulli) -> float:
    weights = rows.weights.astype(np.float64)
    # one row of each class more: neither is ever impossible
    share = (weights @ (rows.y > 0) + 1.0) / (weights.sum() + 2.0)
    with computing_in(np.dtype(np.float64)):
        variance = float(np.mean(np.asarray(kernel.diagonal(rows.X[:1].astype(np.float64)))))
    if likelihood.link == "probit":
        return float(ndtri(share) * np.sqrt(1.0 + variance))
    return float(logit(share) * np.sqrt(1.0 + np.pi * variance / 8.0))  # MacKay's approximation


def _taken(table: Table, numbers: Int[np.ndarray, " n"], dtype: np.dtype) -> Rows:
    """Rows of the table in this precision, a slice at a time: no large copy besides."""
    first = table.take(numbers[:1])
    X = np.empty((len(numbers), first.X.shape[1]), dtype)
    y, weights = np.empty(len(numbers), dtype), np.empty(len(numbers), dtype)
    for part in row_slices(len(numbers), _SLICE):
        X[part], y[part], weights[part] = table.take(numbers[part])
    return Rows(X, y, weights)
