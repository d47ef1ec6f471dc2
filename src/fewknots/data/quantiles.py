r"""Weighted quantiles of columns, and a robust centre and scale.

A single large value changes mean and standard deviation, but hardly a quantile. A row of weight 2
counts as the row given twice.

The scale of a column is the median distance from its median, of the rows that are not at the median
(times 1.4826, with which it is the standard deviation of a normal column). If no row
is at the median, this is the usual median absolute deviation; but a count that is zero in most
rows also has a positive scale.
"""

import numpy as np
from jaxtyping import Bool, Float

_NORMAL = 1.4826022185056018  # 1 / Φ⁻¹(3/4)
_SAME = 1e-9  # rounding of sums, relative to the total weight
_LARGEST = 1e30  # largest value in units of the scale: float32 ends at 3e38


def quantiles(
    X: Float[np.ndarray, "N D"], weights: Float[np.ndarray, " N"], levels: Float[np.ndarray, " P"]
) -> Float[np.ndarray, "P D"]:
    """The quantiles of each column for these shares of the weight.

    If a share ends between two rows, it is the mean of both.
    """
    found = np.empty((len(levels), X.shape[1]))
    for column, values in enumerate(X.T):
        order = np.argsort(values, kind="stable")
        reached = np.cumsum(weights[order])
        wanted, same = levels * reached[-1], _SAME * reached[-1]
        low = np.searchsorted(reached, wanted - same, side="left")
        high = np.searchsorted(reached, wanted + same, side="right")
        last = len(order) - 1
        ends = values[order[np.minimum(low, last)]], values[order[np.minimum(high, last)]]
        found[:, column] = 0.5 * ends[0] + 0.5 * ends[1]
    return found


def centre_and_scale(
    X: Float[np.ndarray, "N D"], weights: Float[np.ndarray, " N"]
) -> tuple[Float[np.ndarray, " D"], Float[np.ndarray, " D"]]:
    """The median of each column, and its scale; 1 for a column that never changes."""
    half = np.array([0.5])
    centre = quantiles(X, weights, half)[0]
    scale = np.ones_like(centre)
    for column, values in enumerate(X.T):
        away = np.abs(values - centre[column])
        counted = np.where(away > 0.0, weights, 0.0)
        if counted.any():
            scale[column] = _NORMAL * quantiles(away[:, None], counted, half)[0, 0]
    farthest = np.max(np.abs(X - centre), axis=0)
    return centre, np.maximum(scale, farthest / _LARGEST)


def has_many_values(
    X: Float[np.ndarray, "N D"], weights: Float[np.ndarray, " N"], least: int
) -> Bool[np.ndarray, " D"]:
    """Whether each column has at least so many distinct values."""
    counted = X[weights > 0]
    ordered = np.sort(counted, axis=0)
    return 1 + np.count_nonzero(np.diff(ordered, axis=0), axis=0) >= least
