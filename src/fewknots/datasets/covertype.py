"""Forest cover types, by scikit-learn's `fetch_covtype`, which checks a SHA-256 itself."""

import tempfile
from pathlib import Path

import numpy as np

from . import array_files
from .cache import RETRIES, fetching
from .dataset import numbered

SOURCE = "scikit-learn's fetch_covtype"
_NAMES = (
    "Elevation",
    "Aspect",
    "Slope",
    "Horizontal_Distance_To_Hydrology",
    "Vertical_Distance_To_Hydrology",
    "Horizontal_Distance_To_Roadways",
    "Hillshade_9am",
    "Hillshade_Noon",
    "Hillshade_3pm",
    "Horizontal_Distance_To_Fire_Points",
    *numbered("Wilderness_Area", 4),
    *numbered("Soil_Type", 40),
)


def fetch(path: Path) -> None:
    """Download the 581,012 rows and write them to `path`."""
    from sklearn.datasets import fetch_covtype

    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".covtype-", dir=path.parent) as scratch:
        with fetching():
            X, cover = fetch_covtype(data_home=scratch, return_X_y=True, **RETRIES)
        write(path, X, cover)


def write(path: Path, X: np.ndarray, cover: np.ndarray) -> None:
    """Lodgepole pine (cover type 2) against the rest: two classes of nearly equal size."""
    arrays = {"x": X.astype(np.int16), "y": (cover == 2).astype(np.int8)}
    array_files.write(path, arrays | {"feature_names": np.array(_NAMES)})
