"""Training in steps on some of the rows, or in rounds over all of them, wherever they are.

Both draw a seed, and from it a sample of the rows: kernel and inducing points set out from that.
A checkpoint holds the seed, so that a run that is taken up again draws the same.
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

_SAMPLE_ROWS = 10_000  # at least, to see how the inputs spread and choose inducing points from
_SAMPLE_PER_POINT = 20
_SAMPLE_ITERATIONS = 200  # on the sample, before the first round
_MOST_HELD_OUT = 20_000
_WIDE = np.dtype(np.float64)
# What may change when a run is taken up again.
_FREE_TO_CHANGE = frozenset(
    ("max_iter", "max_time", "checkpoint", "resume", "verbose", "callback", "warm_start")
)


# --- minibatches ----------------------------------------------------------------------------------


def train_by_minibatches(job: Job) -> Trained:
    """Some rows at a time."""
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
    """Let new rows inform the posterior; kernel and inducing points stay where they are.

    The posterior so far is the prior of the new rows (streaming variational Bayes, Broderick et al.
    2013), so that rows in instalments count as they would together.
    """
    plan, known = job.fit_plan.plan, job.warm
    assert plan is not None
    assert known is not None
    assert isinstance(known.posterior, GaussianPosterior)
    dtype = np.dtype(known.posterior.points.dtype)
    model = Model(known.kernel, known.posterior.points, job.encoding.likelihood)
    jitter = resolve_jitter(job.settings.jitter, dtype)
    rows = in_dtype(job.table.take(np.arange(job.table.n_rows)), dtype)
    # what all earlier rows have added up to is in float64
    with computing_in(_WIDE), job.report() as reporter:
        q = naturals_of(known.kernel, known.posterior, jitter)
        rng, nothing = np.random.RandomState(0), Learned(False, False, False)
        problem = problem_of(job, rows, model, jitter, rng, nothing)
        run = Run(plan, ArrayFeed(rows), Start(model, q, base_of(q)), seed=0)
        return fit_stochastic(run, problem, reporter), reporter


# --- rounds ---------------------------------------------------------------------------------------


def train_in_rounds(job: Job) -> Trained:
    """All rows in every round, wherever they are, or a part of them.

    A sample of the rows is fitted first, in this process and in full batch: kernel and inducing
    points are then nearly right before the first round. The same sample stands for all rows between
    rounds (training/surrogate.py), which leaves tens of them instead of hundreds. It is drawn by
    row numbers, so that it is the same however the rows are split; where there are few rows, it is
    all of them.
    """
    settings, table, plan = job.settings, job.table, job.fit_plan.plan
    assert plan is not None
    assert table.summation is not None
    if settings.validation_fraction is not None:
        raise ValueError(
            "validation_fraction is for minibatches, and training in rounds has none. Leave it out."
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
    """Listens to whoever may stop the fit, and tells nobody: a start is no moment of the fit.

    asks : how often it may be asked before it stops the fit itself; trainers ask once for each
        evaluation, and again while one takes long.
    """

    def __init__(self, reporter: Reporter, asks: int):
        self.reporter, self.asks = reporter, asks

    def __call__(self, bound: float, iterations: int = 1, *, so_far: Any = None) -> bool:
        return self.asks <= 0 or self.reporter.is_asked_to_stop()

    def is_asked_to_stop(self) -> bool:
        self.asks -= 1
        return self.asks < 0 or self.reporter.is_asked_to_stop()


def _some_of(rows: Rows, size: int, seed: int) -> Rows:
    """Some rows of the sample, drawn at random; all if it has no more."""
    chosen = np.sort(some_rows(len(rows.y), size, seed))
    return Rows(*(column[chosen] for column in rows))


def _start_from_sample(
    start: Start, problem: Problem, summation: Summation, report: _Silent
) -> Start:
    """Kernel, inducing points and q as the sample has them, q as if for all rows."""
    rows: Rows = problem.rows
    short = replace(problem, max_iter=_SAMPLE_ITERATIONS)
    fitted = fit_collapsed(short, report)
    factor, mean = np.asarray(fitted.held.q.factor), np.asarray(fitted.held.q.mean)
    precision = np.linalg.inv(factor.mT @ factor)
    times = summation.total_weight / float(np.sum(rows.weights))
    prior = start.base.naturals.precision
    # The sample's rows stand for all: what they say counts that many times.
    q = Naturals(prior + times * (precision - prior), times * (precision @ mean[..., None])[..., 0])
    return Start(fitted.model, q, start.base)


# --- what they share ------------------------------------------------------------------------------


class Drawn(NamedTuple):
    """What a run in steps or rounds is a function of, and where it is kept."""

    seed: int
    rng: np.random.Generator
    saved: Saved | None
    checkpoints: Checkpoints | None


def draw(
    settings: FitSettings, table: Table, dtype: np.dtype, check: Callable[[Saved], None]
) -> Drawn:
    """The seed of a run, an earlier part of it to go on from, and where it is kept."""
    saved = checkpoints = None
    if settings.checkpoint is not None:
        arguments = encode_arguments(settings.arguments)
        known = {k: v for k, v in arguments.items() if k not in _FREE_TO_CHANGE}
        fingerprint = {"data": table.digest(), "rows": table.n_rows, "dtype": dtype.name} | known
        # as it will come back from a file
        checkpoints = Checkpoints(settings.checkpoint, json.loads(json.dumps(fingerprint)), check)
        saved = checkpoints.latest() if settings.resume else None
    random_state = check_random_state(settings.random_state)
    seed = int(random_state.randint(2**31)) if saved is None else int(saved.header["seed"])
    return Drawn(seed, np.random.default_rng(seed), saved, checkpoints)


def held_out_rows(
    fraction: float | None, n_rows: int, rng: np.random.Generator
) -> Int[np.ndarray, " n"]:
    """The numbers of the rows kept apart, in ascending order."""
    if fraction is None:
        return np.zeros(0, np.int64)
    size = min(_MOST_HELD_OUT, max(1, round(fraction * n_rows)))
    return np.sort(rng.choice(n_rows, size, replace=False, shuffle=False))


def _sample(job: Job, rng: np.random.Generator) -> Rows:
    """Enough rows to see how the inputs spread and to choose inducing points from."""
    n_rows = job.table.n_rows
    n_latent, minibatches = job.encoding.likelihood.n_latent, job.fit_plan.by_minibatches
    n_points = count_points(job.settings, n_rows, n_latent, minibatches)
    most = max(_SAMPLE_ROWS, _SAMPLE_PER_POINT * n_points)
    size = min(n_rows, most)
    return job.table.take(np.sort(rng.choice(n_rows, size, replace=False, shuffle=False)))


def _starting_model(job: Job, sample: Rows, drawn: Drawn, dtype: np.dtype) -> Model:
    """As the sample suggests, or as a checkpoint has it."""
    rng, saved = np.random.RandomState(drawn.seed), drawn.saved
    if saved is None:
        return starting_model(job, sample, rng, dtype, sampled=True)
    model = starting_model(job, sample, rng, dtype, True, saved.header["n_inducing"])
    return unflattened("model", model, saved.arrays)
