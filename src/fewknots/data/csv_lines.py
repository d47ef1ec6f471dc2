"""The line number of a row in a CSV, as an editor counts: the header is in line 1.

Empty lines are not rows, and a cell with a line break makes a row of several lines. So lines are
counted from the beginning of the file, but only when a message needs a line number, which is rare.
"""

import csv
import io
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
        try:
            line = line_of_row(self.path, self.dialect, row)
        except (csv.Error, OSError, EOFError):  # a very long field, or a truncated file
            line = None
        return f"row {row + 1} below the header" if line is None else f"line {line}"


def line_of_row(path: Path, dialect: Dialect, row: int) -> int | None:
    """The line of a row, counted from 0; None if the file ends before it."""
    with pa.input_stream(path) as stream:
        text = io.TextIOWrapper(
            io.BufferedReader(stream), dialect.encoding, errors="replace", newline=""
        )
        reader = csv.reader(text, delimiter=dialect.separator, quotechar=dialect.quote)
        before = records = 0
        for fields in reader:
            if fields:  # an empty line has none
                if records == row + 1:  # the header is a record too
                    return before + 1
                records += 1
            before = reader.line_num
    return None
