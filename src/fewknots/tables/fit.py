"""From files to a `TableModel`: read, learn the recipe, fit, score the held-out rows.

The rows are read once to find out what the columns hold (reading.py). Small tables are then read
into memory. Of large tables only the held-out rows, and a sample for logistic regression, are read
into memory, and the estimator reads the rest as a stream. On a cluster the workers read it.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..data.blocks import row_slices
from ..data.csv_dialect import CsvOptions
from ..data.row_draw import HashSplit
from ..data.table_files import RawFiles
from ..estimators import GPClassifier, GPRegressor
from ..exceptions import CheckpointWarning, warn
from ..extras import missing
from ..fitting.plan import FitPlan, choose_plan
from ..stopping import TimeLimit, listening
from ..version import __version__
from .judging import JUDGES
from .learned_rows import LearnedRowsCounter
from .model import TableModel
from .reading import (
    NoProgress,
    NumberedRows,
    ReadingProgress,
    Survey,
    TableReader,
    Task,
    joined_rows,
    survey,
)
from .recipe import Labels
from .recipe.number_target import NUMBERS

MOST_ROWS_IN_MEMORY = 1_000_000
MOST_BYTES_IN_MEMORY = 500_000_000
MOST_HELD_OUT = 100_000
_MOST_SAMPLED = 100_000  # rows for logistic regression
_MOST_NUMBERS = 2**24  # in either of these two, for tables with many columns
_MOST_PRODUCTS = 2**26  # in a step of logistic regression, for many columns and classes
_VALIDATION = 0.02  # share of the rows for validation in minibatch training
_PIECES_A_WORKER = 2
_LAST_SCORES = 0.1  # share of the time for scoring the held-out rows
_LEAST_TIME = 0.01  # seconds, for an estimator whose time is over before it begins
_SCORED_AT_ONCE = 4096
_FILES_NAMED = 20  # in the model file
_NO_PROGRESS = NoProgress()
_AS_RECOGNISED = CsvOptions()
Estimator = GPClassifier | GPRegressor


class RunOptions(NamedTuple):
    """Options of a fit that are not about the task."""

    hold_out: float = 0.1  # share of the rows for the last scores, at most about 100,000 rows
    seed: int = 0
    checkpoint: Path | None = None  # folder for the checkpoints of minibatch training
    resume: bool = False
    in_memory: bool | None = None  # whether to read all rows at once; None: if they are few
    cluster: str | None = None  # address of a Dask scheduler
    workers: int | None = None  # or number of Dask workers on this machine
    limit: TimeLimit | None = None  # for the whole run, not only for the estimator

    def for_minibatches(self) -> dict[str, Any]:
        """Arguments of an estimator that trains by minibatches.

        Its validation rows, which decide when to stop, are not the held-out rows: otherwise the
        scores of the held-out rows would look better than they are.
        """
        return {
            "checkpoint": self.checkpoint,
            "resume": self.resume,
            "validation_fraction": _VALIDATION,
        }


def fit_files(
    source: Any,
    task: Task,
    estimators: Estimator | Sequence[Estimator],
    run: RunOptions,
    watch: ReadingProgress = _NO_PROGRESS,
    csv: CsvOptions = _AS_RECOGNISED,
    show: Callable[[RawFiles, Survey], None] | None = None,
) -> TableModel:
    """Fit an estimator to files of rows; the result can predict for such files.

    Everything that does not need the fitted estimator is done before. So when the time is over, or
    after Ctrl-C, only the scores of the held-out rows are missing or incomplete.

    estimators : one, or a classifier and a regressor: the target decides which of them it is
    csv : format of CSV files, where it should not be recognised
    show : called with the survey of the columns, before training begins
    """
    files = RawFiles(source, csv)
    given = estimators if isinstance(estimators, Sequence) else [estimators]
    by_target = {estimator._learns: estimator for estimator in given}
    surveyed = survey(files, task, watch, tuple(by_target))
    if show is not None:
        watch.hide()
        show(files, surveyed)
    recipe, labels, rows_of_files, _ = surveyed
    estimator, judge = by_target[labels.learns], JUDGES[labels.learns]
    n_rows, n_classes = sum(rows_of_files), labels.n_classes
    numbers = labels.learns == NUMBERS
    likelihood = estimator._settings().starting_likelihood(None) if numbers else None
    reader = TableReader(files, task, recipe, labels, watch, likelihood)
    width = reader.width
    most = _MOST_NUMBERS // width
    held_out_split = HashSplit(run.hold_out, run.seed).at_most(min(MOST_HELD_OUT, most), n_rows)
    n_sampled = min(_MOST_SAMPLED, most, _MOST_PRODUCTS // (width * max(1, n_classes)))
    sample_split = HashSplit(1.0, run.seed + 1).at_most(n_sampled, n_rows)
    learned = LearnedRowsCounter.of_rows(n_rows, n_classes)
    on_cluster = run.cluster is not None or run.workers is not None
    few = n_rows <= MOST_ROWS_IN_MEMORY and n_rows * width * 8 <= MOST_BYTES_IN_MEMORY
    in_memory = not on_cluster and (few if run.in_memory is None else run.in_memory)
    where = "memory" if in_memory else "cluster" if on_cluster else "stream"
    _plan(estimator, n_rows, n_classes, where)  # raise errors before any more work
    kept = HashSplit(1.0, run.seed) if in_memory else sample_split
    sample, held_out = reader.sample_and_held_out(kept, held_out_split, learned)
    for_baselines = sample.some(sample_split) if in_memory else sample
    baselines = judge.fitted_baselines(*for_baselines, n_classes)
    if run.limit is not None:  # the time that is left, minus a share for the last scores
        estimator.set_params(max_time=max(_LEAST_TIME, (1.0 - _LAST_SCORES) * run.limit.left()))
    extra = sample.for_absent_classes(n_classes)
    if on_cluster:
        # is sent to the workers
        far = TableReader(files, task, recipe, labels, _NO_PROGRESS, likelihood)
        _fit_on_cluster(estimator, far, rows_of_files, held_out_split, extra, run, watch)
    elif in_memory:
        if _plan(estimator, len(sample.y), n_classes, where).plan is not None:
            estimator.set_params(**run.for_minibatches())
        elif run.resume:
            warn(
                f"a table of {n_rows:,} rows is fitted as a whole, without checkpoints: there is "
                "nothing to resume, so the fit starts again.",
                CheckpointWarning,
            )
        watch.hide()
        rows = joined_rows([sample, extra])
        estimator.fit(rows.X, rows.y, sample_weight=rows.weights)
    else:
        estimator.set_params(**run.for_minibatches())
        # each call starts a new pass over (X, y, weights)
        estimator.fit_stream(lambda: map(tuple, reader.outside(held_out_split, extra)))
    # arguments of this run are not part of the model
    estimator.set_params(
        checkpoint=None, resume=False, validation_fraction=None, verbose=0, max_time=None
    )
    if isinstance(labels, Labels):
        estimator.classes_ = np.array(labels.values)
    about = _about(files, run.seed)
    n_learned = n_rows - len(held_out.y)
    model = TableModel(estimator, recipe, labels, baselines, n_learned, about, learned.learned())
    about["hold_out"] = {
        "rows": len(held_out.y),
        "share": held_out_split.share,
        "seed": held_out_split.seed,
        "digest": learned.prints.digest(held_out.X, held_out.y),
        **compared(model, held_out, run.limit),
    }
    return model


def _plan(estimator: Estimator, n_rows: int, n_classes: int, where: str) -> FitPlan:
    """How the estimator will be trained; an error if it cannot be, for so many classes."""
    classes = np.arange(n_classes) if n_classes else None
    settings = estimator._settings().for_classes(classes)
    n_latent = settings.starting_likelihood(classes).n_latent
    return choose_plan(settings, n_rows, where, n_latent)


def _fit_on_cluster(
    estimator: Estimator,
    reader: TableReader,
    rows_of_files: Sequence[int],
    held_out: HashSplit,
    extra: NumberedRows,
    run: RunOptions,
    watch: ReadingProgress,
) -> None:
    try:
        from ..distributed.connection import connected
        from .dask_arrays import as_arrays
    except ImportError as error:
        what = "fitting on a cluster needs dask and distributed"
        raise ImportError(missing(what, "dask")) from error
    estimator.set_params(checkpoint=run.checkpoint, resume=run.resume)
    with connected(run.cluster, run.workers) as client:
        n_workers = len(client.scheduler_info(n_workers=-1)["workers"])
        n_pieces = _PIECES_A_WORKER * n_workers
        X, y, weights = as_arrays(reader, rows_of_files, held_out, n_pieces, extra)
        watch.hide()
        estimator.fit(X, y, sample_weight=weights)


def compared(
    model: TableModel, rows: NumberedRows, limit: TimeLimit | None = None
) -> dict[str, Any]:
    """Scores of the model and its baselines, and the number of scored rows.

    If the time is over before the end, only some rows are scored; after Ctrl-C none.
    """
    found: list[Any] = []
    done = 0
    with listening() as interruption:
        for some in row_slices(len(rows.y), _SCORED_AT_ONCE):
            if interruption.seen or (found and limit is not None and limit.is_over()):
                break
            found.append(model.judge.seen(model.estimator, rows.X[some], rows.y[some]))
            done = some.stop
    if not found:
        return {"scores": {}, "scored": 0}
    X, y = rows.X[:done], rows.y[:done]
    simple = model.judge.seen_simply(model.baselines, model.estimator, X, y)
    return model.judge.comparison(model.judge.joined(found), y, simple) | {"scored": len(y)}


def _about(files: RawFiles, seed: int) -> dict[str, Any]:
    import jax

    return {
        "files": [path.name for path in files.paths[:_FILES_NAMED]],
        "n_files": len(files.paths),
        "seed": seed,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {"fewknots": __version__, "jax": jax.__version__, "numpy": np.__version__},
    }
