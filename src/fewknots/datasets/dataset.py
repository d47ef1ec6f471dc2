"""What a data set is once it is loaded, and on its way there."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np


class Split(NamedTuple):
    """Numbers of the rows to learn from and of those held out."""

    train: np.ndarray
    test: np.ndarray


class Dataset(NamedTuple):
    """Rows of two classes, and where they came from.

    `X` is N×D, float64 or, for the large sets, float32; `y` holds 0 and 1. `splits` is empty where
    nobody published any. `source` is for the record: file, package or server, checksum, and what
    is known of the splits.
    """

    name: str
    X: np.ndarray
    y: np.ndarray
    feature_names: tuple[str, ...]
    splits: tuple[Split, ...]
    source: str


class Contents(NamedTuple):
    """A data set as one source gives it: `remark` is what a user of it should know."""

    X: np.ndarray
    y: np.ndarray
    feature_names: tuple[str, ...]
    splits: tuple[Split, ...]
    remark: str


class DataFile(NamedTuple):
    """A file that holds a data set, alike in a local folder and in the cache of downloads.

    `sha256` is that of the file the project's own results come from. Another file of the same form
    may be used as well; `Dataset.source` then says that it is another.
    """

    name: str
    sha256: str
    read: Callable[[Path], Contents]


class SourceError(Exception):
    """One source cannot give the data set, and others may be tried: the message says why."""


def numbered(prefix: str, count: int) -> tuple[str, ...]:
    """Names for columns that have none: x1, x2, ..."""
    return tuple(f"{prefix}{i}" for i in range(1, count + 1))
