"""The rows of files as numbers: inside or outside a split, or a range in one file."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from ..data.row_checks import check_weights
from ..data.row_draw import HashSplit
from ..data.sources import Place
from ..data.table_files import RawFiles
from .learned_rows import LearnedRowsCounter
from .recipe import Labels, Recipe
from .recipe.numbers import as_numbers
from .recipe.reasons import not_a, refuse
from .survey import ReadingProgress, Task


class NumberedRows(NamedTuple):
    """Inputs, labels 0 and 1, and weights."""

    X: Float[np.ndarray, "N D"]
    y: np.ndarray
    weights: Float[np.ndarray, " N"]

    def chosen(self, which: np.ndarray) -> "NumberedRows":
        """Only these rows."""
        return self if which.all() else NumberedRows(*(column[which] for column in self))

    def some(self, split: HashSplit) -> "NumberedRows":
        """The rows of a split, by their number here."""
        return self.chosen(split.drawn(0, len(self.y)))


class TableReader:
    """Applies a recipe to files while they are read."""

    def __init__(
        self, files: RawFiles, task: Task, recipe: Recipe, labels: Labels, watch: ReadingProgress
    ) -> None:
        self._files, self._weight = files, task.weight
        self._recipe, self._labels, self._watch = recipe, labels, watch
        roles = [task.target] if task.weight is None else [task.target, task.weight]
        self._names = list(dict.fromkeys([*recipe.names, *roles]))

    @property
    def width(self) -> int:
        """The number of features of a row."""
        return len(self._recipe.feature_names)

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
        sampled, apart = map(_joined, parts)
        return sampled, apart

    def outside(self, split: HashSplit) -> Iterator[NumberedRows]:
        """The rows that are not in the split, piece by piece."""
        for first, rows in self._numbered():
            taken = rows.chosen(~split.drawn(first, len(rows.y)))
            if len(taken.y):
                yield taken
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
        return _joined(found)

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
        return NumberedRows(X, y, self._weights(batch, place))

    def _weights(self, batch: pa.RecordBatch, place: Place) -> np.ndarray:
        if self._weight is None:
            return np.ones(batch.num_rows)
        weights, unreadable = as_numbers(batch.column(self._weight), self._weight, place)
        if unreadable.any():
            refuse(not_a("number", batch.column(self._weight), self._weight, unreadable), place)
        check_weights(weights, f"column {self._weight!r}", place)
        return weights


def _joined(parts: list[NumberedRows]) -> NumberedRows:
    return NumberedRows(*map(np.concatenate, zip(*parts, strict=True)))
