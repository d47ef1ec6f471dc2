"""Rows of a 2-D array, in memory, mapped, or in a .npy file.

A .npy file is read piece by piece with ordinary reads. Mapping it would be simpler, but the pages
of a mapped file count as memory of the process, and a long pass would seem to need all of it. (An
np.memmap from the caller is used as it is.)
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..exceptions import DataError
from .blocks import row_slices
from .row_checks import check_features, check_labels, check_weights
from .sources import ROWS_IN_A_BLOCK, Block, Place

_NUMBERS = "biuf"  # numpy's letters for bool, integers and floats


class NpyFile:
    """A .npy file whose rows can be sliced like those of an array."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        try:
            # Mapped only so that numpy parses the header and checks the length of the file.
            mapped = np.load(self.path, mmap_mode="r")
        except (ValueError, EOFError) as error:
            raise DataError(
                f"{path} cannot be read: it is empty, cut off or not an array of plain values "
                f"({error})."
            ) from error
        self.shape: tuple[int, ...] = mapped.shape
        self.dtype: np.dtype = mapped.dtype
        self._start: int = mapped.offset
        self._by_column = mapped.ndim == 2 and not mapped.flags.c_contiguous

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __getitem__(self, rows: slice) -> np.ndarray:
        if self._by_column:
            starts = range(rows.start, rows.start + self.shape[0] * self.shape[1], self.shape[0])
            return np.column_stack([self._read(s, rows.stop - rows.start, rows) for s in starts])
        width = int(np.prod(self.shape[1:]))
        count = (rows.stop - rows.start) * width
        return self._read(rows.start * width, count, rows).reshape(-1, *self.shape[1:])

    def _read(self, first: int, count: int, rows: slice) -> np.ndarray:
        offset = self._start + first * self.dtype.itemsize
        values = np.fromfile(self.path, self.dtype, count, offset=offset)
        if len(values) < count:
            raise DataError(
                f"{self.path} cannot be read from row {rows.start} on: it was cut off while it "
                "was being read."
            )
        return values


class ArraySource:
    """A source of rows from one array; labels and weights are columns of it, or separate arrays."""

    feature_names: tuple[str, ...] | None = None

    def __init__(
        self, source: Any, target: Any, features: Sequence[Any] | None, weight: Any
    ) -> None:
        self._table = source if isinstance(source, np.ndarray) else NpyFile(source)
        self._name = str(self._table.path) if isinstance(self._table, NpyFile) else "the array"
        if self._table.ndim != 2:
            raise DataError(f"{self._name} has {self._table.ndim} dimensions: expected 2.")
        if self._table.dtype.kind not in _NUMBERS:
            raise DataError(
                f"{self._name} holds {self._table.dtype}, not numbers. Encode text as numbers "
                "first; pass text labels separately, as target=."
            )
        n_rows: int = self._table.shape[0]
        self._width: int = self._table.shape[1]
        if n_rows == 0:
            raise DataError(f"there are no rows in {self._name}.")
        self.n_rows: int | None = n_rows
        self._target = self._column(target, "target")
        self._weight = self._column(weight, "weight")
        taken = [role for role in (self._target, self._weight) if isinstance(role, int)]
        self._features = self._chosen(features, taken)
        self.n_features: int = len(self._features)
        self.target_name: str = (
            f"column {self._target}" if isinstance(self._target, int) else "the target"
        )
        beside = [] if self._weight is None or isinstance(self._weight, int) else [self._weight]
        self.exact_in_float32: bool = all(
            np.can_cast(array.dtype, np.float32, "safe") for array in (self._table, *beside)
        )

    def blocks(self, rows: int = ROWS_IN_A_BLOCK, keep: Sequence[str] = ()) -> Iterator[Block]:
        if keep:
            raise DataError(f"{self._name} has no named columns to keep.")
        assert self.n_rows is not None
        for piece in row_slices(self.n_rows, rows):
            place = Place(self._name, piece.start)
            table = self._table[piece]
            X = np.ascontiguousarray(table[:, self._features], np.float64)
            # messages name a column by its number in the array, not among the features
            check_features(X, tuple(self._features), place)
            labels = _values(self._target, table, piece)
            if labels is not None:
                check_labels(labels, self.target_name, place)
            weights = _values(self._weight, table, piece)
            if weights is not None:
                weights = weights.astype(np.float64)
                check_weights(weights, "weight", place)
            yield Block(X, labels, weights, None, place)

    def _column(self, given: Any, role: str) -> "int | np.ndarray | NpyFile | None":
        """The number of a column, or a separate array with one value per row."""
        if given is None:
            return None
        if isinstance(given, int | np.integer):
            return self._index(int(given), role)
        beside = NpyFile(given) if isinstance(given, str | os.PathLike) else np.asarray(given)
        name = str(given) if isinstance(beside, NpyFile) else f"{role}="
        if beside.shape != (self.n_rows,):
            raise DataError(
                f"{name} has shape {beside.shape}, but {self._name} has {self.n_rows} rows: "
                f"expected ({self.n_rows},)."
            )
        if role == "weight" and beside.dtype.kind not in _NUMBERS:
            raise DataError(f"{name} holds {beside.dtype}, but weights must be numbers.")
        return beside

    def _chosen(self, features: Sequence[Any] | None, taken: list[int]) -> list[int]:
        if features is None:
            chosen = [column for column in range(self._width) if column not in taken]
        else:
            chosen = [self._index(column, "features") for column in features]
        if not chosen:
            raise DataError(f"{self._name} has no column left to use as a feature.")
        if isinstance(self._target, int) and self._target in chosen:
            raise DataError(f"column {self._target} is both target and feature.")
        return chosen

    def _index(self, column: Any, role: str) -> int:
        if not isinstance(column, int | np.integer):
            raise TypeError(f"{role}: columns of an array have numbers, and {column!r} is none.")
        if not -self._width <= column < self._width:
            raise DataError(
                f"{self._name} has no column {column}: it has {self._width} columns, counted "
                "from 0."
            )
        return int(column) % self._width


def _values(
    role: "int | np.ndarray | NpyFile | None", table: np.ndarray, rows: slice
) -> np.ndarray | None:
    if role is None:
        return None
    return table[:, role] if isinstance(role, int) else role[rows]
