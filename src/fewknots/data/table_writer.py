"""Writes tables piece by piece to Parquet, CSV, TSV or Arrow files, atomically."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

from ..exceptions import DataError
from ..files.container import replacing
from .csv_dialect import Dialect
from .csv_writer import CsvWriter

_WRITERS: dict[str, Callable[[Path, pa.Schema, Dialect], Any]] = {
    ".parquet": lambda path, schema, _: pa.parquet.ParquetWriter(path, schema),
    ".pq": lambda path, schema, _: pa.parquet.ParquetWriter(path, schema),
    ".csv": CsvWriter,
    ".tsv": lambda path, schema, dialect: CsvWriter(path, schema, replace(dialect, separator="\t")),
    ".arrow": lambda path, schema, _: pa.ipc.new_file(str(path), schema),
    ".feather": lambda path, schema, _: pa.ipc.new_file(str(path), schema),
}
_USUAL = Dialect()


def check_ending(path: str | PathLike[str]) -> None:
    """Check that the ending of the file names a format that can be written."""
    if Path(path).suffix.lower() not in _WRITERS:
        raise DataError(
            f"{path}: this kind of file cannot be written. Use one of {', '.join(_WRITERS)}."
        )


def write_table(
    path: str | PathLike[str], pieces: Iterable[pa.Table], dialect: Dialect = _USUAL
) -> int:
    """Write all pieces, which have the same columns, to one file; returns the number of rows.

    The file appears when it is complete. `dialect` is the format of a CSV.
    """
    check_ending(path)
    kind = _WRITERS[Path(path).suffix.lower()]

    def make_writer(unfinished: Path, schema: pa.Schema) -> Any:
        return kind(unfinished, schema, dialect)

    n_rows = 0
    with replacing(path) as unfinished, _opened(make_writer, unfinished) as write:
        for piece in pieces:
            write(piece)
            n_rows += piece.num_rows
    return n_rows


@contextmanager
def _opened(
    make_writer: Callable[[Path, pa.Schema], Any], path: Path
) -> Iterator[Callable[[pa.Table], None]]:
    """A function that writes a piece; the first piece defines the columns."""
    writer: Any = None
    schema: pa.Schema | None = None

    def write(piece: pa.Table) -> None:
        nonlocal writer, schema
        try:
            piece = _plain(piece)
            if writer is None:
                writer, schema = make_writer(path, piece.schema), piece.schema
            writer.write_table(piece.cast(schema))
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, ValueError) as e:
            raise DataError(f"a column cannot be written to this kind of file: {e}.") from e

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()


def _plain(piece: pa.Table) -> pa.Table:
    """Replace categories by their values, since their codes differ from piece to piece."""
    for number, column in enumerate(piece.schema):
        if pa.types.is_dictionary(column.type):
            values = piece.column(number).cast(column.type.value_type)
            piece = piece.set_column(number, column.with_type(column.type.value_type), values)
    return piece.replace_schema_metadata(None)
