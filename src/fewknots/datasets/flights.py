"""The flights: eight features of each flight, and whether it arrived late.

The features are those of Hensman, Fusi & Lawrence ("Gaussian processes for big data", 2013), whose
data the paper classifies. `airline_8feature.parquet` has a column for each of them and `arr_delay`,
in minutes; a flight is late if this is above zero. Only complete rows are used; only the age of the
plane may be missing.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

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
