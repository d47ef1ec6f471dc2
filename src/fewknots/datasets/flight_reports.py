"""Converts the flight reports of airlines to the table of `flights`.

The same rules are used for all sources of reports. A report contains only the tail number of a
plane, so its year of manufacture is looked up in a register of planes.
"""

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from .flights import DELAY, pyarrow

if TYPE_CHECKING:
    import pyarrow as pa

_OLDEST = 60  # years; larger or negative ages are errors in the register
_LONGEST = 720  # minutes in the air
_FASTEST = 750  # miles an hour
_EMPTY = ["", "NA", "None"]  # how the files write a missing value


class Reports(NamedTuple):
    """Columns of flight reports, NaN where a field is empty; times of day as hhmm."""

    year: np.ndarray
    month: np.ndarray
    day_of_month: np.ndarray
    day_of_week: np.ndarray
    departure: np.ndarray
    arrival: np.ndarray
    air_time: np.ndarray
    elapsed: np.ndarray  # gate to gate, in minutes
    distance: np.ndarray
    delay: np.ndarray
    built: np.ndarray  # the plane's year of manufacture


def read_columns(
    file: Any, text: str, numbers: tuple[str, ...], short_rows: Literal["error", "skip"] = "error"
) -> "pa.Table":
    """One text column and some number columns of an open CSV file."""
    pa = pyarrow()
    types = {text: pa.string()} | dict.fromkeys(numbers, pa.float64())
    options = pa.csv.ConvertOptions(
        include_columns=list(types),
        column_types=types,
        null_values=_EMPTY,
        strings_can_be_null=True,
    )
    parsing = pa.csv.ParseOptions(invalid_row_handler=lambda row: short_rows)
    return pa.csv.read_csv(file, parse_options=parsing, convert_options=options)


def years_built(tails: "pa.ChunkedArray", register: "pa.Table") -> np.ndarray:
    """Years of manufacture of the planes with these tail numbers, NaN where unknown."""
    known = register.filter(register["tailnum"].is_valid())
    place = pyarrow().compute.index_in(tails, value_set=known["tailnum"])
    return known["year"].take(place).to_numpy()


def table(reports: Reports) -> "pa.Table":
    """The completed and plausible flights, in the format of `flights.read`.

    Cancelled and diverted flights have empty fields and are left out. So are flights whose air time
    is zero, longer than the whole journey or than twelve hours, and flights that are too fast.
    """
    pa = pyarrow()
    age = reports.year - reports.built
    age = np.where((age >= 0) & (age <= _OLDEST), age, np.nan)
    columns = {
        "month": reports.month,
        "day_of_month": reports.day_of_month,
        "day_of_week": reports.day_of_week,
        "dep_time": _minutes(reports.departure),
        "arr_time": _minutes(reports.arrival),
        "air_time": reports.air_time,
        "distance": reports.distance,
        DELAY: reports.delay,
    }
    with np.errstate(divide="ignore", invalid="ignore"):
        speed = reports.distance / (reports.air_time / 60.0)
    flown = np.logical_and.reduce([np.isfinite(column) for column in columns.values()])
    flown &= (reports.air_time > 0) & (reports.air_time <= _LONGEST) & (speed <= _FASTEST)
    flown &= ~(reports.air_time > reports.elapsed)  # NaN (unknown elapsed time) passes
    arrays = {name: pa.array(column[flown].astype(np.int16)) for name, column in columns.items()}
    known = np.isfinite(age[flown])
    ages = np.where(known, age[flown], 0).astype(np.int16)
    return pa.table(arrays | {"plane_age": pa.array(ages, mask=~known)})


def _minutes(hhmm: np.ndarray) -> np.ndarray:
    """Minutes after midnight; 2400 is midnight too."""
    return (hhmm // 100 * 60 + hhmm % 100) % 1440
