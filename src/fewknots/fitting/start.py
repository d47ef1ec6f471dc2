"""Where a fit starts: kernel, inducing points and q(u), from rows or from an earlier fit.

**Rows that a model holds as they are.** The posterior of a method without inducing points is held
at rows: all of them, or for "ivm" those it chose. Inducing points can be rows too: where they are
chosen among rows and do not move, and where there are as many of them as rows. With
`store_rows=False` methods of the first kind are refused (plan.py), and inducing points set out
beside rows and never on one (inducing.py).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from .. import inducing
from ..data.standardise import Standardiser
from ..exceptions import InputWarning, warn
from ..inference.features import project
from ..kernels import Kernel
from ..likelihoods import Likelihood
from ..numerics.precision import computing_in
from ..posterior import GaussianPosterior, Posterior
from ..progress import Reporter
from ..training.constraints import constraints_of
from ..training.full_batch import Fitted
from ..training.parameters import Learned, Model
from ..training.row_sources import Table
from ..training.steps import Naturals, prior_base
from ..training.stochastic import Start
from .fitted_model import FittedModel
from .methods import CLASSIFICATION, AnyMethod
from .plan import FitPlan
from .settings import FitSettings

_FEW_ROWS = 20_000
_ENOUGH_ROWS = 10_000


def check_warm(warm: FittedModel, settings: FitSettings, n_features: int) -> None:
    """Refuse to go on with rows of another width, or from rows if none is to be stored."""
    if not settings.store_rows and warm.stored_rows != 0:
        raise ValueError(
            "warm_start=True goes on from a model that holds rows of X, or may hold some, which "
            "store_rows=False does not allow. Set warm_start=False to begin anew."
        )
    known = len(warm.standardiser.mean)
    if n_features != known:
        raise ValueError(
            f"warm_start=True continues a fit to {known} features, but X has {n_features}. Set "
            "warm_start=False to begin anew."
        )


def check_warm_method(warm: FittedModel, method: AnyMethod) -> None:
    """What a local fit knows is of no use to another method's inducing points."""
    if CLASSIFICATION[warm.method].looks_up_neighbours and not method.looks_up_neighbours:
        raise ValueError(
            f"warm_start=True continues a fit by method={warm.method!r}, but method is "
            f"{method.name!r} now. Set warm_start=False to begin anew."
        )


class Job(NamedTuple):
    """A fit whose choices are made: what every trainer is given."""

    settings: FitSettings
    fit_plan: FitPlan
    table: Table
    kernel: Kernel  # as the user gave it
    likelihood: Likelihood
    standardiser: Standardiser
    warm: FittedModel | None
    report: Callable[[int], Reporter]  # for so many iterations at most


Trained = tuple[Fitted, Reporter]


def learned_of(job: Job, model: Model) -> Learned:
    """What of the model may move."""
    settings = job.settings
    return Learned(
        settings.learn_kernel,
        settings.learn_inducing,
        settings.learn_noise,
        constraints_of(job.kernel, model.kernel),
    )


def in_precision(model: Model, dtype: np.dtype) -> Model:
    """All parameters in one dtype."""
    return jax.tree.map(lambda parameter: np.asarray(parameter, dtype), model)


def starting_kernel(
    given: Kernel, X: Float[np.ndarray, "N D"], weights: Float[np.ndarray, " N"], ard: bool
) -> Kernel:
    """The user's kernel with a value for every parameter, as the spread of the rows suggests."""
    X, weights = X.astype(np.float64, copy=False), np.maximum(weights, 1e-300)
    return given.prepared(Standardiser.fitted(X, weights).scale, ard)


def enough_of(n_rows: int) -> slice:
    """Rows from all over many, enough to see how far each input spreads."""
    return slice(None, None, max(1, n_rows // _ENOUGH_ROWS))


def starting_points(
    settings: FitSettings,
    standardiser: Standardiser,
    kernel: Kernel,
    X: Float[np.ndarray, "N D"],
    weights: Float[np.ndarray, " N"],
    rng: np.random.RandomState,
    n_rows: int | None = None,
) -> Float[np.ndarray, "M D"]:
    """Where the inducing points start: the user's, brought to X's units, or chosen from X.

    n_rows : how many rows there are if X is only a sample of them.
    """
    if settings.inducing_points is not None:
        return _given_points(settings, standardiser, X)
    # Among many rows there are enough distinct ones, and sorting them would take long.
    whole = len(X) if n_rows is None else n_rows
    distinct = np.unique(X, axis=0) if whole <= _FEW_ROWS else X
    if settings.n_inducing == "auto":
        rows = len(distinct) if n_rows is None else n_rows
        count = min(inducing.automatic_count(rows), len(distinct))
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
            chosen = inducing.choose(settings.inducing_init, kernel, X, weights, count, rng)
        return chosen if settings.store_rows else inducing.displaced(chosen, X, rng)


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
            f"{count} of the inducing_points are rows of X, which store_rows=False does not allow. "
            "Give other points, or leave them out: then they are chosen beside the rows."
        )
    return Z


def with_stored(job: Job, fitted: Fitted, X: np.ndarray) -> Fitted:
    """And how many of its points are rows of X, from which they were chosen."""
    return fitted._replace(stored_rows=n_stored(job.fit_plan.method, fitted.posterior, X))


def n_stored(method: AnyMethod, posterior: Posterior, X: Float[np.ndarray, "N D"]) -> int:
    """How many of the posterior's points are rows; inducing points were chosen among X."""
    points = posterior.points
    return len(points) if method.stores_rows else n_rows_among(points, X)


def n_rows_among(points: Float[np.ndarray, "M D"], X: Float[np.ndarray, "N D"]) -> int:
    """How many of the points are rows of X, to the last digit of the points' dtype."""
    return int(np.count_nonzero(np.isin(_whole(points, points.dtype), _whole(X, points.dtype))))


def _whole(rows: Any, dtype: np.dtype) -> np.ndarray:
    """Each row as one value, so that rows can be looked up."""
    rows = np.ascontiguousarray(rows, dtype) + dtype.type(0.0)  # zero has one sign
    return rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()


# --- q(u) -----------------------------------------------------------------------------------------


def naturals_of(kernel: Kernel, posterior: GaussianPosterior, jitter: float) -> Naturals:
    """The natural parameters of q(v) behind a posterior, v = L⁻¹u.

    The posterior holds w = T u ~ N(mean, diag s); so v = (T L)⁻¹ w.
    """
    Z = posterior.points.astype(np.float64)
    kernel = jax.tree.map(lambda p: np.asarray(p, np.float64), kernel)
    features, _ = project(kernel, Z, Z[:1], np.asarray(jitter))
    L = np.linalg.inv(np.asarray(features.whitener))
    T = posterior.projection.astype(np.float64) @ L
    # 1 - s is held rounded: where the data said nearly everything, s is known to that.
    rounding = float(np.finfo(posterior.shrink.dtype).eps)
    s = np.maximum(1.0 - posterior.shrink.astype(np.float64), rounding)
    return Naturals((T / s[:, None]).T @ T, T.T @ (posterior.mean / s))


def start_of(model: Model, jitter: float, wide: np.dtype, warm: FittedModel | None) -> Start:
    """From the prior, or from what is known."""
    assert model.Z is not None
    base = prior_base(len(model.Z), wide)
    q = base.naturals
    if warm is not None and isinstance(warm.posterior, GaussianPosterior):
        with computing_in(np.dtype(np.float64)):
            found = naturals_of(warm.kernel, warm.posterior, jitter)
            q = Naturals(*(x.astype(wide) for x in found))
    return Start(model, q, base)
