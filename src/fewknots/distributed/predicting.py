"""Lazy predictions for Dask collections: the result is a Dask collection, not computed yet.

The model is a node of its own in Dask's graph, on which the prediction of every partition depends.
So a worker receives it once and keeps it while there are partitions left, and what a model prepares
at its first use (a local model: an index of all its rows) is prepared once per worker. As an
argument of each task it would be sent and prepared once per partition. Dask can recompute a node if
a worker is lost; scattered data would be lost with the worker.
"""

from copy import copy
from typing import Any

import dask
import numpy as np

from ..data.tables import is_dataframe
from ..exceptions import DataError


def predicted(estimator: Any, method: str, X: Any) -> Any:
    """`estimator.method` of every partition of X.

    A Dask array gives a Dask array. A dataframe gives a series with its index or, for
    probabilities, a dataframe with a column for each class.
    """
    like = _like(estimator, method)
    if is_dataframe(X):
        return _of_dataframe(estimator, method, X, like)
    names = getattr(estimator, "feature_names_in_", None)
    X = X.rechunk({1: -1})
    model = _node(estimator)
    if like.ndim == 1:
        return X.map_blocks(
            _of_block, model, method, names, dtype=like.dtype, drop_axis=1, meta=like[:0]
        )
    chunks = (X.chunks[0], (like.shape[1],))
    return X.map_blocks(
        _of_block, model, method, names, dtype=like.dtype, chunks=chunks, meta=like[:0]
    )


def _node(estimator: Any) -> Any:
    """A copy of the model: the estimator may change before the graph is computed."""
    model = copy(estimator).set_params(callback=None)  # may not be picklable, and is not needed
    return dask.delayed(model, pure=True)  # pure: the same key in all graphs


def _like(estimator: Any, method: str) -> np.ndarray:
    """An example of the prediction for one row: its shape and dtype."""
    if method == "predict":
        return estimator.classes_[:1]
    n_classes = len(estimator.classes_)
    several = "proba" in method or n_classes > 2  # a decision of two classes is one number
    return np.zeros((1, n_classes) if several else 1)


def _of_block(X, estimator, method, names, block_info=None):
    number = block_info[0]["chunk-location"][0] if block_info else 0
    if not len(X):
        return _like(estimator, method)[:0]
    if names is not None:
        import pandas as pd

        X = pd.DataFrame(X, columns=names)
    return _at_partition(estimator, method, X, number)


def _of_dataframe(estimator: Any, method: str, X: Any, like: np.ndarray) -> Any:
    import pandas as pd

    if like.ndim == 1:
        meta = pd.Series(like[:0], name="prediction")
    else:
        meta = pd.DataFrame(like[:0], columns=list(estimator.classes_))
    meta.index = X._meta.index[:0]
    return X.map_partitions(_of_part, _node(estimator), method, meta, meta=meta)


def _of_part(part, estimator, method, meta, partition_info=None):
    import pandas as pd

    if not len(part):
        return meta
    number = partition_info["number"] if partition_info else 0
    found = _at_partition(estimator, method, part, number)
    if found.ndim == 1:
        return pd.Series(found, index=part.index, name=meta.name)
    return pd.DataFrame(found, index=part.index, columns=meta.columns)


def _at_partition(estimator, method, X, number):
    try:
        return getattr(estimator, method)(X)
    except ValueError as error:
        raise DataError(f"partition {number}: {error}") from error
