"""From files to a `TableModel`: read, learn the recipe, fit, score the rows held out.

The rows are read once to see what the columns hold (`survey`). Small tables are then read into
memory; of large ones only the rows held out, and a sample for logistic regression, are ever there,
and the classifier reads the rest as a stream.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from .baselines import Baselines
from .data.hold_out import Lot
from .data.raw_files import RawFiles
from .data.row_checks import check_weights
from .data.sources import Place
from .estimators import GPClassifier
from .exceptions import DataError
from .recipe import Labels, Recipe, RecipeLearner
from .recipe.columns import type_to_learn_from
from .recipe.labels import LabelLearner
from .recipe.numbers import as_numbers
from .scoring import scores
from .table_model import TableModel

MOST_ROWS_IN_MEMORY = 1_000_000
MOST_BYTES_IN_MEMORY = 500_000_000
MOST_HELD_OUT = 100_000
_MOST_SAMPLED = 100_000  # rows for logistic regression, where there are too many for memory
_MOST_NUMBERS = 2**24  # in either of these two, for tables with many columns
_FILES_NAMED = 20  # in the model file
MODEL = "Gaussian process"

Watch = Callable[[str, int], None]  # told what is done and how many rows it has come to


@dataclass(frozen=True)
class Task:
    """What is to be learned from which columns."""

    target: str
    positive: str | None = None
    weight: str | None = None
    features: Sequence[str] | None = None  # None: every column but target and weight
    drop: Sequence[str] = ()
    text: Sequence[str] = ()  # columns of words that look like numbers

    def csv_type(self, guessed: pa.Field) -> pa.DataType:
        """The type to read a CSV's column as, to learn from it."""
        if guessed.name == self.weight:
            return pa.float64()
        if guessed.name == self.target and not pa.types.is_null(guessed.type):
            return guessed.type
        return type_to_learn_from(guessed, guessed.name in self.text)

    def inputs(self, files: RawFiles) -> list[str]:
        """The columns to use, checked against those there are."""
        roles = [name for name in (self.target, self.weight) if name is not None]
        named = [*roles, *(self.features or ()), *self.drop, *self.text]
        files.check_presence(list(dict.fromkeys(named)))
        if self.features is not None and self.target in self.features:
            raise DataError(f"column {self.target!r} is the target and cannot be an input too.")
        wanted = files.schema.names if self.features is None else list(dict.fromkeys(self.features))
        left_out = {*self.drop, *roles}
        return [name for name in wanted if name not in left_out]


class Run(NamedTuple):
    """How a fit goes about it."""

    hold_out: float = 0.1  # this share of the rows, 100,000 at most, is scored, not learned from
    seed: int = 0
    checkpoint: Path | None = None  # where minibatch training keeps itself; a short fit does not
    resume: bool = False
    in_memory: bool | None = None  # whether to read all rows at once; None: if they are few


class Survey(NamedTuple):
    """What one pass over all rows tells."""

    recipe: Recipe
    labels: Labels
    n_rows: int


class _Rows(NamedTuple):
    X: Float[np.ndarray, "N D"]
    y: np.ndarray
    weights: Float[np.ndarray, " N"]

    def chosen(self, which: np.ndarray) -> "_Rows":
        return self if which.all() else _Rows(*(column[which] for column in self))


def survey(files: RawFiles, task: Task, watch: Watch) -> Survey:
    """Learn the recipe and find the two labels."""
    inputs = task.inputs(files)
    learner, labels = RecipeLearner(files.schema, inputs, task.text), LabelLearner(task.target)
    for batch, place in files.batches([*inputs, task.target]):
        labels.add(batch.column(task.target), place)
        learner.add(batch, place)
        watch("looking at the columns", learner.n_rows)
    return Survey(learner.recipe(), labels.labels(task.positive), learner.n_rows)


def fit_files(
    source: Any,
    task: Task,
    classifier: GPClassifier,
    run: Run,
    watch: Watch = lambda doing, rows: None,
) -> TableModel:
    """Fit `classifier` to files of rows and keep what it takes to use them again."""
    files = RawFiles(source, task.csv_type)
    recipe, labels, n_rows = survey(files, task, watch)
    width = len(recipe.feature_names)
    reader = _Reader(files, task, recipe, labels, watch)
    most = _MOST_NUMBERS // width
    held_out_lot = Lot(run.hold_out, run.seed).at_most(min(MOST_HELD_OUT, most), n_rows)
    few = n_rows <= MOST_ROWS_IN_MEMORY and n_rows * width * 8 <= MOST_BYTES_IN_MEMORY
    if few if run.in_memory is None else run.in_memory:
        sample, held_out = reader.parted(Lot(1.0, run.seed), held_out_lot)
        if classifier._way(len(sample.y)).plan is not None:
            classifier.set_params(checkpoint=run.checkpoint, resume=run.resume)
        classifier.fit(sample.X, sample.y, sample_weight=sample.weights)
    else:
        classifier.set_params(checkpoint=run.checkpoint, resume=run.resume)
        # (X, y, weights), a fresh pass at each call
        classifier.fit_stream(lambda: (tuple(rows) for rows in reader.outside(held_out_lot)))
        sample_lot = Lot(1.0, run.seed + 1).at_most(min(_MOST_SAMPLED, most), n_rows)
        sample, held_out = reader.parted(sample_lot, held_out_lot)
    classifier.set_params(checkpoint=None, resume=False, verbose=0)  # of this run, not of the model
    classifier.classes_ = np.array([labels.negative, labels.positive])
    baselines = Baselines.fitted(*sample)
    about = _about(files, run.seed)
    model = TableModel(classifier, recipe, labels, baselines, n_rows - len(held_out.y), about)
    about["hold_out"] = {"rows": len(held_out.y), "scores": compared(model, held_out)}
    return model


def compared(model: TableModel, rows: Any) -> dict[str, dict[str, float | None]]:
    """The scores of the model and of its baselines on rows that have `X` and `y`."""
    if len(rows.y) == 0:
        return {}
    log_p = model.classifier.predict_log_proba(rows.X)
    found = {MODEL: scores(np.exp(log_p[:, 1]), rows.y, log_p)}
    simple = model.baselines.probabilities(rows.X)
    return found | {name: scores(p, rows.y) for name, p in simple.items()}


class _Reader:
    """The rows of files as numbers, those of a lot and those outside."""

    def __init__(
        self, files: RawFiles, task: Task, recipe: Recipe, labels: Labels, watch: Watch
    ) -> None:
        self._files, self._weight = files, task.weight
        self._recipe, self._labels, self._watch = recipe, labels, watch
        roles = [task.target] if task.weight is None else [task.target, task.weight]
        self._names = list(dict.fromkeys([*recipe.names, *roles]))

    def parted(self, sample: Lot, held_out: Lot) -> tuple[_Rows, _Rows]:
        """The rows of `sample` that are not held out, and those that are."""
        parts: tuple[list[_Rows], list[_Rows]] = ([], [])
        for first, rows in self._numbered():
            held = held_out.drawn(first, len(rows.y))
            parts[0].append(rows.chosen(sample.drawn(first, len(rows.y)) & ~held))
            parts[1].append(rows.chosen(held))
        sampled, apart = (_Rows(*map(np.concatenate, zip(*part, strict=True))) for part in parts)
        return sampled, apart

    def outside(self, lot: Lot) -> Iterator[_Rows]:
        """The rows that are not in the lot, piece by piece."""
        for first, rows in self._numbered():
            taken = rows.chosen(~lot.drawn(first, len(rows.y)))
            if len(taken.y):
                yield taken

    def _numbered(self) -> Iterator[tuple[int, _Rows]]:
        first = 0
        for batch, place in self._files.batches(self._names, len(self._recipe.feature_names)):
            X = self._recipe.encode(batch, place)
            y = self._labels.codes(batch.column(self._labels.target), place)
            yield first, _Rows(X, y, self._weights(batch, place))
            first += len(y)
            self._watch("reading", first)

    def _weights(self, batch: pa.RecordBatch, place: Place) -> np.ndarray:
        if self._weight is None:
            return np.ones(batch.num_rows)
        weights = as_numbers(batch.column(self._weight), self._weight, place)
        check_weights(weights, f"column {self._weight!r}", place)
        return weights


def _about(files: RawFiles, seed: int) -> dict[str, Any]:
    import jax

    from . import __version__

    return {
        "files": [path.name for path in files.paths[:_FILES_NAMED]],
        "n_files": len(files.paths),
        "seed": seed,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {"fewknots": __version__, "jax": jax.__version__, "numpy": np.__version__},
    }
