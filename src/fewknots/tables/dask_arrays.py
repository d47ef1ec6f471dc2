"""Files of raw columns as Dask arrays of numbers, read by the workers themselves.

The workers must have access to the files, under the same names. Each file is divided into ranges
of rows; a worker reads a range, applies the recipe and drops the held-out rows. The client knows
the size of every range without reading it, since the row number alone decides whether a row is
held out (data/row_draw.py).
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import dask
import dask.array as da
import numpy as np
from numpy.typing import DTypeLike

from ..data.row_draw import HashSplit
from .reading import NumberedRows, TableReader
from .recipe.number_target import NUMBERS

_LEAST_ROWS = 1000  # in a range; fewer rows are not worth a task


class RowRange(NamedTuple):
    """Consecutive rows of one file; `first` is the number of the file's first row in the table."""

    file: int
    first: int
    start: int
    stop: int


def row_ranges(rows_of_files: Sequence[int], wanted: int) -> list[RowRange]:
    """All rows in about `wanted` ranges, each within one file."""
    size = max(_LEAST_ROWS, -(-sum(rows_of_files) // max(1, wanted)))
    found, first = [], 0
    for file, count in enumerate(rows_of_files):
        for start in range(0, count, size):
            found.append(RowRange(file, first, start, min(start + size, count)))
        first += count
    return found


def as_arrays(
    reader: TableReader,
    rows_of_files: Sequence[int],
    held_out: HashSplit,
    wanted: int,
    extra: NumberedRows | None = None,
) -> tuple[Any, Any, Any]:
    """X, targets, and weights of the rows that are not held out, as Dask arrays.

    extra : rows that are at hand, to be added
    """
    columns: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
    types = np.float64, np.float64 if reader.learns == NUMBERS else np.int64, np.float64
    for part in row_ranges(rows_of_files, wanted):
        count = int(np.sum(~_held(held_out, part)))
        rows = dask.delayed(_read, pure=False, nout=3)(reader, part, held_out, types[1])
        shapes = ((count, reader.width), (count,), (count,))
        for column, piece, shape, dtype in zip(columns, rows, shapes, types, strict=True):
            column.append(da.from_delayed(piece, shape, dtype))
    if extra is not None and len(extra.y):
        for column, values in zip(columns, extra, strict=True):
            column.append(da.from_array(values, chunks=values.shape))
    X, y, weights = (da.concatenate(column) for column in columns)
    return X, y, weights


def _held(split: HashSplit, part: RowRange) -> np.ndarray:
    return split.drawn(part.first + part.start, part.stop - part.start)


def _read(
    reader: TableReader, part: RowRange, held_out: HashSplit, target: DTypeLike
) -> tuple[np.ndarray, ...]:
    """Runs on a worker: the training rows of a range."""
    rows = reader.row_range(part.file, part.start, part.stop)
    X, y, weights = rows.chosen(~_held(held_out, part))
    return X, y.astype(target), weights
