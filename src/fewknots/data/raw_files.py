"""The raw rows of files: pieces of a table, each column with its own type.

`TableFiles` needs numbers. This reader accepts all types; a recipe converts the columns to numbers.
The columns of a CSV are text, unchanged.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from ..exceptions import DataError
from .csv_dialect import CsvOptions, Dialect
from .file_formats import Csv
from .opened_files import opened_files
from .sources import ROWS_IN_A_BLOCK, Place
from .table_columns import check_presence

_VALUES_IN_A_BLOCK = 2**21  # wide tables are read in blocks of fewer rows: 16 MB at most
_AS_RECOGNISED = CsvOptions()


class RawFiles:
    """Files of one kind, read as one table any number of times."""

    def __init__(self, source: Any, options: CsvOptions = _AS_RECOGNISED) -> None:
        self._files = opened_files(source, options)
        self.paths: list[Path] = [file.path for file in self._files]
        self.schema: pa.Schema = self._merged()

    @property
    def name(self) -> str:
        """The name of all files in messages."""
        more = f" and {len(self.paths) - 1} more" if len(self.paths) > 1 else ""
        return f"{self.paths[0]}{more}"

    @property
    def dialects(self) -> tuple[Dialect, ...]:
        """The distinct dialects of CSV files; empty for other formats."""
        formats = (file.format for file in self._files)
        return tuple(dict.fromkeys(f.dialect for f in formats if isinstance(f, Csv)))

    def check_presence(self, names: Sequence[str]) -> None:
        """Check that every file has each of these columns exactly once."""
        for file in self._files:
            check_presence(file.schema, str(file.path), names)

    def batches(
        self, names: Sequence[str], width: int | None = None
    ) -> Iterator[tuple[pa.RecordBatch, Place]]:
        """A new pass over the named columns of all rows, with the place of each piece.

        `width` is the number of features of a row, if this is more than its columns.
        """
        self.check_presence(names)
        found = 0
        for file in range(len(self.paths)):
            for piece, place in self.batches_of(file, names, width):
                yield piece, place
                found += piece.num_rows
        if found == 0:
            raise DataError(f"there are no rows in {self.name}.")

    def batches_of(
        self, file: int, names: Sequence[str], width: int | None = None
    ) -> Iterator[tuple[pa.RecordBatch, Place]]:
        """The same for one of the files."""
        rows = max(1, _VALUES_IN_A_BLOCK // max(len(names), width or 1))
        for piece, place in self._files[file].pieces(names, min(rows, ROWS_IN_A_BLOCK)):
            yield piece.select(list(names)), place

    def _merged(self) -> pa.Schema:
        """All columns of all files, in order, each with the first type that is not null."""
        fields: dict[str, pa.Field] = {}
        for file in self._files:
            for field in file.schema:
                if field.name not in fields or pa.types.is_null(fields[field.name].type):
                    fields[field.name] = field
        return pa.schema(fields.values())
