"""Flights reported by the U.S. Bureau of Transportation Statistics, one file per month.

The paper has 5.9 million flights, "January 2008 to April 2008". The Bureau has 2.4 million in these
four months and 7.0 million in the whole year; later work with the same eight features has 5,929,413
complete rows of 2008. So the whole year is downloaded: twelve zip files of about 25 MB, each with
one CSV table. Years of manufacture come from the register of planes that was published with the
same reports for the Data Expo 2009 of the American Statistical Association.
"""

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from . import cache
from .cache import download
from .dataset import SourceError
from .flights import Reports, pyarrow, read_columns, table, write, years_built

if TYPE_CHECKING:
    import pyarrow as pa

YEAR = 2008
MONTHS = tuple(range(1, 13))
REPORTS = (
    "https://transtats.bts.gov/PREZIP/"
    "On_Time_Reporting_Carrier_On_Time_Performance_1987_present_{year}_{month}.zip"
)
PLANES = (
    "https://dataverse.harvard.edu/api/access/datafile/:persistentId"
    "?persistentId=doi:10.7910/DVN/HG7NV7/XXSL8A"
)
SOURCE = (
    f"on-time reports of {YEAR} by the U.S. Bureau of Transportation Statistics, ages of planes "
    "from doi:10.7910/DVN/HG7NV7/XXSL8A"
)
_TAIL = "Tail_Number"
# The Bureau's column names for the fields of `Reports`, in order, except the year of manufacture.
_COLUMNS = (
    "Year",
    "Month",
    "DayofMonth",
    "DayOfWeek",
    "DepTime",
    "ArrTime",
    "AirTime",
    "ActualElapsedTime",
    "Distance",
    "ArrDelay",
)


def fetch(
    path: Path, reports: str = REPORTS, planes: str = PLANES, months: tuple[int, ...] = MONTHS
) -> None:
    """Download missing files, and write `airline_8feature.parquet` from them.

    The files of the months are kept until the table is written, so an interrupted download can be
    continued; then they are deleted.
    """
    pyarrow()  # if it is missing, an error before 300 MB are downloaded
    kept = [download(planes, path.with_name("planes.csv"))]
    for month in months:
        target = path.with_name(f"on_time_{YEAR}_{month}.zip")
        kept.append(download(reports.format(year=YEAR, month=month), target))
    register = _read(kept[0], _planes)
    write(path, [_read(archive, lambda file: _month(file, register)) for archive in kept[1:]])
    for file in kept:
        cache.forget(file)


def _read(path: Path, read):
    """`read` a downloaded file; a file that cannot be read is deleted."""
    try:
        return read(path)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:  # Arrow's are ValueErrors
        cache.forget(path)
        raise SourceError(
            f"{path.name} was downloaded but cannot be read; it was removed, to be downloaded "
            "again "
            f"({type(error).__name__}: {error})"
        ) from error


def _month(path: Path, register: "pa.Table") -> "pa.Table":
    """The flights of one month, from the only CSV file in the archive."""
    with zipfile.ZipFile(path) as archive:
        (content,) = (name for name in archive.namelist() if name.lower().endswith(".csv"))
        with archive.open(content) as file:
            found = read_columns(file, _TAIL, _COLUMNS)
    built = years_built(found[_TAIL], register)
    return table(Reports._make([*(found[name].to_numpy() for name in _COLUMNS), built]))


def _planes(path: Path) -> "pa.Table":
    """The register of planes; rows that have only a tail number, without commas, are skipped."""
    with path.open("rb") as file:
        return read_columns(file, "tailnum", ("year",), short_rows="skip")
