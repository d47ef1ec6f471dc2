"""Parses the text of cells: a number, a boolean, a date, or a gap.

A CSV holds only text, and other tables may hold numbers and dates as text too. Whole columns are
parsed by Arrow, which is fast. If Arrow cannot parse one of the cells, the distinct texts of this
piece are parsed one by one: they may be gaps (`NA`), have groups of thousands (`1,000`) or be
something else.

| decimal mark | a number  | with groups, by `,` `'` or a hard space  |
|--------------|-----------|------------------------------------------|
| `.`          | `1234.5`  | `1,234.5`                                |
| `,`          | `1234,5`  | `1.234,5`                                |
"""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

MARKS = (".", ",")
# Compared without case and without surrounding spaces. Words count as gaps only if the rest of the
# column is numbers, dates or booleans.
GAP_WORDS = frozenset(
    {
        *("", "na", "n/a", "n.a.", "n.a", "na?", "nan", "null", "none", "nil", "missing"),
        *("unknown", "-", "--", "---", "\u2013", "\u2014", "?", ".", "<na>", "\\n"),
        *("#n/a", "#na", "#value!", "#div/0!", "#ref!", "#num!", "#name?", "#null!"),
    }
)
_USUAL_GAPS = pa.array(["", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "-", "?"])
_FLAGS = {"true": 1.0, "false": 0.0}
_FLAGS_AS_DIGITS = _FLAGS | {"1": 1.0, "0": 0.0}
_MOMENT = re.compile(
    r"\d{4}-\d{2}-\d{2}"
    r"([T ]\d{2}(:\d{2}(:\d{2}([.,]\d{1,9})?)?)? ?(?P<zone>Z|[+-]\d{2}(:?\d{2})?)?)?",
    re.ASCII,
)
_WITH_ZONE = r":\d{2}.*(Z|[+-]\d{2}(:?\d{2})?)\s*$"
_EPOCH = datetime(1970, 1, 1)
MICROSECONDS_A_DAY = 86_400e6


class Read(NamedTuple):
    """A column of texts as numbers."""

    values: np.ndarray  # float64, NaN for gaps and unreadable texts
    unreadable: np.ndarray  # True where the text is neither a gap nor of the expected kind


def is_gap(text: str) -> bool:
    """Whether this text means a missing value."""
    return text.strip().lower() in GAP_WORDS


def number(text: str, decimal: str) -> float | None:
    """The number in the text, or None; infinity is a number."""
    bare = text.strip()
    match = _number_with(decimal).fullmatch(bare)
    if match is None:
        return None
    if match["grouped"]:
        bare = re.sub(r"[,.'\u2019\u00a0\u202f]", "", match["grouped"])
        bare = f"{match['sign']}{bare}.{match['digits'] or '0'}{match['power'] or ''}"
    else:
        bare = bare.replace(decimal, ".")
    return float(bare)


def flag(text: str) -> float | None:
    """1 for true, 0 for false, None otherwise."""
    return _FLAGS.get(text.strip().lower())


def is_moment(text: str) -> bool:
    """Whether this is an ISO 8601 date, with or without a time."""
    return _days(text) is not None


def numbers(cells: pa.Array, decimal: str, flags: bool = False) -> Read:
    """The column as numbers; with `flags`, true and false are read as 1 and 0."""
    try:
        bare = _without_usual_gaps(cells)
        if decimal != ".":
            if pc.any(pc.match_substring(bare, ".")).as_py():
                raise pa.ArrowInvalid("these may be groups of thousands")
            bare = pc.replace_substring(bare, decimal, ".")
        values = bare.cast(pa.float64()).to_numpy(zero_copy_only=False)
        return Read(values, np.zeros(len(values), bool))
    except pa.ArrowInvalid:
        pass
    words = _FLAGS_AS_DIGITS if flags else {}

    def read(text: str) -> float | None:
        known = words.get(text.strip().lower())
        return number(text, decimal) if known is None else known

    return _parse_distinct(cells, read)


def moments(cells: pa.Array) -> Read:
    """The column as days since the beginning of 1970; dates with a time zone in UTC."""
    try:
        return days_since_1970(_without_usual_gaps(cells).cast(pa.timestamp("us")))
    except pa.ArrowInvalid:
        return _parse_distinct(cells, _days)


def days_since_1970(timestamps: pa.Array) -> Read:
    """Timestamps in microseconds as days, NaN for nulls."""
    absent = timestamps.is_null().to_numpy(zero_copy_only=False)
    microseconds = timestamps.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    days = np.where(absent, np.nan, microseconds / MICROSECONDS_A_DAY)
    return Read(days, np.zeros(len(days), bool))


def typed_labels(
    texts: Sequence[str], decimals: Sequence[str]
) -> list[bool | int | float | str | None]:
    """The values of a column of unknown kind: all numbers, all booleans, or texts.

    A gap among numbers or booleans is None. Among texts, only the empty text is a gap, and stays.
    The texts are those of the whole column: what a part of it holds may look like something else.
    Each has the decimal mark of the file that it comes from.
    """
    cells = [*zip(texts, decimals, strict=True)]
    present = [(text, decimal) for text, decimal in cells if not is_gap(text)]
    if present and all(flag(text) is not None for text, _ in present):
        return [None if is_gap(text) else bool(flag(text)) for text in texts]
    if present and all(number(*cell) is not None for cell in present):
        return [None if is_gap(cell[0]) else _int_if_whole(*cell) for cell in cells]
    return [*texts]


def _int_if_whole(text: str, decimal: str) -> int | float:
    value = number(text, decimal)
    assert value is not None
    small = abs(value) < 2**53 and value.is_integer()
    return int(value) if small and decimal not in text else value


def have_zone(cells: pa.Array) -> np.ndarray:
    """Which of the dates have a UTC offset."""
    zoned = pc.match_substring_regex(cells, _WITH_ZONE).fill_null(False)
    return zoned.to_numpy(zero_copy_only=False)


def is_text(dtype: pa.DataType) -> bool:
    """Whether a column of this type holds text."""
    types = pa.types
    return types.is_string(dtype) or types.is_large_string(dtype) or types.is_string_view(dtype)


def distinct(cells: pa.Array) -> list[str]:
    """The distinct texts of a column, in order of appearance."""
    return [text or "" for text in pc.unique(cells).to_pylist()]


def _without_usual_gaps(cells: pa.Array) -> pa.Array:
    gaps = pc.is_in(cells, value_set=_USUAL_GAPS.cast(cells.type))
    return pc.if_else(gaps, pa.scalar(None, cells.type), cells) if pc.any(gaps).as_py() else cells


def _parse_distinct(cells: pa.Array, read: Callable[[str], float | None]) -> Read:
    """Parse each distinct text once: a piece often has far fewer texts than rows."""
    coded = cells.dictionary_encode()
    texts = [text or "" for text in coded.dictionary.to_pylist()]
    found = [None if is_gap(text) else read(text) for text in texts]
    values = np.array([np.nan if value is None else value for value in [*found, None]])
    unreadable = [
        value is None and not is_gap(text) for value, text in zip(found, texts, strict=True)
    ]
    codes = coded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
    return Read(values[codes], np.array([*unreadable, False])[codes])


def _days(text: str) -> float | None:
    bare = text.strip()
    if _MOMENT.fullmatch(bare) is None:
        return None
    try:
        moment = datetime.fromisoformat(re.sub(r" (?=Z|[+-])", "", bare))
    except ValueError:  # such as the 30th of February
        return None
    if moment.tzinfo is not None:
        try:
            moment = moment.astimezone(UTC).replace(tzinfo=None)
        except OverflowError:  # before the year 1 in UTC
            return None
    past = moment - _EPOCH
    return past.days + (past.seconds * 1e6 + past.microseconds) / MICROSECONDS_A_DAY


@cache
def _number_with(decimal: str) -> re.Pattern[str]:
    groups = re.escape("," if decimal == "." else ".") + r"'\u2019\u00a0\u202f"
    mark = re.escape(decimal)
    return re.compile(
        rf"(?P<sign>[+-]?)(?:(?P<grouped>[1-9]\d{{0,2}}(?P<group>[{groups}])\d{{3}}"
        rf"(?:(?P=group)\d{{3}})*)(?:{mark}(?P<digits>\d*))?|\d+(?:{mark}\d*)?|{mark}\d+"
        rf"|inf|infinity)(?P<power>[eE][+-]?\d+)?",
        re.ASCII | re.IGNORECASE,
    )
