"""Where a fit starts: kernel, inducing points and q(u), from rows or from an earlier fit.

**Rows that a model contains unchanged.** The posterior of a method without inducing points is kept
at rows: all rows, or for "ivm" those it chose. Inducing points can be rows, too: if they are chosen
from the rows and do not move, or if there are as many of them as rows. With `store_rows=False`
methods of the first kind are refused (plan.py), and inducing points start near rows but never on
one (inducing.py).
"""

from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Float

from .. import inducing
from ..data.standardise import Standardiser
from ..exceptions import InputWarning, warn
from ..inference.features import project
from ..inference.method import Method
from ..inference.sites import Rows
from ..kernels import Kernel
from ..numerics.arrays import AnyArray
from ..numerics.precision import compiled, computing_in
from ..posterior import GaussianPosterior
from ..training.full_batch import Fitted, Problem
from ..training.parameters import Learned, Model, constraints_of
from ..training.steps import Naturals, prior_base
from ..training.stochastic import Start
from .first_lengthscales import Found, screened
from .job import FittedModel, Job
from .settings import AnyMethod, FitSettings, fitted_methods

_FEW_ROWS = 20_000
_ENOUGH_ROWS = 10_000  # rows to estimate the inputs' spread from


def check_warm(warm: FittedModel, settings: FitSettings, n_features: int) -> None:
    """Refuse a warm start with another number of features, or from stored rows if none may be
    stored.
    """
    if not settings.store_rows and warm.stored_rows != 0:
        raise ValueError(
            "warm_start=True starts from a model that contains rows of X, or may contain some, "
            "which store_rows=False forbids. Set warm_start=False to start again."
        )
    known = len(warm.standardiser.mean)
    if n_features != known:
        raise ValueError(
            f"warm_start=True continues a fit to {known} features, but X has {n_features}. Set "
            "warm_start=False to start again."
        )


def check_warm_method(warm: FittedModel, method: AnyMethod, n_latent: int) -> None:
    """Refuse a warm start from a fit with another kind of method or likelihood."""
    if warm.likelihood.n_latent != n_latent:
        raise ValueError(
            f"warm_start=True continues a fit with {warm.likelihood.n_latent} latent functions, "
            f"but these classes and this likelihood need {n_latent}. Set warm_start=False to start "
            "again."
        )
    if (
        fitted_methods("classes")[warm.method].looks_up_neighbours
        and not method.looks_up_neighbours
    ):
        raise ValueError(
            f"warm_start=True continues a fit by method={warm.method!r}, but method is "
            f"{method.name!r} now. Set warm_start=False to start again."
        )


def starting_model(
    job: Job,
    rows: Rows,
    rng: np.random.RandomState,
    dtype: np.dtype,
    sampled: bool = False,
    n_inducing: int | None = None,
) -> Model:
    """Initial kernel and inducing points, from the rows or from an earlier fit.

    sampled : whether the rows are a sample.
    n_inducing : the number of points in the checkpoint that they will be taken from.
    """
    sparse, warm, Z = job.fit_plan.method.sparse, job.warm, None
    degrees = 0.0
    if warm is None:
        kernel, degrees = starting_kernel(job, rows, sampled)
    else:
        kernel = warm.kernel
    if sparse and warm is not None:
        Z = warm.posterior.points
    elif sparse and n_inducing is not None:
        Z = np.zeros((n_inducing, rows.X.shape[1]))
    elif sparse:
        Z = _starting_points(job, kernel, rows, rng, sampled, degrees)
    model = Model(kernel, Z, job.encoding.likelihood)
    return jax.tree.map(lambda parameter: np.asarray(parameter, dtype), model)


def starting_kernel(job: Job, rows: Rows, sampled: bool = False) -> Found:
    """The kernel with a value for every parameter, from the spread of the rows.

    The default kernel's lengthscales are those that explain the targets best.
    """
    if job.learned_kernel is not None:
        return Found(job.learned_kernel, 0.0)
    some = slice(None, None, 1 if sampled else max(1, len(rows.y) // _ENOUGH_ROWS))
    X = rows.X[some].astype(np.float64, copy=False)
    weights = np.maximum(rows.weights[some], 1e-300)
    kernel = job.kernel
    if job.shape is not None:  # spread of the warped inputs
        X = kernel.prepared(np.ones(X.shape[1])).coordinates(X)
    spread = Standardiser.fitted(X, weights).scale
    kernel = kernel.prepared(spread, job.settings.ard)
    if not job.settings.chooses_kernel:
        return Found(kernel, 0.0)
    found = screened(job.kernel, kernel, rows, job.encoding.likelihood.n_latent)
    # its linear part takes a number for each input
    return found._replace(degrees=max(found.degrees, float(rows.X.shape[1])))


def problem_of(
    job: Job,
    rows: Rows,
    model: Model,
    jitter: float,
    rng: np.random.RandomState,
    learned: Learned | None = None,
) -> Problem:
    """The problem to be solved; `rows` are all rows or a sample."""
    settings, method = job.settings, job.fit_plan.method
    assert isinstance(method, Method)
    if learned is None:
        moves = settings.learn_kernel, settings.learn_inducing, settings.learn_noise
        learned = Learned(*moves, constraints_of(job.kernel, model.kernel))
    return Problem(
        rows=rows,
        model=model,
        learned=learned,
        method=method,
        maximise=job.fit_plan.maximise,
        jitter=jitter,
        max_iter=job.fit_plan.iterations,
        tol=settings.tol,
        rng=rng,
        off_rows=not settings.store_rows,
    )


def in_dtype(rows: Rows, dtype: np.dtype) -> Rows:
    """Rows in another precision."""
    return Rows(*(column.astype(dtype) for column in rows))


# --- inducing points ------------------------------------------------------------------------------


def _starting_points(
    job: Job,
    kernel: Kernel,
    rows: Rows,
    rng: np.random.RandomState,
    sampled: bool,
    degrees: float,
) -> Float[np.ndarray, "M D"]:
    """The user's inducing points in the rows' units, or points chosen from the rows."""
    settings, X = job.settings, rows.X
    if settings.inducing_points is not None:
        return _given_points(settings, job.standardiser, X)
    # Among many rows there are enough distinct ones, and sorting them would take long.
    distinct = np.unique(X, axis=0) if job.table.n_rows <= _FEW_ROWS else X
    if settings.n_inducing == "auto":
        if job.fit_plan.by_minibatches:
            n_latent = job.encoding.likelihood.n_latent
            automatic = inducing.count_for_minibatches(job.table.n_rows, n_latent)
        else:
            n_rows = job.table.n_rows if sampled else len(distinct)
            automatic = inducing.automatic_count(n_rows, degrees)
        count = min(automatic, len(distinct))
    else:
        count = int(settings.n_inducing)
        if count > len(distinct):
            warn(
                f"n_inducing={count} is more than the {len(distinct)} distinct rows of X; "
                f"using {len(distinct)}.",
                InputWarning,
            )
            count = len(distinct)
    with computing_in(np.dtype(np.float64)):
        if count == len(distinct):
            chosen = distinct
        else:
            chosen = inducing.choose(settings.inducing_init, kernel, X, rows.weights, count, rng)
        return chosen if settings.store_rows else inducing.displaced(kernel, chosen, X, rng)


def _given_points(
    settings: FitSettings, standardiser: Standardiser, X: Float[np.ndarray, "N D"]
) -> Float[np.ndarray, "M D"]:
    Z = np.asarray(settings.inducing_points, np.float64)
    if Z.ndim != 2 or Z.shape[1] != X.shape[1] or len(Z) == 0:
        raise ValueError(
            f"inducing_points must have shape (M, {X.shape[1]}), one column per feature of X, "
            f"got {Z.shape}."
        )
    if not np.all(np.isfinite(Z)):
        raise ValueError("inducing_points holds NaN or infinity.")
    Z = standardiser(Z)
    if not settings.store_rows and (count := n_rows_among(Z, X)):
        raise ValueError(
            f"{count} of the inducing_points are rows of X, which store_rows=False forbids. Give "
            "other points, or leave them out: then points near rows are chosen."
        )
    return Z


def with_stored(job: Job, fitted: Fitted, X: Float[np.ndarray, "N D"]) -> Fitted:
    """The fit with the number of its points that are rows; inducing points were chosen from X."""
    points = fitted.posterior.points
    all_are = job.fit_plan.method.stores_rows
    return fitted._replace(stored_rows=len(points) if all_are else n_rows_among(points, X))


def n_rows_among(points: Float[np.ndarray, "M D"], X: Float[np.ndarray, "N D"]) -> int:
    """How many of the points equal a row of X in the points' dtype."""
    return int(np.count_nonzero(np.isin(_whole(points, points.dtype), _whole(X, points.dtype))))


def _whole(rows: Any, dtype: np.dtype) -> np.ndarray:
    """Each row as one value, so that rows can be compared."""
    rows = np.ascontiguousarray(rows, dtype) + dtype.type(0.0)  # -0.0 becomes 0.0
    return rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()


# --- q(u) -----------------------------------------------------------------------------------------


def naturals_of(kernel: Kernel, posterior: GaussianPosterior, jitter: float) -> Naturals:
    """The natural parameters of q(v) of a posterior, v = L⁻¹u.

    The posterior holds w = T u ~ N(mean, diag s); so v = (T L)⁻¹ w.
    """
    Z = posterior.points.astype(np.float64)
    kernel = jax.tree.map(lambda p: np.asarray(p, np.float64), kernel)
    L = np.linalg.inv(np.asarray(_whitener(kernel, Z, np.asarray(jitter))))
    T = posterior.projection.astype(np.float64) @ L
    # 1 - s is stored rounded: if the data determine nearly everything, s is known to that.
    rounding = float(np.finfo(posterior.shrink.dtype).eps)
    s = np.maximum(1.0 - posterior.shrink.astype(np.float64), rounding)[..., None]
    return Naturals((T / s).mT @ T, (T.mT @ (posterior.mean[..., None] / s))[..., 0])


@compiled
def _whitener(kernel: Kernel, Z: Float[AnyArray, "M D"], jitter: Any) -> Float[Array, "*C M M"]:
    """L⁻¹ of the inducing points' covariance."""
    return project(kernel, Z, Z[:1], jitter)[0].whitener


def start_of(model: Model, jitter: float, wide: np.dtype, warm: FittedModel | None) -> Start:
    """The initial q: the prior, or that of an earlier fit."""
    assert model.Z is not None
    base = prior_base(len(model.Z), wide, model.likelihood.n_latent)
    q = base.naturals
    if warm is not None and isinstance(warm.posterior, GaussianPosterior):
        with computing_in(np.dtype(np.float64)):
            found = naturals_of(warm.kernel, warm.posterior, jitter)
            q = Naturals(*(x.astype(wide) for x in found))
    return Start(model, q, base)
