"""The data an experiment needs: whether they can be had, and which they were exactly.

The SHA-256 of a data set goes into every cell's file, so that numbers from one version of the data
are never mixed with numbers from another.
"""

import hashlib
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..datasets import Dataset, load
from ..exceptions import DatasetError


class Found(NamedTuple):
    """A data set that is there."""

    source: str
    sha256: str  # of inputs, labels and splits


class DataSets(NamedTuple):
    """What was found of what an experiment needs, and why the rest was not."""

    found: dict[str, Found]
    missing: dict[str, str]


def gather(names: tuple[str, ...], folder: Path | None) -> DataSets:
    """Look at every data set once. DatasetError if none is there: then there is nothing to run."""
    found, missing = {}, {}
    for name in names:
        try:
            dataset = load(name, folder)
        except DatasetError as error:
            missing[name] = str(error)
        else:
            found[name] = Found(dataset.source, _sha256(dataset))
    if missing and not found:
        raise DatasetError("\n\n".join(missing.values()))
    return DataSets(found, missing)


def _sha256(dataset: Dataset) -> str:
    digest = hashlib.sha256()
    for array in (dataset.X, dataset.y, *(rows for split in dataset.splits for rows in split)):
        digest.update(f"{array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
