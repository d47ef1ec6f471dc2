"""Preparing training by minibatches or in rounds, for rows in memory, in files or on a cluster.

Both draw a seed and with it a sample of the rows, from which kernel and inducing points start. A
checkpoint contains the seed, so that a resumed run draws the same sample.
"""

import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int
from sklearn.utils import check_random_state

from ..data.row_draw import some_rows
from ..files.header_values import encode_arguments
from ..inference.sites import Rows
from ..numerics.precision import computing_in, one_lapack_thread, resolve_dtype, resolve_jitter
from ..posterior import GaussianPosterior
from ..progress import Reporter
from ..training import checkpoint
from ..training.checkpoint import Checkpoints, Saved, unflattened
from ..training.client_work import client_work
from ..training.feed import ArrayFeed, StoreFeed
from ..training.full_batch import Problem, fit_collapsed
from ..training.parameters import Learned, Model
from ..training.rounds import fit_in_rounds
from ..training.row_sources import Table
from ..training.sampled_rounds import fit_in_sampled_rounds
from ..training.steps import Naturals, base_of, precision_dtype
from ..training.stochastic import Run, Start, fit_stochastic
from ..training.summation import RoundsRun, Summation
from .job import Job, Trained
from .plan import count_points
from .settings import ROUNDS, FitSettings
from .start import in_dtype, naturals_of, problem_of, start_of, starting_model, with_stored

_SAMPLE_ROWS = 10_000  # least rows of the sample for the inputs' spread and the inducing points
_SAMPLE_PER_POINT = 20
_SAMPLE_ITERATIONS = 200  # iterations on the sample before the first round
_MOST_HELD_OUT = 20_000
_WIDE = np.dtype(np.float64)
# Arguments that may change when a run is resumed.
_FREE_TO_CHANGE = frozenset(
    ("max_iter", "max_time", "checkpoint", "resume", "verbose", "callback", "warm_start")
)


# --- minibatches ----------------------------------------------------------------------------------


def train_by_minibatches(job: Job) -> Trained:
    """Train with minibatches."""
    settings, table, plan = job.settings, job.table, job.fit_plan.plan
    assert plan is not None
    assert table.feed is not None
    dtype = resolve_dtype(settings.dtype, minibatches=True)
    drawn = draw(settings, table, dtype, checkpoint.of_minibatches)
    left_out = held_out_rows(settings.validation_fraction, table.n_rows, drawn.rng)
    sample = _sample(job, drawn.rng)
    model = _starting_model(job, sample, drawn, dtype)
    with ExitStack() as stack:
        held_out = in_dtype(table.take(left_out), dtype) if len(left_out) else None
        weight = float(np.mean(sample.weights)) * table.n_rows
        wide = precision_dtype(weight, dtype)
        stack.enter_context(computing_in(wide))
        feed = table.feed(dtype, left_out)
        if isinstance(feed, StoreFeed):
            stack.callback(feed.close)
        jitter = resolve_jitter(settings.jitter, dtype)
        rng = np.random.RandomState(drawn.seed)
        problem = problem_of(job, in_dtype(sample, dtype), model, jitter, rng)
        start = start_of(model, jitter, wide, job.warm)
        reporter = stack.enter_context(job.report())
        plan = plan._replace(warm=job.warm is not None)
        run = Run(plan, feed, start, drawn.seed, held_out, drawn.checkpoints, drawn.saved)
        return with_stored(job, fit_stochastic(run, problem, reporter), sample.X), reporter


def train_on_more_rows(job: Job) -> Trained:
    """Update the posterior with new rows; kernel and inducing points stay fixed.

    The posterior so far is the prior for the new rows (streaming variational Bayes, Broderick et
    al. 2013), so that rows in several calls count as much as rows in one call.
    """
    plan, known = job.fit_plan.plan, job.warm
    assert plan is not None
    assert known is not None
    assert isinstance(known.posterior, GaussianPosterior)
    dtype = np.dtype(known.posterior.points.dtype)
    model = Model(known.kernel, known.posterior.points, job.encoding.likelihood)
    jitter = resolve_jitter(job.settings.jitter, dtype)
    rows = in_dtype(job.table.take(np.arange(job.table.n_rows)), dtype)
    # the sum over all earlier rows is in float64
    with computing_in(_WIDE), job.report() as reporter:
        q = naturals_of(known.kernel, known.posterior, jitter)
        rng, nothing = np.random.RandomState(0), Learned(False, False, False)
        problem = problem_of(job, rows, model, jitter, rng, nothing)
        run = Run(plan, ArrayFeed(rows), Start(model, q, base_of(q)), seed=0)
        return fit_stochastic(run, problem, reporter), reporter


# --- rounds ---------------------------------------------------------------------------------------


def train_in_rounds(job: Job) -> Trained:
    """Train in rounds, each over all rows or over a random part of them.

    First a sample of the rows is fitted in this process, in full batch, so that kernel and inducing
    points are nearly right before the first round. The same sample stands for all rows between
    rounds (training/surrogate.py), so that tens of rounds are enough instead of hundreds. It is
    drawn by row numbers, so it does not depend on how the rows are split; if there are few rows, it
    is all of them.
    """
    settings, table, plan = job.settings, job.table, job.fit_plan.plan
    assert plan is not None
    assert table.summation is not None
    if settings.validation_fraction is not None:
        raise ValueError(
            "validation_fraction is for minibatches, not for training in rounds. Leave it out."
        )
    dtype = resolve_dtype(settings.dtype)
    on_all_rows = plan.optimizer == ROUNDS
    check = checkpoint.of_rounds if on_all_rows else checkpoint.of_sampled_rounds
    drawn = draw(settings, table, dtype, check)
    sample = _sample(job, drawn.rng)
    model = _starting_model(job, sample, drawn, _WIDE)
    jitter = resolve_jitter(settings.jitter, dtype)
    rng = np.random.RandomState(drawn.seed)
    assert model.Z is not None
    n_latent, n_inducing = job.encoding.likelihood.n_latent, len(model.Z)
    work = client_work(table.n_rows, len(sample.y), n_latent, n_inducing)
    wide = in_dtype(sample, _WIDE)
    problem = problem_of(job, _some_of(wide, work.rows, drawn.seed), model, jitter, rng)
    with computing_in(_WIDE), one_lapack_thread():
        summation = table.summation(dtype)
        with job.report() as reporter:
            start = start_of(model, jitter, _WIDE, job.warm)
            if drawn.saved is None and job.warm is None and on_all_rows:
                first = replace(problem, rows=_some_of(wide, work.first_rows, drawn.seed))
                asks = _Silent(reporter, work.evaluations)
                start = _start_from_sample(start, first, summation, asks)
            kept = drawn.checkpoints, drawn.saved
            run = RoundsRun(summation, start, drawn.seed, work.looks, *kept)
            if on_all_rows:
                fitted = fit_in_rounds(run, problem, reporter)
            else:
                fitted = fit_in_sampled_rounds(run, plan, table.n_rows, problem, reporter)
            return with_stored(job, fitted, sample.X), reporter


class _Silent:
    """Lets the fit be stopped but reports nothing: fitting the sample is not an iteration of the
    fit.

    asks : after so many questions whether to stop, it stops the fit itself. (Trainers ask once per
        evaluation, and again during a long one.)
    """

    def __init__(self, reporter: Reporter, asks: int):
        self.reporter, self.asks = reporter, asks

    def __call__(self, bound: float, iterations: int = 1, *, so_far: Any = None) -> bool:
        return self.asks <= 0 or self.reporter.is_asked_to_stop()

    def is_asked_to_stop(self) -> bool:
        self.asks -= 1
        return self.asks < 0 or self.reporter.is_asked_to_stop()


def _some_of(rows: Rows, size: int, seed: int) -> Rows:
    """Some random rows of the sample; all of them if it has no more."""
    chosen = np.sort(some_rows(len(rows.y), size, seed))
    return Rows(*(column[chosen] for column in rows))


def _start_from_sample(
    start: Start, problem: Problem, summation: Summation, report: _Silent
) -> Start:
    """Kernel, inducing points and q fitted to the sample; q is scaled to all rows."""
    rows: Rows = problem.rows
    short = replace(problem, max_iter=_SAMPLE_ITERATIONS)
    fitted = fit_collapsed(short, report)
    factor, mean = np.asarray(fitted.held.q.factor), np.asarray(fitted.held.q.mean)
    precision = np.linalg.inv(factor.mT @ factor)
    times = summation.total_weight / float(np.sum(rows.weights))
    prior = start.base.naturals.precision
    # The sample stands for all rows: its part of the natural parameters is scaled up.
    q = Naturals(prior + times * (precision - prior), times * (precision @ mean[..., None])[..., 0])
    return Start(fitted.model, q, start.base)


# --- what both share ------------------------------------------------------------------------------


class Drawn(NamedTuple):
    """What determines a run in steps or rounds, and where it is saved."""

    seed: int
    rng: np.random.Generator
    saved: Saved | None
    checkpoints: Checkpoints | None


def draw(
    settings: FitSettings, table: Table, dtype: np.dtype, check: Callable[[Saved], None]
) -> Drawn:
    """The seed of a run, its checkpoint to resume from, and its folder."""
    saved = checkpoints = None
    if settings.checkpoint is not None:
        arguments = encode_arguments(settings.arguments)
        known = {k: v for k, v in arguments.items() if k not in _FREE_TO_CHANGE}
        fingerprint = {"data": table.digest(), "rows": table.n_rows, "dtype": dtype.name} | known
        # as it will be read back from a file
        checkpoints = Checkpoints(settings.checkpoint, json.loads(json.dumps(fingerprint)), check)
        saved = checkpoints.latest() if settings.resume else None
    random_state = check_random_state(settings.random_state)
    seed = int(random_state.randint(2**31)) if saved is None else int(saved.header["seed"])
    return Drawn(seed, np.random.default_rng(seed), saved, checkpoints)


def held_out_rows(
    fraction: float | None, n_rows: int, rng: np.random.Generator
) -> Int[np.ndarray, " n"]:
    """The numbers of the held-out rows, in ascending order."""
    if fraction is None:
        return np.zeros(0, np.int64)
    size = min(_MOST_HELD_OUT, max(1, round(fraction * n_rows)))
    return np.sort(rng.choice(n_rows, size, replace=False, shuffle=False))


def _sample(job: Job, rng: np.random.Generator) -> Rows:
    """A sample of rows for the inputs' spread and for choosing inducing points."""
    n_rows = job.table.n_rows
    n_latent, minibatches = job.encoding.likelihood.n_latent, job.fit_plan.by_minibatches
    n_points = count_points(job.settings, n_rows, n_latent, minibatches)
    most = max(_SAMPLE_ROWS, _SAMPLE_PER_POINT * n_points)
    size = min(n_rows, most)
    return job.table.take(np.sort(rng.choice(n_rows, size, replace=False, shuffle=False)))


def _starting_model(job: Job, sample: Rows, drawn: Drawn, dtype: np.dtype) -> Model:
    """The initial model from the sample, or the one of a checkpoint."""
    rng, saved = np.random.RandomState(drawn.seed), drawn.saved
    if saved is None:
        return starting_model(job, sample, rng, dtype, sampled=True)
    model = starting_model(job, sample, rng, dtype, True, saved.header["n_inducing"])
    return unflattened("model", model, saved.arrays)
