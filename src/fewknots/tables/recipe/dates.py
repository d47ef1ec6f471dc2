"""Columns of days and times.

A date becomes the number of days since 1970 and its position on up to three circles: year, week and
day, each with two features sin(2πt) and cos(2πt). A circle is used only if the dates cover a good
part of it: a table of one afternoon has no information about the seasons.

Dates with a time zone are converted to local time. A missing date becomes the mean date and the
centre of each circle, and a further feature is 1; if none was missing in training, its features are
NaN (`recipe`). A time of the day without a date is a part of the first day.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...data import cells
from ...data.cells import MICROSECONDS_A_DAY, Read
from ...data.row_checks import Reasons, not_a, refuse_other_cells
from ...data.sources import Place
from ...exceptions import DataError, ModelFileError
from ...files.model_format import field, finite, flag, optional, text, texts
from .profile import Holds

DAYS_A_YEAR = 365.2425
MONDAY = 4  # 1 January 1970 was a Thursday
# A circle is used if the first and last date are at least so many days apart.
_LEAST_SPAN = {"day of year": 60.0, "day of week": 3.0}
CIRCLES = ("day of year", "day of week", "time of day")


@dataclass(frozen=True)
class Date:
    """A column of dates, with or without a time of day."""

    name: str
    circles: tuple[str, ...]
    fill: float | None  # in days since 1970; None if no date was missing
    zone: str | None
    words_are_gaps: bool = False  # whether text that is not a date counts as missing

    kind = "date"

    @property
    def feature_names(self) -> tuple[str, ...]:
        names = [f"{self.name}: days since 1970"]
        for circle in self.circles:
            names += [f"{self.name}: {circle} (sin)", f"{self.name}: {circle} (cos)"]
        return tuple(names) if self.fill is None else (*names, f"{self.name} (missing)")

    def encode(self, column: pa.Array, features: np.ndarray, place: Place) -> Reasons:
        days, unreadable = as_days(column, self.name, self.zone, place)
        reasons = {} if self.words_are_gaps else not_a("date", column, self.name, unreadable)
        absent = np.isnan(days)
        features[:, 0] = days
        for number, circle in enumerate(self.circles):
            turns = _turns(circle, days)
            features[:, 1 + 2 * number] = np.sin(2 * np.pi * turns)
            features[:, 2 + 2 * number] = np.cos(2 * np.pi * turns)
        if self.fill is not None:
            features[absent] = 0.0
            features[absent, 0] = self.fill
            features[:, -1] = absent
        return reasons

    def header(self) -> dict[str, Any]:
        circles = list(self.circles)
        option = {"words_are_gaps": True} if self.words_are_gaps else {}
        return {
            "name": self.name,
            "circles": circles,
            "fill": self.fill,
            "zone": self.zone,
        } | option

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> "Date":
        circles = texts(header, "circles")
        if not set(circles) <= set(CIRCLES):
            raise ModelFileError(f"its recipe has circles other than {', '.join(CIRCLES)}.")
        name, words_are_gaps = field(header, "name", str), flag(header, "words_are_gaps")
        fill, zone = optional(header, "fill", finite), optional(header, "zone", text)
        return cls(name, circles, fill, zone, words_are_gaps)


class DateLearner:
    """Learns a `Date` in one pass over a column."""

    kind = Date.kind

    def __init__(self, name: str, zone: str | None, words_are_gaps: bool = False) -> None:
        self._name, self._zone, self._words_are_gaps = name, zone, words_are_gaps
        self._sum, self._present, self._absent, self._words = 0.0, 0, 0, 0
        self._first, self._last = np.inf, -np.inf
        self._has_times = False

    def add(self, column: pa.Array, place: Place) -> None:
        days, unreadable = as_days(column, self._name, self._zone, place)
        if not self._words_are_gaps:
            refuse_other_cells(not_a("date", column, self._name, unreadable), self._name, place)
        self._words += int(unreadable.sum())
        present = days[~np.isnan(days)]
        self._absent += len(days) - len(present)
        if len(present) == 0:
            return
        self._sum += float(present.sum())
        self._present += len(present)
        self._first = min(self._first, float(present.min()))
        self._last = max(self._last, float(present.max()))
        self._has_times = self._has_times or bool(np.any(present != np.floor(present)))

    def learned(self, n_rows: int) -> "Date | str":
        if self._present == 0:
            if self._words:
                raise DataError(
                    f"column {self._name!r} holds no date such as 2024-12-31 in any row."
                )
            return "has no value in any row"
        if self._first == self._last and not self._absent:
            return "never changes"
        span = self._last - self._first
        circles = [circle for circle, least in _LEAST_SPAN.items() if span >= least]
        if self._has_times:
            circles.append("time of day")
        fill = self._sum / self._present if self._absent else None
        return Date(self._name, tuple(circles), fill, self._zone, self._words_are_gaps)

    def holds(self) -> Holds:
        if self._present == 0:
            return Holds("", self._absent)
        first, last = (_shown(days, self._has_times) for days in (self._first, self._last))
        notes = (f"{self._words:,} cells are not dates: gaps",) if self._words else ()
        return Holds(f"{first} to {last}", self._absent, notes)

    def sample(self, column: pa.Array, place: Place) -> np.ndarray:
        return as_days(column, self._name, self._zone, place).values


def as_days(column: pa.Array, name: str, zone: str | None, place: Place) -> Read:
    """Days since the beginning of 1970, NaN where a date is missing or cannot be read."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if cells.is_text(column.type):
        return _written_days(column.cast(pa.large_string()), zone)
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        # pyarrow would read 2024 as 2024 microseconds
        raise DataError(
            f"{place.name}: column {name!r} holds numbers, but the model was fitted to days or "
            "times there. Write them as 2024-12-31 or 2024-12-31 23:59:00."
        )
    try:
        if pa.types.is_time(column.type):
            column = column.cast(pa.time64("ns")).cast(pa.int64()).cast(pa.timestamp("ns"))
        if pa.types.is_timestamp(column.type) and column.type.tz is not None:
            moments = column.cast(pa.timestamp("us", zone or column.type.tz), safe=False)
            moments = pc.local_timestamp(moments)
        else:
            moments = column.cast(pa.timestamp("us"), safe=False)
    except (pa.ArrowException, ValueError) as error:
        raise DataError(
            f"{place.name}: column {name!r} cannot be read as days or times ({error}). Write them "
            "as 2024-12-31 or 2024-12-31 23:59:00."
        ) from error
    return cells.days_since_1970(moments)


def _written_days(column: pa.Array, zone: str | None) -> Read:
    """Dates from text; those with a UTC offset are converted to the local time of `zone`."""
    read = cells.moments(column)
    if zone in (None, "UTC"):
        return read
    days, there = read.values.copy(), cells.have_zone(column) & ~np.isnan(read.values)
    microseconds = np.round(days[there] * MICROSECONDS_A_DAY).astype(np.int64)
    local = pc.local_timestamp(pa.array(microseconds).cast(pa.timestamp("us", zone)))
    days[there] = local.cast(pa.int64()).to_numpy(zero_copy_only=False) / MICROSECONDS_A_DAY
    return Read(days, read.unreadable)


def _shown(days: float, with_time: bool) -> str:
    moment = np.datetime64("1970-01-01T00:00:00") + np.timedelta64(round(days * 86_400), "s")
    return str(moment.astype("datetime64[m]" if with_time else "datetime64[D]")).replace("T", " ")


def _turns(circle: str, days: np.ndarray) -> np.ndarray:
    """Position on the circle, in turns."""
    if circle == "time of day":
        return days
    whole = np.floor(days)  # week and year do not use the time of day
    return (whole - MONDAY) / 7.0 if circle == "day of week" else whole / DAYS_A_YEAR
