"""One table in one or many files: checking that they agree, reading them in turn."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from ..exceptions import DataError
from .file_formats import Arrow, Csv, Format, Parquet, raise_unreadable
from .sources import ROWS_IN_A_BLOCK, Block, Place
from .table_columns import Columns, label_kind
from .table_paths import ARROW, CSV, PARQUET, TSV, format_ending, paths_of

_FORMATS: dict[str, Format] = {
    **dict.fromkeys(PARQUET, Parquet()),
    **dict.fromkeys(ARROW, Arrow()),
    **dict.fromkeys(CSV, Csv(",")),
    **dict.fromkeys(TSV, Csv("\t")),
}


class TableFiles:
    """A source of rows from files of one format with the same columns."""

    def __init__(
        self, source: Any, target: Any, features: Sequence[Any] | None, weight: Any
    ) -> None:
        self._paths = paths_of(source)
        self._format = common_format(self._paths)
        # All files are looked at now: a column that is missing in the last one should not come to
        # light hours into a fit.
        first = self._paths[0]
        schema = self._schema(first, None)
        self._columns = Columns.chosen(schema, str(first), target, features, weight)
        self._schemas = [self._schema(path, self._columns) for path in self._paths]
        for path, schema in zip(self._paths, self._schemas, strict=True):
            self._check(path, schema)
        self.column_names: tuple[str, ...] | None = self._columns.names
        self.feature_names: tuple[str, ...] | None = self._columns.features
        self.target_name: str = self._columns.target_name
        self.n_features: int = len(self._columns.features)
        self.exact_in_float32: bool = all(map(self._columns.exact_in_float32, self._schemas))
        counts = [self._format.n_rows(path) for path in self._paths]
        known = [count for count in counts if count is not None]
        self.n_rows: int | None = sum(known) if len(known) == len(counts) else None
        if self.n_rows == 0:
            raise self._no_rows()

    def blocks(self, rows: int = ROWS_IN_A_BLOCK, keep: Sequence[str] = ()) -> Iterator[Block]:
        names = tuple(dict.fromkeys((*self._columns.used, *keep)))
        for path, schema in zip(self._paths, self._schemas, strict=True):
            self._columns.check_presence(schema, str(path), keep)
        found = 0
        for path, schema in zip(self._paths, self._schemas, strict=True):
            place = Place(str(path))
            batches = self._format.batches(path, schema, names, rows)
            for piece in pieces(readable(batches, place, schema), rows):
                yield self._columns.block(piece, place, keep)
                place = place.row(piece.num_rows)
            found += place.first_row
        if found == 0:
            raise self._no_rows()

    def _schema(self, path: Path, columns: Columns | None) -> pa.Schema:
        if path.stat().st_size == 0:
            raise DataError(f"{path} is empty: it has 0 bytes.")
        try:
            return self._format.schema(path, columns)
        except (pa.ArrowException, OSError) as error:
            raise_unreadable(error, Place(str(path)), self._format_names(path))

    def _format_names(self, path: Path) -> pa.Schema | None:
        """The columns' names, for a message, if at least those can be read."""
        try:
            return self._format.schema(path)
        except (pa.ArrowException, OSError):
            return None

    def _check(self, path: Path, schema: pa.Schema) -> None:
        """The file has the columns, and its labels are the sort of thing the first file's are."""
        self._columns.check_types(schema, str(path))
        target = self._columns.target
        if target is None:
            return
        kind, first_kind = label_kind(schema, target), label_kind(self._schemas[0], target)
        if kind != first_kind and "nothing" not in (kind, first_kind):
            raise DataError(
                f"column {target!r} holds {kind} in {path} and {first_kind} in {self._paths[0]}. "
                "The files of one table must agree on what a column holds."
            )

    def _no_rows(self) -> DataError:
        more = f" and {len(self._paths) - 1} more" if len(self._paths) > 1 else ""
        return DataError(f"there are no rows in {self._paths[0]}{more}.")


def pieces(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """The same rows, at most `rows` at a time and never none."""
    for batch in batches:
        for start in range(0, batch.num_rows, rows):
            yield batch.slice(start, rows)


def readable(
    batches: Iterator[pa.RecordBatch], place: Place, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """The same batches; what goes wrong in reading one says how far the file was good."""
    while True:
        try:
            batch = next(batches, None)
        except (pa.ArrowException, OSError) as error:
            raise_unreadable(error, place, schema)
        if batch is None:
            return
        yield batch
        place = place.row(batch.num_rows)


def common_format(paths: Sequence[Path]) -> Format:
    """How all of these files are read, by their endings."""
    for path in paths:
        if format_ending(path) not in _FORMATS:
            raise DataError(
                f"{path}: this kind of file cannot be read. Use one of {', '.join(_FORMATS)}."
            )
        if _FORMATS[format_ending(path)] is not _FORMATS[format_ending(paths[0])]:
            raise DataError(
                f"{paths[0]} and {path} are files of different kinds. Pass files of one kind, for "
                f'instance by a pattern such as "folder/*{format_ending(paths[0])}".'
            )
    return _FORMATS[format_ending(paths[0])]
