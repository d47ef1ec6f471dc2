"""Recognises the format of a CSV file from its beginning: separator, decimal mark, quote, encoding.

**Encoding**: given by a byte order mark. Without one, zero bytes at every second position mean
UTF-16, valid UTF-8 is UTF-8, and anything else is Latin-1 (cp1252, if there are bytes for which
Latin-1 has no characters).

**Separator**: of `,` `;` tab and `|`, the one that splits the most lines into as many fields as the
header has; if two are equal, the one that gives more numbers, then the one with more fields.

**Quote**: `"`, or `'` if all cells of some column are between single quotes and no cell uses `"`.

**Decimal mark**: `3,5` can only be a number with a decimal comma, `3.5` only one with a point. The
mark that more columns prove in this way is chosen. `1,234` proves nothing. If no column proves
anything, the mark is a point in a file with commas between the fields. In other files a mark in
every cell of a column is the decimal mark (numbers with three decimals), and a mark in only some
cells separates thousands.

Options of the user have priority. Each file of a table is recognised separately.

`CsvLayout` names a row by its line, as an editor counts: the header is in line 1. Empty lines are
not rows, and a cell with a line break makes a row of several lines. So lines are counted from the
beginning of the file, but only when a message needs a line number, which is rare.
"""

import codecs
import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from ..exceptions import DataError
from .cells import MARKS, is_gap, number

SEPARATORS = (",", ";", "\t", "|")
_STEP_BYTES, _HEAD_BYTES, _LONG_HEAD_BYTES = 2**16, 2**20, 2**23
_MOST_LINES, _MOST_FIELDS = 1000, 20_000  # that are examined
_NAMES = {"\t": "tab", " ": "space", ",": "comma", ";": "semicolon", ".": "point"}
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark is a prefix of this one
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True)
class Dialect:
    """The format of one file."""

    separator: str = ","
    decimal: str = "."
    quote: str = '"'
    encoding: str = "utf-8"

    def __str__(self) -> str:
        return (
            f"separator {_shown(self.separator)}, decimal {_shown(self.decimal)}, encoding "
            f"{self.encoding}"
        )


class CsvOptions(NamedTuple):
    """The user's options; None: to be recognised."""

    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None

    @classmethod
    def checked(
        cls, separator: str | None, decimal: str | None, encoding: str | None
    ) -> "CsvOptions":
        """These values, or an error that names the wrong one."""
        spelled = {name: mark for mark, name in _NAMES.items()} | {"\\t": "\t"}
        separator = None if separator is None else spelled.get(separator, separator)
        decimal = None if decimal is None else spelled.get(decimal, decimal)
        if separator is not None and (
            len(separator) != 1 or not separator.isascii() or separator in "\r\n\"'"
        ):
            raise DataError(
                f"the separator is {separator!r}: it has to be one character, or the word tab."
            )
        if decimal is not None and decimal not in MARKS:
            raise DataError(f"the decimal mark is {decimal!r}: it has to be a point or a comma.")
        if encoding is not None:
            try:
                encoding = codecs.lookup(encoding).name
                codecs.decode(b"", encoding, "strict").encode("utf-8")
            except (LookupError, AttributeError, ValueError):
                raise DataError(
                    f"unknown encoding {encoding!r}. Common ones are utf-8, utf-16, latin-1 and "
                    "cp1252."
                ) from None
        return cls(separator, decimal, encoding)


def dialect_of(path: Path, options: CsvOptions, usual: str) -> Dialect:
    """The dialect of a file; `usual` is the separator if the file has only one column."""
    head, whole = _beginning(path)
    return recognised(head, whole, options, usual)


def _beginning(path: Path) -> tuple[bytes, bool]:
    """The first megabyte, or more if the header is longer, and whether this is the whole file."""
    head = bytearray()
    with pa.input_stream(path) as file:
        try:
            while len(head) < _HEAD_BYTES or (b"\n" not in head and len(head) < _LONG_HEAD_BYTES):
                some = file.read(_STEP_BYTES)
                if not some:
                    return bytes(head), True
                head += some
        except (pa.ArrowException, OSError):
            if not head:
                raise
            # Damaged further on: reading the rows will raise an error that names the row.
    return bytes(head), False


def recognised(head: bytes, whole: bool, options: CsvOptions, usual: str = ",") -> Dialect:
    """The dialect of a file that begins with these bytes; `whole`: these are all bytes."""
    encoding = options.encoding or _encoding(head)
    text = codecs.getincrementaldecoder(encoding)(errors="replace").decode(head)
    lines = _Lines(text.removeprefix("\ufeff"), whole)
    quote = '"'
    separator = options.separator or _separator(lines, quote, usual)
    if _single_quoted(lines.with_quotes(separator)):
        quote = "'"
        separator = options.separator or _separator(lines, quote, separator)
    decimal = options.decimal or _decimal(lines.cut(separator, quote), separator)
    return Dialect(separator, decimal, quote, encoding)


class _Lines:
    """The first lines of a file, to be split into fields by different separators."""

    def __init__(self, text: str, whole: bool) -> None:
        self._lines = list(io.StringIO(text, newline=""))  # str.splitlines has more separators
        if not whole and len(self._lines) > 1:
            self._lines.pop()  # it may be incomplete

    def cut(self, separator: str, quote: str) -> list[list[str]]:
        """The fields of the header and of the rows."""
        reader = csv.reader(self._lines, delimiter=separator, quotechar=quote)
        found: list[list[str]] = []
        fields = 0
        for row in islice(_until_error(reader), _MOST_LINES):
            found.append(row)
            fields += len(row)
            if fields > _MOST_FIELDS and len(found) > 1:
                break
        return found

    def with_quotes(self, separator: str) -> list[list[str]]:
        """The same line by line, where single quotes around fields are kept."""
        mark = re.escape(separator)
        field = re.compile(rf"(?:^|{mark})('(?:[^']|'')*'(?=$|{mark})|[^{mark}]*)")
        return [field.findall(line.rstrip("\r\n")) for line in self._lines[:_MOST_LINES]]


def _until_error(reader: Iterator[list[str]]) -> Iterator[list[str]]:
    try:
        for fields in reader:
            if fields:
                yield fields
    except csv.Error:  # for example a field of more than 100 kB
        return


def _encoding(head: bytes) -> str:
    for mark, name in _BYTE_ORDER_MARKS:
        if head.startswith(mark):
            return name
    odd, even = head[1:4096:2], head[0:4096:2]
    if len(head) >= 4 and odd.count(0) > 0.7 * len(odd) and even.count(0) == 0:
        return "utf-16-le"
    if len(head) >= 4 and even.count(0) > 0.7 * len(even) and odd.count(0) == 0:
        return "utf-16-be"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)  # the last character may be incomplete
        return "utf-8"
    except UnicodeDecodeError:
        pass
    if any(128 <= byte < 160 for byte in set(head)):
        try:
            head.decode("cp1252")
            return "cp1252"
        except UnicodeDecodeError:
            pass
    return "latin-1"


def _separator(lines: _Lines, quote: str, usual: str) -> str:
    found: dict[str, tuple[float, list[list[str]]]] = {}
    for mark in (usual, *(mark for mark in SEPARATORS if mark != usual)):
        header, *rows = lines.cut(mark, quote) or [[]]
        if len(header) > 1:
            fitting = [row for row in rows if len(row) == len(header)]
            found[mark] = (len(fitting) / len(rows) if rows else 1.0, [header, *fitting])
    most = max((share for share, _ in found.values()), default=0.0)
    best = {mark: rows for mark, (share, rows) in found.items() if share == most}
    if len(best) < 2:
        return next(iter(best), usual)
    return max(best, key=lambda mark: (_share_of_numbers(best[mark]), len(best[mark][0])))


def _share_of_numbers(rows: Sequence[Sequence[str]]) -> float:
    cells = [cell for row in rows[1:] for cell in row]
    readable = sum(any(number(cell, mark) is not None for mark in MARKS) for cell in cells)
    return readable / max(1, len(cells))


def _single_quoted(rows: Sequence[Sequence[str]]) -> bool:
    columns = list(_columns(rows))
    if any('"' in (cell[:1], cell[-1:]) for column in columns for cell in column):
        return False
    return any(
        column and all(len(c) > 1 and c[0] == c[-1] == "'" for c in column) for column in columns
    )


def _decimal(rows: Sequence[Sequence[str]], separator: str) -> str:
    proofs, hints = dict.fromkeys(MARKS, 0), dict.fromkeys(MARKS, 0)
    for column in _columns(rows):
        fits = {mark: all(number(cell, mark) is not None for cell in column) for mark in MARKS}
        for mark, other in (MARKS, MARKS[::-1]):
            if fits[mark] and not fits[other]:
                proofs[mark] += 1
        marked = {mark: sum(mark in cell for cell in column) for mark in MARKS}
        if all(fits.values()) and any(marked.values()):
            mark, other = MARKS if marked["."] else MARKS[::-1]
            hints[mark if marked[mark] == len(column) else other] += 1
    if proofs["."] != proofs[","]:
        return "." if proofs["."] > proofs[","] else ","
    if separator == "," or hints["."] >= hints[","]:
        return "."
    return ","


def _columns(rows: Sequence[Sequence[str]]) -> Iterator[list[str]]:
    """The cells of each column below the header, without gaps."""
    for column in zip_longest(*rows[1:], fillvalue=""):
        cells = [cell.strip() for cell in column]
        yield [cell for cell in cells if not is_gap(cell)]


def _shown(mark: str) -> str:
    return _NAMES.get(mark, mark)


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
        return self.row_names([row])[0]

    def row_names(self, rows: Sequence[int]) -> list[str]:
        """The names of several rows, in one pass over the file."""
        try:
            lines = lines_of_rows(self.path, self.dialect, rows)
        except (csv.Error, OSError, EOFError):  # a very long field, or a truncated file
            lines = {}
        return [f"line {lines[r]}" if r in lines else f"row {r + 1} below the header" for r in rows]


def lines_of_rows(path: Path, dialect: Dialect, rows: Sequence[int]) -> dict[int, int]:
    """The line of each row, counted from 0, that the file has."""
    wanted, last, found = set(rows), max(rows, default=-1), {}
    with pa.input_stream(path) as stream:
        text = io.TextIOWrapper(
            io.BufferedReader(stream), dialect.encoding, errors="replace", newline=""
        )
        reader = csv.reader(text, delimiter=dialect.separator, quotechar=dialect.quote)
        before, row = 0, -1  # the header is a record too
        for fields in reader:
            if fields:  # an empty line has none
                if row in wanted:
                    found[row] = before + 1
                if row >= last:
                    break
                row += 1
            before = reader.line_num
    return found
