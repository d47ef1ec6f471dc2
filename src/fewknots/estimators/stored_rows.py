"""Rows of the fit that a model holds as they are, and how to hold none of them.

The posterior of a method without inducing points is held at rows: all of them, or for "ivm" those
it chose. Inducing points can be rows too: where they are chosen among rows and do not move, and
where there are as many of them as rows. With `store_rows=False` methods of the first kind are
refused, and inducing points set out beside rows and never on one (inducing.py).
"""

from typing import Any

import numpy as np
from jaxtyping import Float

from ..posterior import Posterior
from .methods import AnyMethod


def check_stores_none(method: AnyMethod, store_rows: bool) -> None:
    """Refuse a method whose posterior is held by rows, if no row is to be stored."""
    if not store_rows and method.stores_rows:
        raise ValueError(
            f"method={method.name!r} holds rows of X in the fitted model, which store_rows=False "
            "does not allow. Use method='auto' or 'sparse_kl', or store_rows=True."
        )


def check_points_are_no_rows(Z: Float[np.ndarray, "M D"], X: Float[np.ndarray, "N D"]) -> None:
    """Refuse inducing points that the user took from the rows, if no row is to be stored."""
    if count := n_rows_among(Z, X):
        raise ValueError(
            f"{count} of the inducing_points are rows of X, which store_rows=False does not allow. "
            "Give other points, or leave them out: then they are chosen beside the rows."
        )


def check_warm_holds_none(stored_rows: int | None, store_rows: bool) -> None:
    """Refuse to go on from a fit whose points are rows, if no row is to be stored."""
    if not store_rows and stored_rows != 0:
        raise ValueError(
            "warm_start=True goes on from a model that holds rows of X, or may hold some, which "
            "store_rows=False does not allow. Set warm_start=False to begin anew."
        )


def n_stored(method: AnyMethod, posterior: Posterior, X: Float[np.ndarray, "N D"]) -> int:
    """How many of the posterior's points are rows; inducing points were chosen among X."""
    points = posterior.points
    return len(points) if method.stores_rows else n_rows_among(points, X)


def n_rows_among(points: Float[np.ndarray, "M D"], X: Float[np.ndarray, "N D"]) -> int:
    """How many of the points are rows of X, to the last digit of the points' dtype."""
    return int(np.count_nonzero(np.isin(_whole(points, points.dtype), _whole(X, points.dtype))))


def _whole(rows: Any, dtype: np.dtype) -> np.ndarray:
    """Each row as one value, so that rows can be looked up."""
    rows = np.ascontiguousarray(rows, dtype) + dtype.type(0.0)  # zero has one sign
    return rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
