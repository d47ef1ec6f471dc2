"""The rows of files as they stand there: pieces of a table, each column with its own type.

`TableFiles` wants numbers. This reader takes every column as it comes, for a recipe to make numbers
of. The types of a CSV's columns are guessed, so the caller may correct the guess (`csv_type`).
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from ..exceptions import DataError
from .file_formats import Csv, raise_unreadable
from .sources import ROWS_IN_A_BLOCK, Place
from .table_columns import check_presence
from .table_files import common_format, pieces, readable
from .table_paths import paths_of

_VALUES_IN_A_BLOCK = 2**21  # wide tables are read in blocks of fewer rows: 16 MB at most


class RawFiles:
    """Files of one kind, read as one table any number of times."""

    def __init__(self, source: Any, csv_type: Callable[[pa.Field], pa.DataType]) -> None:
        self.paths = paths_of(source)
        self._format = common_format(self.paths)
        self._schemas = [self._schema(path) for path in self.paths]
        if isinstance(self._format, Csv):
            # the first file's types hold for all: what does not fit them is an error with a row
            types = {field.name: csv_type(field) for field in self._merged()}
            self._schemas = [
                pa.schema(field.with_type(types[field.name]) for field in schema)
                for schema in self._schemas
            ]
        self.schema: pa.Schema = self._merged()

    @property
    def name(self) -> str:
        """What messages call all of the files."""
        more = f" and {len(self.paths) - 1} more" if len(self.paths) > 1 else ""
        return f"{self.paths[0]}{more}"

    def check_presence(self, names: Sequence[str]) -> None:
        """Every file has each of these columns, once."""
        for path, schema in zip(self.paths, self._schemas, strict=True):
            check_presence(schema, str(path), names)

    def batches(
        self, names: Sequence[str], width: int | None = None
    ) -> Iterator[tuple[pa.RecordBatch, Place]]:
        """A fresh pass over the named columns of all rows, and where each piece comes from.

        `width` says how many numbers a row will be made into, where that is more than its columns.
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
        path, schema = self.paths[file], self._schemas[file]
        rows = max(1, _VALUES_IN_A_BLOCK // max(len(names), width or 1))
        rows, place = min(rows, ROWS_IN_A_BLOCK), Place(str(path))
        batches = self._format.batches(path, schema, names, rows)
        for piece in pieces(readable(batches, place, schema), rows):
            yield piece.select(list(names)), place
            place = place.row(piece.num_rows)

    def _schema(self, path: Path) -> pa.Schema:
        if path.stat().st_size == 0:
            raise DataError(f"{path} is empty: it has 0 bytes.")
        try:
            schema = self._format.schema(path)
            schema.names  # noqa: B018  (text is decoded only now)
        except (pa.ArrowException, OSError) as error:
            raise_unreadable(error, Place(str(path)), None)
        except UnicodeDecodeError as error:
            raise DataError(
                f"{path} has column names that are not UTF-8 text. Save the file as UTF-8."
            ) from error
        return schema

    def _merged(self) -> pa.Schema:
        """Every column of any file, in order, with the first type that says something."""
        fields: dict[str, pa.Field] = {}
        for schema in self._schemas:
            for field in schema:
                if field.name not in fields or pa.types.is_null(fields[field.name].type):
                    fields[field.name] = field
        return pa.schema(fields.values())
