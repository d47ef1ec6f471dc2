"""Fits by minibatches: rows in memory, from a stream, or in instalments. Order and manners only.

Whatever the rows come from, a fit goes the same way: standardise, draw a sample, choose inducing
points from it, set out from the prior (or from what was learned before), train.
"""

import hashlib
import json
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float, Int
from sklearn.utils import check_random_state

from ..data.spool import Spool
from ..data.standardise import Standardiser
from ..files.header_values import encode_arguments
from ..inference.features import project
from ..inference.sites import Rows
from ..kernels import Kernel, as_kernel
from ..likelihoods import Likelihood
from ..local.method import Local
from ..numerics.precision import computing_in, resolve_dtype, resolve_jitter
from ..optimize.lbfgsb import maximise
from ..posterior import GaussianPosterior, MixturePosterior
from ..progress import Reporter
from ..training import feed as feeds
from ..training import saved_form
from ..training.checkpoint import Checkpoints, unflattened
from ..training.constraints import constraints_of
from ..training.feed import ArrayFeed, Feed, StoreFeed
from ..training.full_batch import Fitted, Problem
from ..training.parameters import Learned, Model
from ..training.saved_form import Saved
from ..training.steps import Naturals, base_of, precision_dtype, prior_base
from ..training.stochastic import Run, Start, fit_stochastic
from ..training.summation import MemorySums, Summation
from .methods import FitPlan
from .stored_rows import n_stored

_SAMPLE_ROWS = 10_000  # at least, to see how the inputs spread and choose inducing points from
_SAMPLE_PER_POINT = 20
_MOST_HELD_OUT = 20_000
# What may change when a run is taken up again.
_FREE_TO_CHANGE = frozenset(
    ("max_iter", "max_time", "checkpoint", "resume", "verbose", "callback", "warm_start")
)


class Table(NamedTuple):
    """The rows of a fit, wherever they are: how many, how to get some, how to train on all."""

    n_rows: int
    digest: Callable[[], str]  # the same for the same rows, and for no others
    take: Callable[[Int[np.ndarray, " n"]], Rows]  # standardised, in float64
    feed: Callable[[np.dtype, Int[np.ndarray, " H"]], Feed] | None  # (dtype, rows to leave out)
    summation: Callable[[np.dtype], Summation] | None = None  # for training in rounds


class _Arrays(NamedTuple):
    """Arrays as a store of rows."""

    X: Float[np.ndarray, "N D"]
    y: Float[np.ndarray, " N"]
    weights: Float[np.ndarray, " N"]

    @property
    def n_rows(self) -> int:
        return len(self.y)

    @property
    def n_features(self) -> int:
        return self.X.shape[1]

    def take(self, rows: Int[np.ndarray, " n"]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.X[rows], self.y[rows], self.weights[rows]


def table_in_memory(
    X: Float[np.ndarray, "N D"],
    y: Float[np.ndarray, " N"],
    weights: Float[np.ndarray, " N"],
    standardiser: Standardiser,
) -> Table:
    """Rows that are at hand."""

    def take(numbers):
        return Rows(standardiser(X[numbers]), y[numbers], weights[numbers])

    def feed(dtype, left_out):
        kept = np.ones(len(X), bool)
        kept[left_out] = False
        inputs = standardiser.rows(X, np.flatnonzero(kept), dtype)
        rows = Rows(inputs, y[kept].astype(dtype), weights[kept].astype(dtype))
        if feeds.fits_on_device(rows.X.nbytes):
            return ArrayFeed(rows)
        return StoreFeed(_Arrays(*rows), Rows, np.zeros(0, np.int64), float(np.sum(weights[kept])))

    def digest():
        seal = hashlib.blake2b(digest_size=16)
        for column in (X, y, weights):
            seal.update(np.ascontiguousarray(column).data)
        return seal.hexdigest()

    def summation(dtype):
        return MemorySums(Rows(standardiser(X), y, weights), dtype)

    return Table(len(X), digest, take, feed, summation)


def table_on_disk(
    spool: Spool,
    factors: Float[np.ndarray, " 2"],
    standardiser: Standardiser,
    encoded: Callable[[np.ndarray], np.ndarray],
) -> Table:
    """Rows in a scratch file: codes as the likelihood encodes them, weights times their factor."""

    def prepared(dtype):
        def prepare(X, codes, weights):
            weights = weights * factors[codes]
            columns = standardiser(X.astype(np.float64, copy=False)), encoded(codes), weights
            return Rows(*(column.astype(dtype) for column in columns))

        return prepare

    def take(numbers):
        return prepared(np.dtype(np.float64))(*spool.take(numbers))

    def feed(dtype, left_out):
        total = float(factors @ spool.class_totals) - float(np.sum(take(left_out).weights))
        return StoreFeed(spool, prepared(dtype), left_out, total)

    return Table(spool.n_rows, lambda: spool.digest, take, feed)


class Warm(NamedTuple):
    """What an earlier fit knows."""

    kernel: Kernel
    posterior: GaussianPosterior | MixturePosterior
    standardiser: Standardiser


def check_same_width(warm: Warm, n_features: int) -> None:
    """New rows must have the columns of those before."""
    known = len(warm.standardiser.mean)
    if n_features != known:
        raise ValueError(
            f"warm_start=True continues a fit to {known} features, but X has {n_features}. Set "
            "warm_start=False to begin anew."
        )


def fit_table(
    estimator: Any, table: Table, fit_plan: FitPlan, likelihood: Likelihood, warm: Warm | None
) -> tuple[Fitted, Reporter]:
    """Train `estimator`'s model on a table; (what was found, who reported)."""
    plan = fit_plan.plan
    assert plan is not None
    assert table.feed is not None
    assert not isinstance(fit_plan.method, Local)
    dtype = resolve_dtype(estimator.dtype, minibatches=True)
    saved, checkpoints = checkpoints_of(estimator, table, dtype, saved_form.of_minibatches)
    random_state = check_random_state(estimator.random_state)
    seed = int(random_state.randint(2**31)) if saved is None else int(saved.header["seed"])
    rng = np.random.default_rng(seed)
    left_out = held_out_rows(estimator.validation_fraction, table.n_rows, rng)
    sample = drawn_sample(estimator, table, rng)
    model = starting_model(estimator, table, sample, likelihood, saved, warm, seed, dtype)
    with ExitStack() as stack:
        held_out = cast(table.take(left_out), dtype) if len(left_out) else None
        weight = float(np.mean(sample.weights)) * table.n_rows
        wide = precision_dtype(weight, dtype)
        stack.enter_context(computing_in(wide))
        feed = table.feed(dtype, left_out)
        if isinstance(feed, StoreFeed):
            stack.callback(feed.close)
        learned = learned_of(estimator, model)
        jitter = resolve_jitter(estimator.jitter, dtype)
        problem = problem_of(estimator, fit_plan, cast(sample, dtype), model, learned, jitter, seed)
        start = start_of(model, problem.jitter, wide, warm)
        reporter = stack.enter_context(estimator._reporter(fit_plan, plan.steps))
        plan = plan._replace(warm=warm is not None)
        run = Run(plan, feed, start, seed, held_out, checkpoints, saved)
        fitted = fit_stochastic(run, problem, reporter)
        stored = n_stored(fit_plan.method, fitted.posterior, sample.X)
        return fitted._replace(stored_rows=stored), reporter


def update(
    estimator: Any, rows: Rows, warm: Warm, fit_plan: FitPlan, likelihood: Likelihood
) -> tuple[Fitted, Reporter]:
    """Let new rows inform the posterior; kernel and inducing points stay where they are.

    The posterior so far is the prior of the new rows (streaming variational Bayes, Broderick et al.
    2013), so that rows in instalments count as they would together.
    """
    plan = fit_plan.plan
    assert plan is not None
    assert not isinstance(fit_plan.method, Local)
    dtype = np.dtype(warm.posterior.points.dtype)
    wide = np.dtype(np.float64)  # what all earlier rows have added up to is in this precision
    model = Model(warm.kernel, warm.posterior.points, likelihood)
    jitter = resolve_jitter(estimator.jitter, dtype)
    with computing_in(wide), estimator._reporter(fit_plan, plan.steps) as reporter:
        q = naturals_of(warm, jitter)
        nothing = Learned(False, False, False)
        problem = problem_of(estimator, fit_plan, cast(rows, dtype), model, nothing, jitter, 0)
        feed = ArrayFeed(problem.rows)
        run = Run(plan, feed, Start(model, q, base_of(q)), seed=0)
        return fit_stochastic(run, problem, reporter), reporter


def learned_of(estimator: Any, model: Model) -> Learned:
    """What of the model training in steps or rounds may move."""
    constraints = constraints_of(as_kernel(estimator.kernel), model.kernel)
    of_likelihood = bool(getattr(estimator, "learn_noise", True))
    return Learned(
        bool(estimator.learn_kernel), bool(estimator.learn_inducing), of_likelihood, constraints
    )


def problem_of(
    estimator: Any,
    fit_plan: FitPlan,
    rows: Rows,
    model: Model,
    learned: Learned,
    jitter: float,
    seed: int,
) -> Problem:
    """What training in steps or rounds is to do; `rows` are a sample, or all."""
    assert fit_plan.plan is not None
    assert not isinstance(fit_plan.method, Local)
    return Problem(
        rows=rows,
        model=model,
        learned=learned,
        method=fit_plan.method,
        maximise=maximise,
        jitter=jitter,
        max_iter=fit_plan.plan.steps,
        tol=float(estimator.tol),
        rng=np.random.RandomState(seed),
        off_rows=not estimator.store_rows,
    )


def naturals_of(warm: Warm, jitter: float) -> Naturals:
    """The natural parameters of q(v) behind a posterior, v = L⁻¹u.

    The posterior holds w = T u ~ N(mean, diag s); so v = (T L)⁻¹ w.
    """
    posterior = warm.posterior
    assert isinstance(posterior, GaussianPosterior)
    Z = posterior.points.astype(np.float64)
    kernel = jax.tree.map(lambda p: np.asarray(p, np.float64), warm.kernel)
    features, _ = project(kernel, Z, Z[:1], np.asarray(jitter))
    L = np.linalg.inv(np.asarray(features.whitener))
    T = posterior.projection.astype(np.float64) @ L
    # 1 - s is held rounded: where the data said nearly everything, s is known to that.
    rounding = float(np.finfo(posterior.shrink.dtype).eps)
    s = np.maximum(1.0 - posterior.shrink.astype(np.float64), rounding)[..., None]
    return Naturals((T / s).mT @ T, (T.mT @ (posterior.mean[..., None] / s))[..., 0])


def start_of(model: Model, jitter: float, wide: np.dtype, warm: Warm | None) -> Start:
    """From the prior, or from what is known."""
    assert model.Z is not None
    base = prior_base(len(model.Z), wide, model.likelihood.n_latent)
    q = base.naturals
    if warm is not None and isinstance(warm.posterior, GaussianPosterior):
        with computing_in(np.dtype(np.float64)):
            q = Naturals(*(x.astype(wide) for x in naturals_of(warm, jitter)))
    return Start(model, q, base)


def drawn_sample(estimator: Any, table: Table, rng: np.random.Generator) -> Rows:
    """Enough rows to see how the inputs spread and to choose inducing points from."""
    most = max(_SAMPLE_ROWS, _SAMPLE_PER_POINT * estimator._count_points(table.n_rows))
    size = min(table.n_rows, most)
    return table.take(np.sort(rng.choice(table.n_rows, size, replace=False, shuffle=False)))


def starting_model(
    estimator, table: Table, sample: Rows, likelihood, saved: Saved | None, warm, seed: int, dtype
) -> Model:
    """Kernel and inducing points as the sample suggests, or as they are known."""
    kernel = as_kernel(estimator.kernel, getattr(estimator, "feature_names_in_", None))
    if warm is not None:
        model = Model(warm.kernel, warm.posterior.points, likelihood)
    else:
        spread = Standardiser.fitted(sample.X, np.maximum(sample.weights, 1e-300)).scale
        kernel = kernel.prepared(spread, estimator.ard)
        if saved is not None:
            n_inducing = saved.header["n_inducing"]
            Z = np.zeros((n_inducing, sample.X.shape[1]))
        else:
            random_state = np.random.RandomState(seed)
            Z = estimator._starting_points(
                kernel, sample.X, sample.weights, random_state, table.n_rows
            )
        model = Model(kernel, Z, likelihood)
    model = jax.tree.map(lambda parameter: np.asarray(parameter, dtype), model)
    return model if saved is None else unflattened("model", model, saved.arrays)


def held_out_rows(fraction: float | None, n_rows: int, rng: np.random.Generator) -> np.ndarray:
    """The numbers of the rows kept apart, in ascending order."""
    if fraction is None:
        return np.zeros(0, np.int64)
    size = min(_MOST_HELD_OUT, max(1, round(fraction * n_rows)))
    return np.sort(rng.choice(n_rows, size, replace=False, shuffle=False))


def cast(rows: Rows, dtype: np.dtype) -> Rows:
    """Rows in another precision."""
    return Rows(*(column.astype(dtype) for column in rows))


def checkpoints_of(
    estimator: Any, table: Table, dtype: np.dtype, check: Callable[[Saved], None]
) -> tuple[Saved | None, Checkpoints | None]:
    """What an earlier run left to go on from, and where this one is kept."""
    if estimator.checkpoint is None:
        return None, None
    arguments = encode_arguments(estimator.get_params(deep=False))
    settings = {k: v for k, v in arguments.items() if k not in _FREE_TO_CHANGE}
    fingerprint = {"data": table.digest(), "rows": table.n_rows, "dtype": dtype.name} | settings
    # as it will come back from a file
    checkpoints = Checkpoints(estimator.checkpoint, json.loads(json.dumps(fingerprint)), check)
    return (checkpoints.latest() if estimator.resume else None), checkpoints
