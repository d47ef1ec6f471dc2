"""One table in one or many files, all of one format, read one after the other in pieces.

`TableFiles` reads numbers, labels and weights: a source of rows to train on (sources.py).
`RawFiles` accepts columns of all types, for a recipe to convert them to numbers. There the columns
of a CSV are text, unchanged.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from ..exceptions import DataError
from .cells import typed_labels
from .csv_dialect import CsvOptions, Dialect, dialect_of
from .file_formats import READING_ERRORS, Arrow, Csv, Format, Parquet, raise_unreadable
from .sources import ROWS_IN_A_BLOCK, Block, Place
from .table_columns import Columns, check_presence, label_kind
from .table_paths import ARROW, CSV, PARQUET, TSV, format_ending, paths_of

# the separator, unless another one is recognised
_SEPARATORS = dict.fromkeys(CSV, ",") | dict.fromkeys(TSV, "\t")
_TYPED: dict[str, Callable[[str], Format]] = {
    **dict.fromkeys(PARQUET, Parquet),
    **dict.fromkeys(ARROW, Arrow),
}
_KINDS: dict[str, Any] = _TYPED | dict.fromkeys(_SEPARATORS, Csv)
_VALUES_IN_A_BLOCK = 2**21  # wide tables are read in blocks of fewer rows: 16 MB at most
_AS_RECOGNISED = CsvOptions()


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


class TableFiles:
    """A source of rows from files of one format with the same columns."""

    def __init__(
        self, source: Any, target: Any, features: Sequence[Any] | None, weight: Any
    ) -> None:
        # All files are checked now: a column that is missing in the last file should not be
        # reported only after hours of training.
        self._files = opened_files(source, CsvOptions())
        first = self._files[0]
        self._columns = Columns.chosen(first.schema, str(first.path), target, features, weight)
        first_kind = "nothing"
        for file in self._files:
            kind = self._kind_of_labels(file)
            if kind != first_kind and "nothing" not in (kind, first_kind):
                raise DataError(
                    f"column {target!r} holds {kind} in {file.path} and {first_kind} in "
                    f"{first.path}. The files of one table must agree on what a column holds."
                )
            first_kind = kind if first_kind == "nothing" else first_kind

        self.feature_names: tuple[str, ...] | None = self._columns.features
        self.target_name: str = self._columns.target_name
        self.n_features: int = len(self._columns.features)
        schemas = [file.schema for file in self._files]
        self.exact_in_float32: bool = all(map(self._columns.exact_in_float32, schemas))
        counts = [file.format.n_rows(file.path) for file in self._files]
        known = [count for count in counts if count is not None]
        self.n_rows: int | None = sum(known) if len(known) == len(counts) else None
        if self.n_rows == 0:
            raise self._no_rows()

    def blocks(self, rows: int = ROWS_IN_A_BLOCK, keep: Sequence[str] = ()) -> Iterator[Block]:
        names = tuple(dict.fromkeys((*self._columns.used, *keep)))
        for file in self._files:
            self._columns.check_presence(file.schema, str(file.path), keep)
        found = 0
        for file in self._files:
            for piece, place in file.pieces(names, rows):
                yield self._columns.block(piece, place, keep)
                found += piece.num_rows
        if found == 0:
            raise self._no_rows()

    def _kind_of_labels(self, file: OpenedFile) -> str:
        """The kind of the labels; also checks that the columns exist and can be used."""
        columns, name = self._columns, str(file.path)
        columns.check_presence(file.schema, name)
        if not file.place.layout.cells_are_text:
            columns.check_types(file.schema, name)
            return "nothing" if columns.target is None else label_kind(file.schema, columns.target)
        # for a CSV, parse the first rows: text in a feature is an error that names the line
        for piece, place in file.pieces(columns.used, ROWS_IN_A_BLOCK):
            labels = columns.block(piece, place, ()).labels
            if labels is not None:
                texts = [*dict.fromkeys(labels)]
                found = typed_labels(texts, [place.layout.decimal] * len(texts))
                return "text" if any(isinstance(label, str) for label in found) else "numbers"
            break
        return "nothing"

    def _no_rows(self) -> DataError:
        more = f" and {len(self._files) - 1} more" if len(self._files) > 1 else ""
        return DataError(f"there are no rows in {self._files[0].path}{more}.")


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
