"""Writes tables piece by piece to Parquet, CSV, TSV or Arrow files, atomically.

A CSV has quotes only where a text needs them. pyarrow's own writer puts them around every text; but
in a table that was read from a CSV all cells are text, and they should look the same when they are
written again.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc
import pyarrow.parquet

from ..exceptions import DataError
from ..files.container import replacing
from .csv_dialect import Dialect

_TEXT = pa.large_string()


class CsvWriter:
    """Writes pieces of a table, which have the same columns, one after the other.

    Always in UTF-8, with a byte order mark if the dialect's encoding has one.
    """

    def __init__(self, path: Path, schema: pa.Schema, dialect: Dialect) -> None:
        self._dialect = dialect
        self._file = path.open("w", encoding="utf-8", newline="")
        if dialect.encoding in ("utf-8-sig", "utf-16", "utf-32"):
            self._file.write("\ufeff")
        names = pa.table([pa.array([name]) for name in schema.names], names=schema.names)
        self.write_table(names)

    def write_table(self, piece: pa.Table) -> None:
        """Write some rows."""
        columns = [self._written(column.combine_chunks()) for column in piece.columns]
        if len(columns) == 1:  # an empty line would not count as a row
            empty = pc.equal(columns[0], "")
            columns = [pc.if_else(empty, self._dialect.quote * 2, columns[0])]
        lines = pc.binary_join_element_wise(*columns, pa.scalar(self._dialect.separator, _TEXT))
        self._file.writelines(f"{line}\n" for line in lines.to_pylist())

    def close(self) -> None:
        """No more rows."""
        self._file.close()

    def _written(self, column: pa.Array) -> pa.Array:
        text = column.cast(_TEXT).fill_null("")
        if pa.types.is_floating(column.type) and self._dialect.decimal != ".":
            text = pc.replace_substring(text, ".", self._dialect.decimal)
        quote = self._dialect.quote
        special = "".join(
            f"\\x{ord(letter):02x}" for letter in f"{self._dialect.separator}{quote}\r\n"
        )
        needs = pc.match_substring_regex(text, f"[{special}]")
        if not pc.any(needs).as_py():
            return text
        inside = pc.replace_substring(text, quote, quote * 2)
        mark = pa.scalar(quote, _TEXT)
        quoted = pc.binary_join_element_wise(mark, inside, mark, pa.scalar("", _TEXT))
        return pc.if_else(needs, quoted, text)


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
