"""The sequence of every fit: check, standardise, choose, start, train, make the posterior.

    settings ──┐                                      ┌── full batch ──┐
    rows ──────┼─► plan ─► standardise ─► encode ─►───┼── minibatches ─┼─► FittedModel
    warm ──────┘                                      ├── rounds ──────┤
                                                      └── neighbours ──┘

Rows in memory, from a stream and on a cluster differ only in their `RowSource`. With method="auto"
and many rows, two fits with different settings go through this sequence, and one of them is kept
(contest.py).
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from sklearn.utils import check_random_state

from ..data.blocks import padded, rounded_up
from ..data.standardise import Standardiser
from ..data.tables import warn_of_constant_columns
from ..data.targets import check_has_order
from ..inference.sites import Rows
from ..kernels import Kernel
from ..local.posterior import LocalPosterior
from ..numerics.precision import computing_in, one_lapack_thread, resolve_dtype, resolve_jitter
from ..training.row_sources import RowsInMemory, RowSource
from ..training.schedule import Plan
from .contest import Contest
from .in_steps import train_by_minibatches, train_in_rounds, train_on_more_rows
from .job import Encoding, FitContext, FittedModel, Job, Trained
from .neighbours import train_neighbourhoods, with_more_rows
from .plan import FitPlan, check_weights, choose_plan, competes
from .settings import CLASSIFICATION, FitSettings
from .start import check_warm, check_warm_method, in_dtype, problem_of, starting_model, with_stored
from .warps import Shape, shape_as_before, warped_units

_UPDATE_BATCH = 8192  # rows of a partial_fit that are processed together
_UPDATE_STEPS = 100
_ENOUGH_TARGETS = 10_000


def fit(
    settings: FitSettings,
    source: RowSource,
    context: FitContext,
    warm: FittedModel | None = None,
    compete: bool = True,
    kernel: Kernel | None = None,
) -> FittedModel:
    """Fit to rows in memory, in files or on a cluster.

    warm : an earlier fit to start from.
    compete : whether methods may be compared if the choice is open.
    kernel : initial kernel in the fit's units, learned from these rows by another method.
    """
    settings = settings.for_classes(source.classes)
    if settings.likelihood == "ordinal" and source.where != "memory":
        assert source.classes is not None
        check_has_order(source.classes)  # rows in memory already have their weights
    if warm is not None:
        check_warm(warm, settings, source.n_features)
    if compete and isinstance(source, RowsInMemory) and competes(settings, source.n_counted):
        return Contest(fit, settings, source, context).winner()
    n_latent = settings.starting_likelihood(source.classes).n_latent
    fit_plan = choose_plan(settings, source.n_rows, source.where, n_latent)
    if warm is not None:
        named = [part for part in warm.members() if part.method == fit_plan.method.name]
        warm = named[0] if named else warm
        check_warm_method(warm, fit_plan.method, n_latent)
    if isinstance(source, RowsInMemory):
        source = _rows_to_train_on(source, fit_plan)
    if source.columns is None:  # otherwise the user was warned, and some features may be constant
        warn_of_constant_columns(source.extremes, source.feature_names)
    encoding = _encoding(settings, source, fit_plan)
    standardiser, shape = _units(settings, source, fit_plan, encoding, warm)
    job = Job(settings, context, source, fit_plan, encoding, standardiser, warm, shape, kernel)
    return job.done_by(_trainer(fit_plan, source.where))


def update(
    settings: FitSettings, source: RowsInMemory, context: FitContext, known: FittedModel
) -> FittedModel:
    """Update an earlier fit with more rows; kernel and inducing points stay fixed."""
    if known.combination is not None:
        parts = [update(settings, source, context, member) for member in known.members()]
        return known.combined(parts)
    standardiser, likelihood = known.standardiser, known.likelihood
    encoding = Encoding(likelihood, likelihood.encoded)
    if isinstance(known.posterior, LocalPosterior):
        rows = source.table(standardiser, encoding.encode).take(np.arange(source.n_rows))
        posterior, evidence = with_more_rows(known.posterior, rows)
        now = replace(known, posterior=posterior, evidence=evidence, classes=source.classes)
        return replace(now, stored_rows=len(posterior.points))
    plan = Plan("natural_gradient", min(source.n_rows, _UPDATE_BATCH), _UPDATE_STEPS)
    fit_plan = FitPlan.after(CLASSIFICATION["sparse_kl"](), plan)
    job = Job(settings, context, source, fit_plan, encoding, standardiser, known)
    found = job.done_by(train_on_more_rows)
    # log p(new, old) = log p(old) + log p(new | old). The last term uses an approximate posterior,
    # so the sum is close to a bound but no longer a bound.
    evidence = found.evidence + known.evidence
    # the points stay fixed
    return replace(found, evidence=evidence, is_bound=False, stored_rows=known.stored_rows)


def _rows_to_train_on(rows: RowsInMemory, fit_plan: FitPlan) -> RowsInMemory:
    """Rows with positive weight; equal rows are merged if that saves work."""
    check_weights(fit_plan.method, rows.weights)
    if fit_plan.plan is not None:  # finding equal rows among many costs more than it saves
        return rows.counted()
    # "whole" weights: each copy of a row has a site of its own
    return rows.repeated() if fit_plan.method.weights == "whole" else rows.merged()


def _units(
    settings: FitSettings,
    source: RowSource,
    fit_plan: FitPlan,
    encoding: Encoding,
    warm: FittedModel | None,
) -> tuple[Standardiser, Shape | None]:
    """The units of the inputs, and their warps."""
    if warm is not None:
        known = warm.standardiser
        return known, shape_as_before(warm.kernel, source, encoding.encode, known)
    standardiser = _standardiser(settings, source, fit_plan)
    return warped_units(settings, source, encoding.encode, standardiser)


def _standardiser(settings: FitSettings, source: RowSource, fit_plan: FitPlan) -> Standardiser:
    if not settings.standardize:
        return Standardiser.identity(source.n_features)
    found = source.spread()
    # the same for any order of summation
    return found.rounded() if fit_plan.in_rounds or source.where == "cluster" else found


def _encoding(settings: FitSettings, source: RowSource, fit_plan: FitPlan) -> Encoding:
    """The initial likelihood, and the targets as it encodes them."""
    likelihood, scaling = settings.starting_likelihood(source.classes), Standardiser.identity(1)
    if likelihood.targets == "classes":
        return Encoding(likelihood, likelihood.encoded)
    y, weights = _some_targets(source, fit_plan)
    if settings.standardize and likelihood.any_scale:
        scaling = Standardiser.fitted(y[:, None], weights)
    mean, scale = float(scaling.mean[0]), float(scaling.scale[0])
    encode = partial(_scaled, scaling)
    likelihood = likelihood.rescaled(scale).prepared(encode(y), weights)
    return Encoding(likelihood, encode, mean, scale)


def _scaled(scaling: Standardiser, targets: np.ndarray) -> np.ndarray:
    return scaling(targets[:, None])[:, 0]


def _some_targets(source: RowSource, fit_plan: FitPlan) -> tuple[np.ndarray, np.ndarray]:
    """Targets and weights of enough rows to see what size targets have.

    Of rows that may be elsewhere, the same wherever they are.
    """
    if isinstance(source, RowsInMemory) and not fit_plan.in_rounds:
        return source.y, source.weights
    numbers = np.unique(np.linspace(0, source.n_rows - 1, _ENOUGH_TARGETS).astype(np.int64))
    table = source.table(Standardiser.identity(source.n_features), lambda targets: targets)
    _, y, weights = table.take(numbers)
    return np.asarray(y, np.float64), np.asarray(weights, np.float64)


def _trainer(fit_plan: FitPlan, where: str) -> Callable[[Job], Trained]:
    if fit_plan.plan is None:
        return train_full_batch
    if fit_plan.method.looks_up_neighbours:
        return train_neighbourhoods
    return train_in_rounds if where == "cluster" or fit_plan.in_rounds else train_by_minibatches


def train_full_batch(job: Job) -> Trained:
    """Make the problem from the rows, and solve it with the plan's trainer."""
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
    size = n_rows if whole else rounded_up(n_rows)  # padded shapes: few programs are compiled
    weights = np.concatenate([weights, np.zeros(size - n_rows, dtype)])
    rows = Rows(padded(X, size), padded(y, size), weights)
    problem = problem_of(job, rows, model, resolve_jitter(settings.jitter, dtype), rng)
    with computing_in(dtype), one_lapack_thread(), job.report() as reporter:
        fitted = job.fit_plan.train(problem, reporter)
    return with_stored(job, fitted, X), reporter
