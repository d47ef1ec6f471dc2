"""Data sets from OpenML, by scikit-learn's `fetch_openml`, converted to this package's files.

scikit-learn checks the download against the MD5 that OpenML publishes. We check the number of rows
and of the positive class, since another data set may have the same name.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from . import array_files
from .cache import RETRIES, fetching
from .dataset import SourceError
from .ida import drawn_splits, scaled

if TYPE_CHECKING:
    import pandas as pd

Arrays = dict[str, np.ndarray]

_ELECTRICITY = ("period", "nswprice", "nswdemand", "vicprice", "vicdemand", "transfer")
_ADULT_NUMBERS = ("age", "education-num", "capital-gain", "capital-loss", "hours-per-week")
_ADULT_WORDS = (
    "workclass",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "native-country",
)


class OpenmlSet(NamedTuple):
    """One data set of OpenML, its expected size, and its conversion to the arrays of a file."""

    title: str
    version: int
    rows: int
    ones: int  # rows of the class that becomes 1
    is_one: Callable[["pd.Series"], np.ndarray]
    arrays: Callable[["pd.DataFrame", "pd.Series", np.ndarray], Arrays]  # (data, target, is one)

    @property
    def source(self) -> str:
        return f"OpenML's {self.title}, version {self.version}"


def fetch(wanted: OpenmlSet, path: Path) -> None:
    """Download a data set and write it to `path`."""
    from sklearn.datasets import fetch_openml

    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".openml-", dir=path.parent) as scratch:
        with fetching():
            found = fetch_openml(
                wanted.title,
                version=wanted.version,
                data_home=scratch,
                as_frame=True,
                **RETRIES,
            )
        is_one = wanted.is_one(found.target)
        if (len(is_one), is_one.sum()) != (wanted.rows, wanted.ones):
            raise SourceError(
                f"it has {len(is_one)} rows and {is_one.sum()} of the class that is to be 1, where "
                f"{wanted.rows} and {wanted.ones} were expected: it is another data set"
            )
        array_files.write(path, wanted.arrays(found.data, found.target, is_one))


def _mnist(data: "pd.DataFrame", target: "pd.Series", is_one: np.ndarray) -> Arrays:
    """The first six sevenths, 60,000 of 70,000, are MNIST's training images."""
    images = data.to_numpy(np.uint8).reshape(-1, 28, 28)
    digits = target.astype(np.uint8).to_numpy()
    n_train = 6 * len(images) // 7
    return {
        "train_images": images[:n_train],
        "train_labels": digits[:n_train],
        "test_images": images[n_train:],
        "test_labels": digits[n_train:],
    }


def _of_ida(name: str) -> Callable[["pd.DataFrame", "pd.Series", np.ndarray], Arrays]:
    """Scale a table like IDA's, and draw splits of IDA's sizes."""

    def arrays(data: "pd.DataFrame", target: "pd.Series", is_one: np.ndarray) -> Arrays:
        splits = drawn_splits(name, len(data))
        return {
            "x": scaled(data.to_numpy(np.float64)),
            "y": is_one.astype(np.int8),
            "train_index": np.stack([split.train for split in splits]),
            "test_index": np.stack([split.test for split in splits]),
            "split_is_original": np.zeros(len(splits), bool),
        }

    return arrays


def _electricity(data: "pd.DataFrame", target: "pd.Series", is_one: np.ndarray) -> Arrays:
    """All inputs except the date and the day of the week; rows in the order of time."""
    return {
        "x": data[list(_ELECTRICITY)].to_numpy(np.float32),
        "y": is_one.astype(np.int8),
        "feature_names": np.array(_ELECTRICITY),
    }


def _adult(data: "pd.DataFrame", target: "pd.Series", is_one: np.ndarray) -> Arrays:
    """Numbers unchanged, and one column for every category; "missing" is a category too."""
    columns = {name: data[name].to_numpy(np.int32) for name in _ADULT_NUMBERS}
    for name in _ADULT_WORDS:
        words = data[name].astype(object).fillna("unknown").to_numpy().astype(str)
        for word in np.unique(words):
            columns[f"{name}={word}"] = (words == word).astype(np.int32)
    names = [name.partition("=") for name in columns]
    return {
        "x": np.column_stack(list(columns.values())),
        "y": is_one.astype(np.int8),
        "feature_names": np.array([f"{n.replace('-', '_')}{e}{w}" for n, e, w in names]),
    }


_MNIST = OpenmlSet(
    "mnist_784", 1, 70_000, 35_582, lambda digit: digit.astype(int).to_numpy() % 2 == 1, _mnist
)
SETS = {
    "mnist_odd_even": _MNIST,
    "mnist_digits": _MNIST,
    "heart": OpenmlSet(
        "heart-statlog", 1, 270, 120, lambda word: (word == "present").to_numpy(), _of_ida("heart")
    ),
    "thyroid": OpenmlSet(
        "thyroid-new",
        1,
        215,
        65,
        lambda word: (word.astype(str) != "1").to_numpy(),
        _of_ida("thyroid"),
    ),
    "adult": OpenmlSet(
        "adult", 2, 48_842, 11_687, lambda word: (word == ">50K").to_numpy(), _adult
    ),
    "electricity": OpenmlSet(
        "electricity", 1, 45_312, 19_237, lambda word: (word == "UP").to_numpy(), _electricity
    ),
}
