"""Tables of any length, read block by block: the interface, and the choice of a reader.

A *source* is anything whose rows can be read repeatedly from the start: files of Parquet, CSV or
Arrow, an array on disk or in memory, a function that returns iterators. Every source is read as
*blocks*: some tens of thousands of rows as float64, checked, with the place from which they come,
so that an error can name the file and the row.

    open_source("flights/*.parquet", target="late").blocks()

Messages count rows as users do: by the line of a CSV in an editor, from 1 in other files, and from
0 in arrays and in blocks of an iterator. No reader holds more than a few blocks, so memory does not
grow with the number of rows.

| module             | purpose                                                           |
|--------------------|-------------------------------------------------------------------|
| `table_files`      | reads files and folders of Parquet, CSV, Arrow                    |
| `opened_files`     | finds and opens these files (with `file_formats`)                 |
| `array_source`     | reads arrays and .npy files                                       |
| `iterator_source`  | reads the iterators of a function                                 |
| `table_columns`    | converts a piece of a table to a block (used by two of the above) |
| `csv_dialect`      | format of a CSV: separator, decimal mark, quote, encoding         |
| `cells`            | parses the text of a cell: a number, a date, a gap                |
| `row_checks`       | checks the values of all rows                                     |
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from ..exceptions import DataError
from ..extras import missing

if TYPE_CHECKING:
    import pyarrow

ROWS_IN_A_BLOCK = 65_536


@runtime_checkable
class Layout(Protocol):
    """How a source numbers its rows, and how it stores values."""

    @property
    def cells_are_text(self) -> bool:
        """Whether every cell is text, as in a CSV."""

    @property
    def decimal(self) -> str:
        """The decimal mark in numbers that are stored as text."""

    @property
    def note(self) -> str:
        """A note about row numbers for the end of a message, if needed."""

    def row_name(self, row: int) -> str:
        """The name of a row for users, given its number from 0: for instance "line 12"."""

    def row_names(self, rows: Sequence[int]) -> list[str]:
        """The names of several rows: faster than one by one."""


@dataclass(frozen=True)
class NumberedLayout:
    """Rows are numbered one after the other."""

    first: int  # the number of the first row
    decimal: str = "."
    cells_are_text: bool = False

    @property
    def note(self) -> str:
        return f" (Rows are counted from {self.first}.)"

    def row_name(self, row: int) -> str:
        return f"row {row + self.first}"

    def row_names(self, rows: Sequence[int]) -> list[str]:
        return [self.row_name(row) for row in rows]


IN_MEMORY = NumberedLayout(0)


class Place(NamedTuple):
    """Origin of rows: a file (or a block of an iterator) and a row in it, counted from 0."""

    name: str
    first_row: int = 0
    layout: Layout = IN_MEMORY

    def row(self, offset: int) -> "Place":
        """The place of the row `offset` rows further on."""
        return self._replace(first_row=self.first_row + int(offset))

    @property
    def note(self) -> str:
        """How rows are counted, for the end of a message."""
        return self.layout.note

    def __str__(self) -> str:
        return f"{self.name}, {self.layout.row_name(self.first_row)}"


def missing_value(what: str, place: Place) -> DataError:
    """The error for a missing value."""
    return DataError(
        f"{place}: {what} has no value (empty, null or NaN). Fill it in or leave the row out."
        f"{place.note}"
    )


class Block(NamedTuple):
    """Consecutive rows of one file, checked: every number is finite, nothing is missing."""

    X: np.ndarray  # float64
    labels: np.ndarray | None  # as in the file, of a CSV as text; None if there is no target
    weights: np.ndarray | None  # float64, not negative; None if every row counts once
    table: "pyarrow.RecordBatch | None"  # the columns in keep=; None for arrays
    place: Place


@runtime_checkable
class Source(Protocol):
    """Rows that can be read from the start any number of times."""

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names of the columns of X; None if columns have no names."""

    @property
    def target_name(self) -> str:
        """The name of the labels in messages, for instance "column 'late'"."""

    @property
    def n_features(self) -> int:
        """The number of columns of X."""

    @property
    def n_rows(self) -> int | None:
        """The number of rows, if it is known without reading them."""

    @property
    def exact_in_float32(self) -> bool:
        """Whether float32 is exact for features and weights, by the types of their columns."""

    def blocks(self, rows: int = ROWS_IN_A_BLOCK, keep: Sequence[str] = ()) -> Iterator[Block]:
        """A new pass over all rows, at most `rows` at a time.

        `keep` names columns that each block's `table` contains unchanged, so that they can be
        written together with predictions. (The columns of a CSV are text there.)
        """


def open_source(
    source: Any,
    target: Any = None,
    features: Sequence[Any] | None = None,
    weight: Any = None,
) -> Source:
    """The reader for `source`; columns are checked now, rows are read later.

    Parameters
    ----------
    source
        - a path of a Parquet (.parquet, .pq), CSV (.csv, .tsv, compressed too, as in .csv.gz) or
          Arrow file (.arrow, .feather, .ipc); a folder of such files of one kind; a pattern such
          as ``"flights/*.parquet"``; or a list of paths;
        - a 2-D array (np.memmap included) or the path of a .npy file that holds one;
        - a function without arguments; each call returns a new iterator of ``(X, y)`` or
          ``(X, y, weights)``, or of tables (pyarrow, pandas, polars).
    target
        The column with the labels. For arrays: its number, or the labels themselves (a 1-D array
        or the path of a .npy file that holds one). None: read only features. Tuples from an
        iterator already contain their labels.
    features
        The columns to use, in order; None means all columns except `target` and `weight`.
    weight
        Like `target`, for the weights of rows; None means that every row counts once.
    """
    if callable(source):
        from .iterator_source import IteratorSource

        return IteratorSource(source, target, features, weight)
    if isinstance(source, np.ndarray) or _is_npy(source):
        from .array_source import ArraySource

        return ArraySource(source, target, features, weight)
    if isinstance(source, str | os.PathLike | list | tuple):
        try:
            from .table_files import TableFiles
        except ImportError as error:
            what = "reading Parquet, CSV and Arrow files needs pyarrow"
            raise ImportError(missing(what, "stream")) from error
        return TableFiles(source, target, features, weight)
    if isinstance(source, Iterator):
        raise TypeError(
            f"source is a {type(source).__name__}, which can be read only once, and training reads "
            "its rows several times. Pass a function that returns a fresh one at each call: "
            "`fit_stream(read_rows)`, not `fit_stream(read_rows())`."
        )
    raise TypeError(
        f"source is a {type(source).__name__}: expected a path, a list of paths, a 2-D array or a "
        "function that returns an iterator of (X, y). A table that is in memory already belongs "
        "in fit()."
    )


def _is_npy(source: Any) -> bool:
    return isinstance(source, str | os.PathLike) and Path(source).suffix.lower() == ".npy"
