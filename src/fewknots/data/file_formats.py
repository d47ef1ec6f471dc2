"""Readers for Parquet, CSV and Arrow files: pieces of a table in bounded memory.

Reading ahead makes pyarrow faster but needs memory. With 3 million rows of six columns, reading
ahead cost 70 MB and gained no speed, so all three readers use no threads and small buffers. Without
threads, pyarrow's CSV errors also name the row.

pyarrow decompresses a CSV in a thread of its own, ahead of its parser. If decompression fails, all
data that were read ahead are lost, so the row in the error message would depend on the timing of
threads. So a compressed file seems to end with the last line before the damage (`intact_part`);
after reading it, the error is raised, if there was damage.
"""

import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, Protocol, runtime_checkable

import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet

from ..exceptions import DataError
from .csv_dialect import CsvLayout, Dialect
from .sources import Layout, NumberedLayout, Place

# A Parquet column of a row group is read through a buffer of this size, not all at once.
_PARQUET_BUFFER = 2**18
# pyarrow always reads up to 32 blocks of a CSV ahead: 8 MB here, and larger blocks are not faster.
# A row must fit into one block, so a table with a very long header gets larger blocks.
_CSV_BLOCK, _WIDE_CSV_BLOCK = 2**18, 2**23
_LONG_HEADER = 2**14
_ARROW_FILE_MAGIC = b"ARROW1"
_COMPRESSED = (".gz", ".bz2", ".zst")
_CHUNK = 2**18  # bytes


@runtime_checkable
class Format(Protocol):
    """Reads files of one format; errors are pyarrow's own (see `raise_unreadable`)."""

    def schema(self, path: Path) -> pa.Schema:
        """The names and types of a file's columns."""

    def layout(self, path: Path) -> Layout:
        """How messages number the file's rows, and what its cells are."""

    def n_rows(self, path: Path) -> int | None:
        """The number of rows, if the file contains it."""

    def batches(
        self, path: Path, schema: pa.Schema, names: Sequence[str], rows: int
    ) -> Iterator[pa.RecordBatch]:
        """The named columns, in pieces of about `rows` rows."""


@dataclass(frozen=True)
class Parquet:
    """Parquet: types and number of rows are at the end of the file."""

    decimal: str = "."  # in numbers that are stored as text

    def schema(self, path: Path) -> pa.Schema:
        with pa.parquet.ParquetFile(path) as file:
            return file.schema_arrow

    def layout(self, path: Path) -> Layout:
        return NumberedLayout(1, self.decimal)

    def n_rows(self, path: Path) -> int | None:
        with pa.parquet.ParquetFile(path) as file:
            return file.metadata.num_rows

    def batches(
        self, path: Path, schema: pa.Schema, names: Sequence[str], rows: int
    ) -> Iterator[pa.RecordBatch]:
        options = {"pre_buffer": False, "buffer_size": _PARQUET_BUFFER}
        with pa.parquet.ParquetFile(path, **options) as file:
            yield from file.iter_batches(rows, columns=list(names), use_threads=False)


@dataclass(frozen=True)
class Csv:
    """CSV with a header line: every column is text, unchanged, and is parsed later.

    So a different kind of value far down the file causes no error here, and columns that are copied
    to an output stay exactly the same.
    """

    dialect: Dialect

    def schema(self, path: Path) -> pa.Schema:
        with intact_part(path) as (text, _), self._reader(path, text) as reader:
            names = reader.schema.names
        return pa.schema([(name, pa.string()) for name in names])

    def layout(self, path: Path) -> Layout:
        return CsvLayout(path, self.dialect)

    def n_rows(self, path: Path) -> int | None:
        return None

    def batches(
        self, path: Path, schema: pa.Schema, names: Sequence[str], rows: int
    ) -> Iterator[pa.RecordBatch]:
        types = dict.fromkeys(names, pa.string())
        convert = pa.csv.ConvertOptions(include_columns=list(names), column_types=types)
        with intact_part(path) as (text, raise_damage):
            with self._reader(path, text, convert) as reader:
                yield from reader
            raise_damage()

    def _reader(
        self, path: Path, text: Any, convert: pa.csv.ConvertOptions | None = None
    ) -> pa.csv.CSVStreamingReader:
        dialect = self.dialect
        # pyarrow itself drops the byte order mark of UTF-8
        encoding = "utf8" if dialect.encoding in ("utf-8", "utf-8-sig") else dialect.encoding
        return pa.csv.open_csv(
            text,
            read_options=pa.csv.ReadOptions(
                use_threads=False, block_size=_block_size(path), encoding=encoding
            ),
            parse_options=pa.csv.ParseOptions(
                delimiter=dialect.separator, quote_char=dialect.quote, newlines_in_values=True
            ),
            convert_options=convert,
        )


def _block_size(path: Path) -> int:
    with pa.input_stream(path) as file:
        return _CSV_BLOCK if b"\n" in file.read(_LONG_HEADER) else _WIDE_CSV_BLOCK


@dataclass(frozen=True)
class Arrow:
    """Arrow's own format, as a file (with an index at its end) or as a stream (without).

    Record batches are read as they were written: one large batch is read at once.
    """

    decimal: str = "."  # in numbers that are stored as text

    def schema(self, path: Path) -> pa.Schema:
        with pa.OSFile(str(path)) as file:
            return _arrow_reader(file).schema

    def layout(self, path: Path) -> Layout:
        return NumberedLayout(1, self.decimal)

    def n_rows(self, path: Path) -> int | None:
        with pa.OSFile(str(path)) as file:
            reader = _arrow_reader(file)
            # only an indexed file can count without reading, and only from pyarrow 20 on
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


# errors that reading a file may raise
READING_ERRORS = (pa.ArrowException, OSError, UnicodeError)
_NOT_UTF8 = re.compile(r"In CSV column #(\d+): Row #(\d+): CSV conversion error to string")
_WRONG_WIDTH = re.compile(r"CSV parse error: (?:Row #(\d+): )?Expected (\d+) columns, got (\d+)")


def raise_unreadable(error: Exception, place: Place, names: Sequence[str] | None) -> NoReturn:
    """Raise pyarrow's error as a DataError; `place` is how far the file could be read."""
    if isinstance(error, FileNotFoundError | PermissionError | IsADirectoryError):
        raise error
    if isinstance(error, UnicodeError):
        raise DataError(
            f"{place.name}: the file is not {_encoding_of(place)} text ({error}). Give its "
            "encoding (--encoding), or save it as UTF-8."
        ) from error
    # pyarrow counts rows from 1, and counts the header
    if text := _NOT_UTF8.search(str(error)):
        here = place._replace(first_row=int(text[2]) - 2)
        column = "a column" if names is None else f"column {names[int(text[1])]!r}"
        raise DataError(
            f"{here}: {column} holds bytes that are not UTF-8 text, though the beginning of the "
            "file is. Give its encoding, for instance --encoding latin-1, or save it as "
            f"UTF-8.{place.note}"
        ) from error
    if (width := _WRONG_WIDTH.search(str(error))) and isinstance(place.layout, CsvLayout):
        here = place if width[1] is None else place._replace(first_row=int(width[1]) - 2)
        fields = "1 field" if width[3] == "1" else f"{width[3]} fields"
        raise DataError(
            f"{here} has {fields}, but the header has {width[2]} (read with "
            f"{place.layout.dialect}). If the file has another separator, give it with "
            f"--separator. Otherwise it is damaged or cut off there.{place.note}"
        ) from error
    if "straddling" in str(error) and isinstance(place.layout, CsvLayout):
        raise DataError(
            f"{place.name}: a row does not end, from {place.layout.row_name(place.first_row)} on. "
            f"A closing quote ({place.layout.dialect.quote}) may be missing. Correct the file, or "
            "get a whole copy of it."
        ) from error
    raise DataError(
        f"{place.name} cannot be read from {place.layout.row_name(place.first_row)} on: it is "
        f"damaged or cut off ({error}). Get a whole copy of it, or leave it out.{place.note}"
    ) from error


def _encoding_of(place: Place) -> str:
    return place.layout.dialect.encoding if isinstance(place.layout, CsvLayout) else "UTF-8"


@contextmanager
def intact_part(path: Path) -> Iterator[tuple[Any, Callable[[], None]]]:
    """The stream for pyarrow, and a function to call after reading: it raises the error, if any.

    A file that is not compressed is read directly.
    """
    if path.suffix.lower() not in _COMPRESSED:
        yield path, lambda: None
        return
    part = _IntactPart(path)
    with io.BufferedReader(part, _CHUNK) as file:
        yield file, part.raise_damage


class _IntactPart(io.RawIOBase):
    """The decompressed bytes of a file, up to the last line before any damage."""

    def __init__(self, path: Path) -> None:
        self._stream = pa.input_stream(path)
        self._damage: Exception | None = None
        self._rest = memoryview(b"")  # the part of the current chunk that is not read yet
        self._next = self._read()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer from the current chunk; returns 0 at the end."""
        if not self._rest:
            self._rest = memoryview(self._chunk())
        n = min(len(buffer), len(self._rest))
        buffer[:n] = self._rest[:n]
        self._rest = self._rest[n:]
        return n

    def raise_damage(self) -> None:
        if self._damage is not None:
            raise self._damage

    def close(self) -> None:
        self._stream.close()
        super().close()

    def _chunk(self) -> bytes:
        """The next chunk; only whole lines of the last one before the damage."""
        chunk, self._next = self._next, self._read()
        return chunk if self._damage is None else chunk[: chunk.rfind(b"\n") + 1]

    def _read(self) -> bytes:
        if self._damage is not None:
            return b""
        try:
            return self._stream.read(_CHUNK)
        except (pa.ArrowException, OSError) as error:
            self._damage = error
            return b""
