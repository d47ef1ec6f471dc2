"""Parquet, CSV and Arrow files, each as pieces of a table in bounded memory.

pyarrow is at its fastest when it reads ahead and at its smallest when told not to. Measured on
3 million rows of six columns, reading ahead cost 70 MB and gained nothing, so all three readers
here go without threads and with small buffers. That also lets pyarrow's CSV errors name the row.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn, Protocol, runtime_checkable

import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet

from ..exceptions import DataError
from .intact_part import intact_part
from .sources import Place
from .table_columns import Columns

# A Parquet column of a row group is read through a window of this size, not all at once.
_PARQUET_BUFFER = 2**18
# pyarrow keeps up to 32 blocks of a CSV ahead, asked or not: 8 MB here, and larger ones gain no
# speed. A row must fit into one block, so a table with a very long header gets wider ones.
_CSV_BLOCK, _WIDE_CSV_BLOCK = 2**18, 2**23
_LONG_HEADER = 2**14
_ARROW_FILE_MAGIC = b"ARROW1"


@runtime_checkable
class Format(Protocol):
    """How files of one kind are read; errors are pyarrow's own (see `unreadable`)."""

    def schema(self, path: Path, columns: Columns | None = None) -> pa.Schema:
        """The names and types of a file's columns, given the roles of some if they are known."""

    def n_rows(self, path: Path) -> int | None:
        """The number of rows, if the file says so."""

    def batches(
        self, path: Path, schema: pa.Schema, names: Sequence[str], rows: int
    ) -> Iterator[pa.RecordBatch]:
        """The named columns, in pieces of about `rows` rows."""


class Parquet:
    """Parquet: types and number of rows stand at the end of the file."""

    def schema(self, path: Path, columns: Columns | None = None) -> pa.Schema:
        with pa.parquet.ParquetFile(path) as file:
            return file.schema_arrow

    def n_rows(self, path: Path) -> int | None:
        with pa.parquet.ParquetFile(path) as file:
            return file.metadata.num_rows

    def batches(
        self, path: Path, schema: pa.Schema, names: Sequence[str], rows: int
    ) -> Iterator[pa.RecordBatch]:
        options = {"pre_buffer": False, "buffer_size": _PARQUET_BUFFER}
        with pa.parquet.ParquetFile(path, **options) as file:
            yield from file.iter_batches(rows, columns=list(names), use_threads=False)


class Csv:
    """CSV with a header line: types are guessed, from the first block alone.

    A column of whole numbers with a 0.5 far down would then fail, so features and weight are read
    as float64 whatever the first block looks like. Columns without a role are read as text.
    """

    def __init__(self, delimiter: str) -> None:
        self._delimiter = delimiter

    def schema(self, path: Path, columns: Columns | None = None) -> pa.Schema:
        with intact_part(path) as (text, _), self._reader(path, text) as reader:
            guessed = reader.schema
        if columns is None:
            return guessed
        columns.check_presence(guessed, str(path))
        numeric = frozenset(columns.numeric)
        schema = pa.schema(
            field.with_type(_csv_type(field, numeric, columns.target)) for field in guessed
        )
        # Reading the first block with these types finds text in a feature, and in which row.
        convert = _converting(schema, columns.used)
        with intact_part(path) as (text, _), self._reader(path, text, convert):
            return schema

    def n_rows(self, path: Path) -> int | None:
        return None

    def batches(
        self, path: Path, schema: pa.Schema, names: Sequence[str], rows: int
    ) -> Iterator[pa.RecordBatch]:
        convert = _converting(schema, names)
        with intact_part(path) as (text, raise_damage):
            with self._reader(path, text, convert) as reader:
                yield from reader
            raise_damage()

    def _reader(
        self, path: Path, text: Any, convert: pa.csv.ConvertOptions | None = None
    ) -> pa.csv.CSVStreamingReader:
        return pa.csv.open_csv(
            text,
            read_options=pa.csv.ReadOptions(use_threads=False, block_size=_block_size(path)),
            parse_options=pa.csv.ParseOptions(delimiter=self._delimiter),
            convert_options=convert,
        )


def _block_size(path: Path) -> int:
    with pa.input_stream(path) as file:
        return _CSV_BLOCK if b"\n" in file.read(_LONG_HEADER) else _WIDE_CSV_BLOCK


def _csv_type(field: pa.Field, numeric: frozenset[str], target: str | None) -> pa.DataType:
    if field.name in numeric:
        return field.type if pa.types.is_boolean(field.type) else pa.float64()
    return field.type if field.name == target else pa.string()


def _converting(schema: pa.Schema, names: Sequence[str]) -> pa.csv.ConvertOptions:
    types = {name: schema.field(name).type for name in names}
    return pa.csv.ConvertOptions(include_columns=list(names), column_types=types)


class Arrow:
    """Arrow's own format, as a file (with an index at its end) or as a stream (without).

    A piece is read as it was written: a file written as one piece is read as one.
    """

    def schema(self, path: Path, columns: Columns | None = None) -> pa.Schema:
        with pa.OSFile(str(path)) as file:
            return _arrow_reader(file).schema

    def n_rows(self, path: Path) -> int | None:
        with pa.OSFile(str(path)) as file:
            reader = _arrow_reader(file)
            # only an indexed file can count without reading, and only lately: pyarrow 20 and on
            return reader.count_rows() if hasattr(reader, "count_rows") else None

    def batches(
        self, path: Path, schema: pa.Schema, names: Sequence[str], rows: int
    ) -> Iterator[pa.RecordBatch]:
        options = pa.ipc.IpcReadOptions(
            included_fields=[schema.get_field_index(name) for name in names], use_threads=False
        )
        with pa.OSFile(str(path)) as file:
            reader = _arrow_reader(file, options)
            if isinstance(reader, pa.ipc.RecordBatchStreamReader):
                yield from reader
            else:
                yield from map(reader.get_batch, range(reader.num_record_batches))


def _arrow_reader(
    file: pa.OSFile, options: pa.ipc.IpcReadOptions | None = None
) -> pa.ipc.RecordBatchFileReader | pa.ipc.RecordBatchStreamReader:
    indexed = file.read(len(_ARROW_FILE_MAGIC)) == _ARROW_FILE_MAGIC
    file.seek(0)
    opened = pa.ipc.open_file if indexed else pa.ipc.open_stream
    return opened(file, options=options)


_CONVERSION = re.compile(r"In CSV column #(\d+): Row #(\d+): CSV conversion error to (\w+): (.*)")
_PARSING = re.compile(r"CSV parse error: Row #(\d+): ")


def raise_unreadable(error: Exception, place: Place, schema: pa.Schema | None) -> NoReturn:
    """Raise what pyarrow said as a DataError; `place` is how far the file could be read."""
    if isinstance(error, FileNotFoundError | PermissionError | IsADirectoryError):
        raise error
    conversion = _CONVERSION.search(str(error))
    if conversion and schema is not None:
        column, row, dtype, complaint = conversion.groups()
        # pyarrow counts lines of the file from 1, and the header is one
        here = Place(place.name, int(row) - 2)
        if dtype == "string":
            raise DataError(
                f"{here}: column {schema.names[int(column)]!r} holds bytes that are not UTF-8 "
                "text. Save the file as UTF-8. (Rows are counted from 0.)"
            ) from error
        expected = "a number" if dtype in ("double", "int64") else dtype
        raise DataError(
            f"{here}: column {schema.names[int(column)]!r} cannot be read as {expected}: "
            f"{complaint}. Correct it; if the column holds text, encode it as numbers first or "
            "leave it out by naming the columns to use in features=. (Rows are counted from 0.)"
        ) from error
    parsing = _PARSING.search(str(error))
    row = int(parsing[1]) - 2 if parsing else place.first_row
    raise DataError(
        f"{place.name} cannot be read from row {row} on: it is damaged or cut off ({error}). Get a "
        "whole copy of it, or leave it out. (Rows are counted from 0.)"
    ) from error
