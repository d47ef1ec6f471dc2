"""Types for data sets: a loaded data set, its splits, its files, and errors of its sources."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np


class Split(NamedTuple):
    """Indices of the training rows and of the test rows.

    Examples
    --------
    >>> import numpy as np
    >>> from fewknots.datasets import Split
    >>> train, test = Split(train=np.arange(80), test=np.arange(80, 100))
    >>> len(train)
    80
    """

    train: np.ndarray
    test: np.ndarray


class Dataset(NamedTuple):
    """Rows of two classes, or of ten digits, and where they came from.

    `X` is N×D, float64 or, for the large sets, float32; `y` holds 0 and 1, or digits. `splits` is
    empty if none are published. `source` is a text: file, package or server, checksum, and the
    origin of the splits.

    Examples
    --------
    >>> from fewknots import datasets
    >>> datasets.generate("waveform", 100, seed=1).name
    'waveform'
    """

    name: str
    X: np.ndarray
    y: np.ndarray
    feature_names: tuple[str, ...]
    splits: tuple[Split, ...]
    source: str


class Contents(NamedTuple):
    """A data set from one source; `remark` is a note for its users."""

    X: np.ndarray
    y: np.ndarray
    feature_names: tuple[str, ...]
    splits: tuple[Split, ...]
    remark: str


class DataFile(NamedTuple):
    """A file that holds a data set, in a local folder or in the cache of downloads.

    `sha256` is the checksum of the file used for the project's own results. Another file of the
    same format may be used as well; `Dataset.source` then says that it differs.
    """

    name: str
    sha256: str
    read: Callable[[Path], Contents]


class SourceError(Exception):
    """One source does not have the data set, and others may be tried: the message says why."""


def numbered(prefix: str, count: int) -> tuple[str, ...]:
    """Names for columns without names: x1, x2, ..."""
    return tuple(f"{prefix}{i}" for i in range(1, count + 1))
