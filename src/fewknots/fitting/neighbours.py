"""Training of the local method: from a table of rows to stored rows and a learned metric."""

import jax
import numpy as np
from jaxtyping import Float, Int
from scipy.special import logit, ndtri

from ..data.blocks import row_slices
from ..data.row_draw import some_rows
from ..inference.sites import Rows
from ..kernels import Kernel
from ..likelihoods import Bernoulli, Likelihood
from ..local.coupled import slots_for
from ..local.method import Local
from ..local.model import LocalModel
from ..local.neighbours import Metric
from ..local.posterior import LocalPosterior
from ..local.training import LocalRun, fit_local
from ..numerics.precision import compiled, computing_in, resolve_dtype
from ..progress import Reporter
from ..training import checkpoint
from ..training.parameters import constraints_of
from ..training.row_sources import Table
from ..training.schedule import Plan
from .in_steps import draw, held_out_rows
from .job import Job, Trained
from .plan import check_weights, count_neighbors
from .start import starting_kernel

_FEW_ROWS = 1000  # rows up to which float64 is affordable
_MOST_HELD_OUT = 4096  # rows of a score: each is solved for
_SLICE = 65_536
_MOST_LOOKED_AT = 1000  # neighbourhoods whose classes are counted


def train_neighbourhoods(job: Job) -> Trained:
    """Each row is predicted from its neighbours."""
    settings, table, method, plan = job.settings, job.table, job.fit_plan.method, job.fit_plan.plan
    assert plan is not None
    assert isinstance(method, Local)
    likelihood = job.encoding.likelihood
    if table.n_rows < 2:
        raise ValueError(
            "method='local' needs at least two rows, because each row is predicted from others."
        )
    many = table.n_rows > _FEW_ROWS or likelihood.n_latent > 1
    if likelihood.targets == "numbers":  # noise may be small compared with the function
        many = False
    dtype = resolve_dtype(settings.dtype, minibatches=many)
    drawn = draw(settings, table, dtype, checkpoint.of_neighbourhoods)
    left_out = held_out_rows(settings.validation_fraction, table.n_rows, drawn.rng)
    left_out = left_out[:_MOST_HELD_OUT]
    kept = np.setdiff1d(np.arange(table.n_rows), left_out, assume_unique=True)
    rows = _taken(table, kept, dtype)
    check_weights(method, rows.weights)  # a stream's targets are not known before
    start, n_neighbors = _start(job, rows, likelihood), count_neighbors(settings)
    run = LocalRun(
        rows=rows,
        start=start,
        likelihood=likelihood,
        n_neighbors=n_neighbors,
        rule=method.inference,
        plan=plan,
        seed=drawn.seed,
        tol=settings.tol,
        learn=settings.learn_kernel,
        learn_likelihood=settings.learn_noise,
        constraints=constraints_of(job.kernel, start.kernel),
        held_out=_taken(table, left_out, dtype) if len(left_out) else None,
        checkpoints=drawn.checkpoints,
        resumed=drawn.saved,
        n_slots=_count_slots(rows, start.kernel, n_neighbors, likelihood.n_latent, drawn.seed),
        n_to_learn=count_neighbors(settings, to_learn=True),
    )
    with computing_in(dtype), job.report() as reporter:
        fitted = fit_local(run, reporter)
        return fitted._replace(stored_rows=len(fitted.posterior.points)), reporter


def with_more_rows(posterior: LocalPosterior, rows: Rows) -> tuple[LocalPosterior, float]:
    """Add new rows; kernel and mean stay. Returns (all rows, their leave-one-out sum)."""
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
        learn_likelihood=False,
        n_slots=after.n_slots,
    )
    with computing_in(after.points.dtype):
        return after, fit_local(run, Reporter(None, 0, 1)).evidence


def _count_slots(rows: Rows, kernel: Kernel, n_neighbors: int, n_classes: int, seed: int) -> int:
    """Number of class slots that is enough for nearly every neighbourhood, estimated from some of
    them.
    """
    if n_classes == 1:
        return 1
    some = rows.X[some_rows(len(rows.y), _MOST_LOOKED_AT, seed)]
    metric = Metric(kernel, rows.X.shape[1])
    index = metric.within_reach(rows.X)
    near = index.nearest(metric.coordinates(some), min(n_neighbors, len(rows.y)))
    return slots_for(rows.y[near].astype(np.int64), n_classes)


def _start(job: Job, rows: Rows, likelihood: Likelihood) -> LocalModel:
    """The initial kernel (the user's or that of the last fit), prior mean and sharpness.

    A learned mean starts at the value for which a query far from all rows gets the classes' shares
    as its probabilities. If nothing is learned, the mean is zero, as in every other method.
    """
    if job.warm is not None and isinstance(job.warm.posterior, LocalPosterior):
        model = job.warm.posterior.model
    else:
        kernel = starting_kernel(job, rows).kernel if job.warm is None else job.warm.kernel
        n_latent = likelihood.n_latent
        mean = np.zeros(() if n_latent == 1 else n_latent)
        if job.settings.learn_kernel:
            mean = _prior_mean(rows, kernel, likelihood)
        model = LocalModel(kernel, mean, np.asarray(1.0))
    return jax.tree.map(lambda parameter: np.asarray(parameter, rows.X.dtype), model)


def _prior_mean(rows: Rows, kernel: Kernel, likelihood: Likelihood) -> Float[np.ndarray, "*L"]:
    """One more row of each class is counted, so that no class is impossible.

    For numbers it is zero; their likelihood has its own level.
    """
    if likelihood.targets == "numbers":
        return np.zeros(())
    weights, two = rows.weights.astype(np.float64), likelihood.n_latent == 1
    codes = (rows.y > 0 if two else rows.y).astype(np.int64)
    counts = 1.0 + np.bincount(codes, weights, minlength=max(2, likelihood.n_latent))
    share = counts / counts.sum()
    with computing_in(np.dtype(np.float64)):
        variance = float(np.asarray(_diagonal(kernel, rows.X[:1].astype(np.float64)))[0])
    if isinstance(likelihood, Bernoulli) and likelihood.link == "probit":
        return np.asarray(ndtri(share[1]) * np.sqrt(1.0 + variance))
    log_odds = np.asarray(logit(share[1])) if two else np.log(share) - np.mean(np.log(share))
    return np.asarray(log_odds * np.sqrt(1.0 + np.pi * variance / 8.0))  # MacKay's approximation


@compiled
def _diagonal(kernel, X):
    return kernel.diagonal(X)


def _taken(table: Table, numbers: Int[np.ndarray, " n"], dtype: np.dtype) -> Rows:
    """Rows of the table in this precision, converted in slices to avoid a large copy."""
    first = table.take(numbers[:1])
    X = np.empty((len(numbers), first.X.shape[1]), dtype)
    y, weights = np.empty(len(numbers), dtype), np.empty(len(numbers), dtype)
    for part in row_slices(len(numbers), _SLICE):
        X[part], y[part], weights[part] = table.take(numbers[part])
    return Rows(X, y, weights)
