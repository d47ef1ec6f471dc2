"""Tables of any length, read block by block: the interface, and which reader fits what.

A *source* is anything whose rows can be read again and again from the start: files of Parquet, CSV
or Arrow, an array on disk or in memory, a function that returns iterators. Whatever it is, reading
it gives *blocks*: some tens of thousands of rows as float64, checked, each with the place it comes
from, so that an error can name the file and the row.

    open_source("flights/*.parquet", target="late").blocks()

Messages count rows as their reader does: by the line of a CSV that an editor shows, from 1 in
other files as viewers do, and from 0 in arrays and in blocks of an iterator, whose users index them
so. No reader holds more than a few blocks, so memory does not grow with the rows.

| module             | reads                                                             |
|--------------------|-------------------------------------------------------------------|
| `table_files`      | files and folders of Parquet, CSV, Arrow                          |
| `opened_files`     | finds and opens those (by way of `file_formats`)                  |
| `array_source`     | arrays and .npy files                                             |
| `iterator_source`  | what a function's iterators yield                                 |
| `table_columns`    | one piece of a table to one block (used by two of the above)      |
| `csv_dialect`      | how a CSV is written: separator, decimal mark, quote, encoding    |
| `cells`            | what the text of a cell says: a number, a moment, a gap           |
| `row_checks`       | the values every one of them refuses                              |
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from ..extras import missing

if TYPE_CHECKING:
    import pyarrow

ROWS_IN_A_BLOCK = 65_536


@runtime_checkable
class Layout(Protocol):
    """How a source numbers its rows, and how it writes what is in them."""

    @property
    def cells_are_text(self) -> bool:
        """Whether every cell is text, whatever it says, as in a CSV."""

    @property
    def decimal(self) -> str:
        """The decimal mark in numbers that are written as text."""

    @property
    def note(self) -> str:
        """What has to be said about row numbers at the end of a message, if anything."""

    def row_name(self, row: int) -> str:
        """What users know a row by, given its number from 0: for instance "line 12"."""


@dataclass(frozen=True)
class Counted:
    """Rows are numbered one after the other."""

    first: int  # the number of the first row
    decimal: str = "."
    cells_are_text: bool = False

    @property
    def note(self) -> str:
        return f" (Rows are counted from {self.first}.)"

    def row_name(self, row: int) -> str:
        return f"row {row + self.first}"


IN_MEMORY = Counted(0)


class Place(NamedTuple):
    """Where rows come from: a file (or block of an iterator) and a row in it, from 0."""

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


class Block(NamedTuple):
    """Consecutive rows of one file, checked: every number finite, nothing missing."""

    X: np.ndarray  # float64, one row a row
    labels: np.ndarray | None  # as they are in the file; None if no target was asked for
    weights: np.ndarray | None  # float64, none negative; None where every row counts once
    table: "pyarrow.RecordBatch | None"  # the columns asked for with keep=; None for arrays
    place: Place


@runtime_checkable
class Source(Protocol):
    """Rows that can be read from the start any number of times."""

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The columns of X in order; None where columns have no names."""

    @property
    def column_names(self) -> tuple[str, ...] | None:
        """Every column there is, in the table's order: what `keep` may name."""

    @property
    def target_name(self) -> str:
        """What messages call the labels, for instance "column 'late'"."""

    @property
    def n_features(self) -> int:
        """The number of columns of X."""

    @property
    def n_rows(self) -> int | None:
        """The number of rows, where that is known without reading them."""

    @property
    def exact_in_float32(self) -> bool:
        """Whether features and weights lose nothing as float32, by their columns' types."""

    def blocks(self, rows: int = ROWS_IN_A_BLOCK, keep: Sequence[str] = ()) -> Iterator[Block]:
        """A fresh pass over all rows, at most `rows` at a time.

        `keep` names columns to hand on untouched as each block's `table`, so that predictions can
        be written beside them. (A CSV's columns come as text there, exactly as written.)
        """


def open_source(
    source: Any,
    target: Any = None,
    features: Sequence[Any] | None = None,
    weight: Any = None,
) -> Source:
    """The reader for `source`, its columns checked but none of its rows read for good.

    Parameters
    ----------
    source
        - a path of a Parquet (.parquet, .pq), CSV (.csv, .tsv, compressed too, as in .csv.gz) or
          Arrow file (.arrow, .feather, .ipc); a folder of such files of one kind; a pattern such
          as ``"flights/*.parquet"``; or a list of paths;
        - a 2-D array (np.memmap included) or the path of a .npy file that holds one;
        - a function without arguments; each call returns a fresh iterator of ``(X, y)`` or
          ``(X, y, weights)``, or of tables (pyarrow, pandas, polars).
    target
        The column with the labels. For arrays its number, or the labels themselves: a 1-D array
        or the path of a .npy file that holds one. None: only features are wanted. Tuples from an
        iterator hold their labels already.
    features
        The columns to use, in order; None means every column but `target` and `weight`.
    weight
        Like `target`, for how often each row counts; None means once.
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
