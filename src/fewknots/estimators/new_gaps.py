r"""Predictions for rows with a gap in a column that had no gaps in the rows of the fit.

The model learned nothing about such gaps, so the prediction is an average over values. The missing
values of a row x are taken in turn from K of the model's own points z_k (inducing points or rows,
which lie where the rows of the fit lay), all missing values of a row from the same point:

    p(y | x_seen)  ≈  1/K Σ_k p(y | x_seen, z_k,missing).

For a number y, mean and variance are those of this mixture: m = Σ m_k/K and
v = Σ (v_k + (m_k - m)²)/K, which is at least the mean of the v_k.

| symbol   | name        | shape       |
|----------|-------------|-------------|
| z_k      | `points`    | M×D, K used |
| m_k, v_k | `each`      | K×G         |
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp

from ..data.tables import column_name
from ..exceptions import InputWarning, warn

STAND_INS = 16  # K
QUANTILES = (np.arange(64) + 0.5) / 64  # levels that represent a part of the mixture
_ROWS_AT_ONCE = 4096
_SHOWN = 3

Predicted = tuple[np.ndarray, ...]  # the last axis of each array is rows
Predict = Callable[[Float[np.ndarray, "N D"]], Predicted]
Combine = Callable[[Predicted], Predicted]  # combines arrays over their first axis, of length K


def have_gaps(X: Float[np.ndarray, "N D"]) -> bool:
    """Whether any value is NaN. (Every value is finite or NaN.)"""
    return bool(np.isnan(np.sum(X)))


def predicted(
    predict: Predict,
    combine: Combine,
    X: Float[np.ndarray, "N D"],
    points: Callable[[], Float[np.ndarray, "M D"]],
) -> Predicted:
    """`predict` at all rows; for rows with gaps, `combine` of the predictions at K completed
    rows.
    """
    if not have_gaps(X):
        return predict(X)
    gapped = np.flatnonzero(np.isnan(X).any(axis=1))
    Z = points()
    found = [array.copy() for array in predict(filled(X, Z))]
    for first in range(0, len(gapped), _ROWS_AT_ONCE):
        rows = gapped[first : first + _ROWS_AT_ONCE]
        stand_ins = completed(X[rows], Z)
        each = predict(stand_ins.reshape(-1, X.shape[1]))
        apart = tuple(_by_stand_in(array, len(stand_ins)) for array in each)
        for array, own in zip(found, combine(apart), strict=True):
            array[..., rows] = own
    return tuple(found)


def completed(
    X: Float[np.ndarray, "G D"], points: Float[np.ndarray, "M D"]
) -> Float[np.ndarray, "K G D"]:
    """The rows K times, missing values taken from K points.

    Rows with the same gaps use the same points, evenly spaced along the first missing input.
    """
    found = np.repeat(X[None], STAND_INS, axis=0)
    patterns, which = np.unique(np.isnan(X), axis=0, return_inverse=True)
    which = which.reshape(-1)
    for number, absent in enumerate(patterns):
        columns = np.flatnonzero(absent)
        if not len(columns):
            continue
        along = points[np.argsort(points[:, columns[0]], kind="stable")]
        spaced = ((np.arange(STAND_INS) + 0.5) * len(along) / STAND_INS).astype(int)
        rows = np.flatnonzero(which == number)
        found[np.ix_(np.arange(STAND_INS), rows, columns)] = along[spaced][:, None, columns]
    return found


def filled(
    X: Float[np.ndarray, "N D"], points: Float[np.ndarray, "M D"]
) -> Float[np.ndarray, "N D"]:
    """Missing values replaced by the median of the points: for plots, and for rows to learn
    from.
    """
    return np.where(np.isnan(X), np.median(points, axis=0), X) if have_gaps(X) else X


def mean_log_probability(each: Predicted) -> Predicted:
    """The log of the mean probability of every class."""
    return tuple(logsumexp(log_p, axis=0) - np.log(len(log_p)) for log_p in each)


def mixture_moments(each: Predicted) -> Predicted:
    """Mean and variance of a mixture with equal weights."""
    means, variances = each
    mean = means.mean(axis=0)
    return mean, (variances + np.square(means - mean)).mean(axis=0)


def mixture_quantiles(levels: Float[np.ndarray, " Q"]) -> Combine:
    """Quantiles of the mixture, from quantiles of its parts at `levels` and then at `QUANTILES`.

    Each part is represented by its quantiles at mid-levels, the mixture by all these values
    together. Beyond the outermost of these levels a quantile stays between the smallest and the
    largest of the parts.
    """

    def combine(each: Predicted) -> Predicted:
        (values,) = each  # K, Q + F, G
        asked, fine = values[:, : len(levels)], values[:, len(levels) :]
        pooled = fine.reshape(-1, fine.shape[-1])
        found = np.quantile(pooled, levels, axis=0)
        found = np.clip(found, asked.min(axis=0), asked.max(axis=0))
        return (np.concatenate([found, fine.mean(axis=0)]),)

    return combine


def warn_of_new_gaps(X: Float[np.ndarray, "N D"], names: np.ndarray | None) -> None:
    """Warn about columns with new gaps; `names` has one name for each input."""
    absent = np.isnan(X)
    inputs = np.flatnonzero(absent.any(axis=0))
    columns = list(dict.fromkeys(column_name(int(number), names) for number in inputs))
    more = f" and {len(columns) - _SHOWN} more" if len(columns) > _SHOWN else ""
    warn(
        f"{int(absent.any(axis=1).sum()):,} of {len(X):,} rows of X have no value in "
        f"{', '.join(columns[:_SHOWN])}{more}, where no row of the fit had a gap. Their "
        "predictions are averages over values from the fit.",
        InputWarning,
    )


def _by_stand_in(array: np.ndarray, count: int) -> np.ndarray:
    """The K completed rows as a first axis of their own."""
    return np.moveaxis(array.reshape(*array.shape[:-1], count, -1), -2, 0)
