"""The line number of a row in a CSV, as an editor counts: the header is in line 1.

Empty lines are not rows, and a cell with a line break makes a row of several lines. So lines are
counted from the beginning of the file, but only when a message needs a line number, which is rare.
"""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from .csv_dialect import Dialect


@dataclass(frozen=True)
class CsvLayout:
    """Rows are named by their line, and all cells are text."""

    path: Path
    dialect: Dialect

    cells_are_text = True
    note = ""

    @property
    def decimal(self) -> str:
        return self.dialect.decimal

    def row_name(self, row: int) -> str:
        """The line in which the row begins, or its row number if lines cannot be counted."""
        return self.row_names([row])[0]

    def row_names(self, rows: Sequence[int]) -> list[str]:
        """The names of several rows, in one pass over the file."""
        try:
            lines = lines_of_rows(self.path, self.dialect, rows)
        except (csv.Error, OSError, EOFError):  # a very long field, or a truncated file
            lines = {}
        return [f"line {lines[r]}" if r in lines else f"row {r + 1} below the header" for r in rows]


def lines_of_rows(path: Path, dialect: Dialect, rows: Sequence[int]) -> dict[int, int]:
    """The line of each row, counted from 0, that the file has."""
    wanted, last, found = set(rows), max(rows, default=-1), {}
    with pa.input_stream(path) as stream:
        text = io.TextIOWrapper(
            io.BufferedReader(stream), dialect.encoding, errors="replace", newline=""
        )
        reader = csv.reader(text, delimiter=dialect.separator, quotechar=dialect.quote)
        before, row = 0, -1  # the header is a record too
        for fields in reader:
            if fields:  # an empty line has none
                if row in wanted:
                    found[row] = before + 1
                if row >= last:
                    break
                row += 1
            before = reader.line_num
    return found
