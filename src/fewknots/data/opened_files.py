"""The files of a table: opens each by its format, and reads it in pieces."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from ..exceptions import DataError
from .csv_dialect import CsvOptions, dialect_of
from .file_formats import READING_ERRORS, Arrow, Csv, Format, Parquet, raise_unreadable
from .sources import Place
from .table_paths import ARROW, CSV, PARQUET, TSV, format_ending, paths_of

# the separator, unless another one is recognised
_SEPARATORS = dict.fromkeys(CSV, ",") | dict.fromkeys(TSV, "\t")
_TYPED: dict[str, Callable[[str], Format]] = {
    **dict.fromkeys(PARQUET, Parquet),
    **dict.fromkeys(ARROW, Arrow),
}
_KINDS: dict[str, Any] = _TYPED | dict.fromkeys(_SEPARATORS, Csv)


def with_read_errors(
    batches: Iterator[pa.RecordBatch], place: Place, names: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """The same batches; an error in reading says how far the file could be read."""
    while True:
        try:
            batch = next(batches, None)
        except READING_ERRORS as error:
            raise_unreadable(error, place, names)
        if batch is None:
            return
        yield batch
        place = place.row(batch.num_rows)


class OpenedFile(NamedTuple):
    """One file of a table: its path, format and columns."""

    path: Path
    format: Format
    schema: pa.Schema

    @classmethod
    def opened(cls, path: Path, options: CsvOptions) -> "OpenedFile":
        """Read the columns from the beginning or the end of the file."""
        if path.stat().st_size == 0:
            raise DataError(f"{path} is empty: it has 0 bytes.")
        place = Place(str(path))
        try:
            way = format_of(path, options)
            place = Place(str(path), 0, way.layout(path))
            schema = way.schema(path)
            schema.names  # noqa: B018  (decodes the text, which may raise an error)
        except READING_ERRORS as error:
            raise_unreadable(error, place, None)
        return cls(path, way, schema)

    @property
    def place(self) -> Place:
        """Its first row."""
        return Place(str(self.path), 0, self.format.layout(self.path))

    def pieces(self, names: Sequence[str], rows: int) -> Iterator[tuple[pa.RecordBatch, Place]]:
        """The named columns in pieces of 1 to `rows` rows, and the place of each piece."""
        place = self.place
        batches = self.format.batches(self.path, self.schema, names, rows)
        for batch in with_read_errors(batches, place, self.schema.names):
            for start in range(0, batch.num_rows, rows):
                piece = batch.slice(start, rows)
                yield piece, place
                place = place.row(piece.num_rows)


def opened_files(source: Any, options: CsvOptions) -> list[OpenedFile]:
    """Open the files given by a path, a folder, a pattern or a list of these, all of one format."""
    paths = paths_of(source)
    for path in paths:
        if format_ending(path) not in _KINDS:
            raise DataError(
                f"{path}: this kind of file cannot be read. Use one of {', '.join(_KINDS)}."
            )
        if _KINDS[format_ending(path)] is not _KINDS[format_ending(paths[0])]:
            raise DataError(
                f"{paths[0]} and {path} are files of different kinds. Pass files of one kind, for "
                f'instance by a pattern such as "folder/*{format_ending(paths[0])}".'
            )
    return [OpenedFile.opened(path, options) for path in paths]


def format_of(path: Path, options: CsvOptions) -> Format:
    """The format of a file, by its ending; for a CSV, also by its beginning."""
    suffix = format_ending(path)
    if suffix in _SEPARATORS:
        return Csv(dialect_of(path, options, _SEPARATORS[suffix]))
    return _TYPED[suffix](options.decimal or ".")
