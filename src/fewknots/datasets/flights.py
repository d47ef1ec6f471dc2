"""The flights: eight features of each flight, and whether it arrived late.

The features are those of Hensman, Fusi & Lawrence ("Gaussian processes for big data", 2013), whose
data the paper classifies. `airline_8feature.parquet` has a column for each of them and `arr_delay`,
in minutes; a flight is late if this is above zero. Only complete rows are used; only the age of the
plane may be missing.

The flight reports of airlines are converted to that table by the same rules for all sources of
reports. A report contains only the tail number of a plane, so its year of manufacture is looked up
in a register of planes.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from ..extras import how_to_install
from ..files.container import replacing
from .array_files import unusable
from .dataset import Contents, SourceError, Split

if TYPE_CHECKING:
    import pyarrow as pa

FEATURES = (
    "month",
    "day_of_month",
    "day_of_week",  # 1 is Monday
    "dep_time",  # actual, in minutes after local midnight
    "arr_time",
    "air_time",  # minutes
    "distance",  # miles
    "plane_age",  # years since manufacture
)
DELAY = "arr_delay"
_HELD_OUT = 100_000  # rows, as in the paper; a tenth of smaller tables
_OLDEST = 60  # years; larger or negative ages are errors in the register
_LONGEST = 720  # minutes in the air
_FASTEST = 750  # miles an hour
_EMPTY = ["", "NA", "None"]  # how the files write a missing value


def pyarrow() -> Any:
    """The module pyarrow; if it is missing, an error that says what to install."""
    try:
        import pyarrow.compute
        import pyarrow.csv
        import pyarrow.parquet
    except ImportError as error:
        raise SourceError(f"it needs pyarrow ({how_to_install('stream')})") from error
    return pyarrow


def write(path: Path, tables: "list[pa.Table]") -> None:
    """Write all tables to one Parquet file, atomically."""
    pa = pyarrow()
    with replacing(path) as temporary:
        pa.parquet.write_table(pa.concat_tables(tables), temporary, compression="zstd")


def read(path: Path) -> Contents:
    """The complete rows of `airline_8feature.parquet`, or of another file with its columns."""
    pa = pyarrow()
    wanted = [*FEATURES, DELAY]
    try:
        names = pa.parquet.read_schema(path).names
        found = pa.parquet.read_table(path, columns=[name for name in wanted if name in names])
    except (pa.ArrowException, OSError) as error:
        raise unusable(path, f"it is damaged or no Parquet file ({error})") from error
    if missing := [name for name in wanted if name not in names]:
        raise unusable(path, f"it has no {' and no '.join(missing)}")
    return contents(found)


def contents(found: "pa.Table") -> Contents:
    """Complete rows as float32, with the split that this project's results use."""
    X = np.empty((found.num_rows, len(FEATURES)), np.float32)
    for i, name in enumerate(FEATURES):
        X[:, i] = found[name].to_numpy()  # NaN where null
    delay = found[DELAY].to_numpy()
    complete = np.isfinite(X).all(axis=1) & np.isfinite(delay)
    X, late = X[complete], delay[complete] > 0
    held_out = min(_HELD_OUT, len(X) // 10)
    order = np.random.default_rng(0).permutation(len(X))
    return Contents(
        X,
        late.astype(int),
        FEATURES,
        (Split(order[held_out:], order[:held_out]),),
        f"complete rows; {held_out:,} held out by numpy's default_rng(0); 1 is late",
    )


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
