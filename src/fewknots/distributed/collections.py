"""Dask collections: recognised without importing Dask, and split into their partitions."""

import sys
from typing import Any, NamedTuple

import numpy as np

from ..exceptions import DataError


class Pieces(NamedTuple):
    """The partitions of a table as delayed objects of Dask, in order: rows, labels, weights."""

    X: list[Any]
    y: list[Any]
    weights: list[Any] | None
    feature_names: tuple[str, ...] | None
    keys: list[Any]  # the scheduler's keys of the partitions of X


def is_dask(X: Any) -> bool:
    """Whether X is a Dask array or dataframe. If it is, Dask has been imported already."""
    return "dask" in sys.modules and hasattr(X, "__dask_graph__") and hasattr(X, "to_delayed")


def is_dataframe(X: Any) -> bool:
    """Whether a Dask collection has named columns."""
    return hasattr(X, "columns") and hasattr(X, "map_partitions")


def pieces(X: Any, y: Any, sample_weight: Any) -> Pieces:
    """The partitions of rows, labels and weights, which must be partitioned alike."""
    names = tuple(str(name) for name in X.columns) if is_dataframe(X) else None
    X, rows = _cut(X, "X", None)
    _, labels = _cut(y, "y", len(rows))
    weights = None
    if sample_weight is not None:
        _, weights = _cut(sample_weight, "sample_weight", len(rows))
    # an array has a list of keys for each block of rows, with one entry here
    keys = [key[0] if isinstance(key, list) else key for key in X.__dask_keys__()]
    return Pieces(rows, labels, weights, names, keys)


def _cut(collection: Any, name: str, partitions: int | None) -> tuple[Any, list[Any]]:
    if not is_dask(collection):
        raise TypeError(
            f"X is a Dask collection, but {name} is a {type(collection).__name__}. Pass a Dask "
            f"array or series cut like X, for instance dask.array.from_array({name}, "
            "chunks=X.chunks[0])."
        )
    if name == "X" and collection.ndim != 2:
        raise DataError(f"X has {collection.ndim} dimensions: expected 2.")
    if name != "X" and collection.ndim != 1:
        raise DataError(f"{name} has {collection.ndim} dimensions: expected 1.")
    if not is_dataframe(collection) and collection.ndim == 2:
        collection = collection.rechunk({1: -1})  # each block has all columns
    delayed = collection.to_delayed()
    found = list(np.ravel(delayed)) if isinstance(delayed, np.ndarray) else list(delayed)
    if partitions is not None and len(found) != partitions:
        raise DataError(
            f"{name} has {len(found)} partitions, but X has {partitions}: they must be cut alike. "
            "Take both from the same dataframe, or rechunk one of them."
        )
    return collection, found
