"""Stands in for fewknots.datasets until that exists: the same names and meaning."""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..exceptions import DataError


class Split(NamedTuple):
    """Row numbers."""

    train: np.ndarray
    test: np.ndarray


class Dataset(NamedTuple):
    """One data set."""

    name: str
    X: np.ndarray
    y: np.ndarray
    feature_names: tuple[str, ...]
    splits: tuple[Split, ...]
    source: str


def load(name: str, folder: Path | None = None) -> Dataset:
    """The IDA file of that name."""
    chosen = folder or os.environ.get("FEWKNOTS_DATA")
    path = Path(chosen or ".") / f"ida_{name}.npz"
    if not path.exists():
        raise DataError(f"{name} was not found: put {path.name} into the folder {path.parent}.")
    with np.load(path) as file:
        splits = zip(file["train_index"], file["test_index"], strict=True)
        return Dataset(
            name,
            file["x"],
            file["y"].astype(int),
            tuple(f"x{i}" for i in range(file["x"].shape[1])),
            tuple(Split(train.astype(int), test.astype(int)) for train, test in splits),
            f"the local file {path.name}",
        )
