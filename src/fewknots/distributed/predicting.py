"""Lazy predictions for Dask collections: the result is a Dask collection, not computed yet.

The model is a node of its own in Dask's graph, on which the prediction of every partition depends.
So a worker receives it once and keeps it while there are partitions left, and what a model prepares
at its first use (a local model: an index of all its rows) is prepared once per worker. As an
argument of each task it would be sent and prepared once per partition. Dask can recompute a node if
a worker is lost; scattered data would be lost with the worker.
"""

from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple

import dask
import numpy as np

from ..data.tables import is_dataframe
from ..exceptions import DataError


def predicted(
    estimator: Any,
    method: str,
    X: Any,
    like: np.ndarray,
    names: Sequence[Any] | None = None,
    *arguments: Any,
) -> Any:
    """`estimator.method` of every partition of X, and of `arguments`.

    A Dask array gives a Dask array. A dataframe gives a series with its index, or a dataframe with
    columns of these names.

    like : an example of the prediction for one row: its shape and dtype
    """
    asked = Asked(method, arguments, like)
    if is_dataframe(X):
        return _of_dataframe(estimator, asked, X, names)
    columns = getattr(estimator, "feature_names_in_", None)
    X = X.rechunk({1: -1})
    model = _node(estimator)
    if like.ndim == 1:
        return X.map_blocks(
            _of_block, model, asked, columns, dtype=like.dtype, drop_axis=1, meta=like[:0]
        )
    chunks = (X.chunks[0], (like.shape[1],))
    return X.map_blocks(
        _of_block, model, asked, columns, dtype=like.dtype, chunks=chunks, meta=like[:0]
    )


class Asked(NamedTuple):
    """What every partition is asked for."""

    method: str
    arguments: tuple[Any, ...]
    like: np.ndarray


def _node(estimator: Any) -> Any:
    """A copy of the model: the estimator may change before the graph is computed."""
    model = copy(estimator).set_params(callback=None)  # may not be picklable, and is not needed
    return dask.delayed(model, pure=True)  # pure: the same key in all graphs


def _of_block(X, estimator, asked, columns, block_info=None):
    number = block_info[0]["chunk-location"][0] if block_info else 0
    if not len(X):
        return asked.like[:0]
    if columns is not None:
        import pandas as pd

        X = pd.DataFrame(X, columns=columns)
    return _at_partition(estimator, asked, X, number)


def _of_dataframe(estimator: Any, asked: Asked, X: Any, names: Any) -> Any:
    import pandas as pd

    if asked.like.ndim == 1:
        meta = pd.Series(asked.like[:0], name="prediction")
    else:
        meta = pd.DataFrame(asked.like[:0], columns=list(names))
    meta.index = X._meta.index[:0]
    return X.map_partitions(_of_part, _node(estimator), asked, meta, meta=meta)


def _of_part(part, estimator, asked, meta, partition_info=None):
    import pandas as pd

    if not len(part):
        return meta
    number = partition_info["number"] if partition_info else 0
    found = _at_partition(estimator, asked, part, number)
    if found.ndim == 1:
        return pd.Series(found, index=part.index, name=meta.name)
    return pd.DataFrame(found, index=part.index, columns=meta.columns)


def _at_partition(estimator, asked, X, number):
    try:
        return getattr(estimator, asked.method)(X, *asked.arguments)
    except ValueError as error:
        raise DataError(f"partition {number}: {error}") from error
