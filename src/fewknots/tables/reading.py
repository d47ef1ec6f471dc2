"""Reads files of raw columns: one pass over all rows, then the rows as numbers.

The pass before training (`survey`) learns the kinds of the columns, the labels and the number of
rows. With that a `TableReader` gives rows as numbers: those inside or outside a split, or a range
in one file.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from ..data.row_checks import check_weights, not_a, refuse
from ..data.row_draw import HashSplit
from ..data.sources import Place
from ..data.table_files import RawFiles
from ..exceptions import DataError
from ..likelihoods import Likelihood
from ..likelihoods.base import StrangeNumberError
from .learned_rows import LearnedRowsCounter
from .recipe import Recipe, RecipeLearner
from .recipe.arrow_numbers import as_numbers
from .recipe.columns import CHOICES
from .recipe.number_target import CLASSES, Target, TargetLearner
from .recipe.profile import AS_SAID, SKIPPED, ColumnProfile

SKIP = "skip"
KINDS = (*CHOICES, SKIP)


@runtime_checkable
class ReadingProgress(Protocol):
    """Receives the progress of reading."""

    def __call__(self, doing: str, rows: int) -> None:
        """`doing` names the work, `rows` is the number of rows so far."""

    def hide(self) -> None:
        """Stop displaying: training begins, which has a display of its own."""


class NoProgress:
    """Displays nothing."""

    def __call__(self, doing: str, rows: int) -> None:
        pass

    def hide(self) -> None:
        pass


@dataclass(frozen=True)
class Task:
    """What to learn, and from which columns."""

    target: str
    positive: str | None = None
    weight: str | None = None
    features: Sequence[str] | None = None  # None: all columns except target and weight
    drop: Sequence[str] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)  # text, number, date, skip

    def inputs(self, files: RawFiles) -> list[str]:
        """The columns to use; an error if the files do not have them."""
        roles = [name for name in (self.target, self.weight) if name is not None]
        named = [*roles, *(self.features or ()), *self.drop, *self.kinds]
        files.check_presence(list(dict.fromkeys(named)))
        if self.features is not None and self.target in self.features:
            raise DataError(f"column {self.target!r} is the target and cannot be an input too.")
        for name in roles:
            if name in self.kinds:
                role = "target" if name == self.target else "weight"
                raise DataError(
                    f"column {name!r} is the {role}, not an input: leave it out of --column."
                )
        wanted = files.schema.names if self.features is None else list(dict.fromkeys(self.features))
        left_out = {*self.skipped, *roles}
        return [name for name in wanted if name not in left_out]

    @property
    def skipped(self) -> tuple[str, ...]:
        """The columns that the user excludes."""
        skipped = (name for name, kind in self.kinds.items() if kind == SKIP)
        return tuple(dict.fromkeys((*self.drop, *skipped)))


class Survey(NamedTuple):
    """The result of one pass over all rows."""

    recipe: Recipe
    labels: Target
    rows_of_files: tuple[int, ...]
    columns: tuple[ColumnProfile, ...]  # in the order of the table


def survey(
    files: RawFiles, task: Task, watch: ReadingProgress, learns: tuple[str, ...] = (CLASSES,)
) -> Survey:
    """Learn the recipe and find the labels, or that the target is a number.

    learns : which of "classes" and "numbers" the target may be
    """
    inputs = task.inputs(files)
    learner = RecipeLearner(files.schema, inputs, task.kinds, bool(files.dialects))
    labels = TargetLearner(task.target, learns)
    counts = dict.fromkeys(map(str, files.paths), 0)
    for batch, place in files.batches([*inputs, task.target]):
        counts[place.name] += batch.num_rows
        codes = labels.add(batch.column(task.target), place)
        learner.add(batch, place, codes)
        watch("looking at the columns", learner.n_rows)
    recipe, found = learner.recipe(), labels.found(task.positive)
    profiles = [labels.profile(), *learner.profiles()]
    profiles += [ColumnProfile(name, SKIPPED, "", 0, (AS_SAID,)) for name in task.skipped]
    if task.weight is not None:
        profiles.append(ColumnProfile(task.weight, "weight", "", 0))
    order = {name: number for number, name in enumerate(files.schema.names)}
    profiles.sort(key=lambda profile: order[profile.name])
    return Survey(recipe, found, tuple(counts.values()), tuple(profiles))


class NumberedRows(NamedTuple):
    """Inputs, numbers of labels (or numbers to learn), and weights."""

    X: Float[np.ndarray, "N D"]
    y: np.ndarray
    weights: Float[np.ndarray, " N"]

    def chosen(self, which: np.ndarray) -> "NumberedRows":
        """Only these rows."""
        return self if which.all() else NumberedRows(*(column[which] for column in self))

    def for_absent_classes(self, n_classes: int) -> "NumberedRows":
        """If there are more than two classes, a row of weight 0 for each class without rows here.

        So the classifier knows a class whose only rows are held out, and gives it a probability.
        Two classes both need rows; otherwise the classifier raises an error.
        """
        absent = np.setdiff1d(np.arange(n_classes), self.y)[: n_classes if n_classes > 2 else 0]
        absent = absent.astype(self.y.dtype)
        X = np.repeat(self.X[:1], len(absent), axis=0)
        return NumberedRows(X, absent, np.zeros(len(absent)))

    def some(self, split: HashSplit) -> "NumberedRows":
        """The rows of a split, by their number here."""
        return self.chosen(split.drawn(0, len(self.y)))


class TableReader:
    """Applies a recipe to files while they are read."""

    def __init__(
        self,
        files: RawFiles,
        task: Task,
        recipe: Recipe,
        labels: Target,
        watch: ReadingProgress,
        likelihood: Likelihood | None = None,
    ) -> None:
        """`likelihood` : for numbers; raise an error for a number that has no probability under
        it.
        """
        self._files, self._weight, self._likelihood = files, task.weight, likelihood
        self._recipe, self._labels, self._watch = recipe, labels, watch
        roles = [task.target] if task.weight is None else [task.target, task.weight]
        self._names = list(dict.fromkeys([*recipe.names, *roles]))

    @property
    def width(self) -> int:
        """The number of features of a row."""
        return len(self._recipe.feature_names)

    @property
    def learns(self) -> str:
        """What targets are: "classes" or "numbers"."""
        return self._labels.learns

    def sample_and_held_out(
        self, sample: HashSplit, held_out: HashSplit, learned: LearnedRowsCounter
    ) -> tuple[NumberedRows, NumberedRows]:
        """The rows of `sample` that are not held out, and the held-out rows.

        All rows that are not held out are added to `learned`.
        """
        parts: tuple[list[NumberedRows], list[NumberedRows]] = ([], [])
        for first, rows in self._numbered():
            held = held_out.drawn(first, len(rows.y))
            parts[0].append(rows.chosen(sample.drawn(first, len(rows.y)) & ~held))
            parts[1].append(rows.chosen(held))
            outside = rows.chosen(~held)
            learned.add(outside.X, outside.y)
        sampled, apart = map(joined_rows, parts)
        return sampled, apart

    def outside(
        self, split: HashSplit, extra: NumberedRows | None = None
    ) -> Iterator[NumberedRows]:
        """The rows that are not in the split, piece by piece, and some extra ones."""
        for first, rows in self._numbered():
            taken = rows.chosen(~split.drawn(first, len(rows.y)))
            if len(taken.y):
                yield taken
        if extra is not None and len(extra.y):
            yield extra
        self._watch.hide()

    def row_range(self, file: int, start: int, stop: int) -> NumberedRows:
        """The rows from `start` to `stop` of one of the files."""
        found = []
        for batch, place in self._files.batches_of(file, self._names, self.width):
            first, last = place.first_row, place.first_row + batch.num_rows
            if last > start:
                begin = max(start, first)
                piece = batch.slice(begin - first, min(stop, last) - begin)
                found.append(self._rows(piece, place.row(begin - first)))
            if last >= stop:
                break
        return joined_rows(found)

    def _numbered(self) -> Iterator[tuple[int, NumberedRows]]:
        first = 0
        for batch, place in self._files.batches(self._names, self.width):
            rows = self._rows(batch, place)
            yield first, rows
            first += len(rows.y)
            self._watch("reading", first)

    def _rows(self, batch: pa.RecordBatch, place: Place) -> NumberedRows:
        X = self._recipe.encode(batch, place)
        y = self._labels.codes(batch.column(self._labels.target), place)
        if self._likelihood is not None:
            try:
                self._likelihood.encoded(y)
            except StrangeNumberError as error:
                where = f"{place.row(error.row)}: column {self._labels.target!r}"
                raise DataError(f"{where} {error.reason}") from None
        return NumberedRows(X, y, self._weights(batch, place))

    def _weights(self, batch: pa.RecordBatch, place: Place) -> np.ndarray:
        if self._weight is None:
            return np.ones(batch.num_rows)
        weights, unreadable = as_numbers(batch.column(self._weight), self._weight, place)
        if unreadable.any():
            refuse(not_a("number", batch.column(self._weight), self._weight, unreadable), place)
        check_weights(weights, f"column {self._weight!r}", place)
        return weights


def joined_rows(parts: list[NumberedRows]) -> NumberedRows:
    """All rows of the parts."""
    return NumberedRows(*map(np.concatenate, zip(*parts, strict=True)))
