r"""Predictions where a value is missing that never was in the rows of the fit.

Nothing was learned of such a gap, so the value is averaged over. What is missing in a row x is
taken in turn from K of the model's own points z_k, which lie where the rows of the fit did
(inducing points, or rows), all missing inputs of a row from the same point:

    p(y | x_seen)  ≈  1/K Σ_k p(y | x_seen, z_k,missing).

For a number y, mean and variance are those of this mixture: m = Σ m_k/K and
v = Σ (v_k + (m_k - m)²)/K, never less than what one value put in place would give on average.

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
QUANTILES = (np.arange(64) + 0.5) / 64  # levels at which a part of a mixture is known
_ROWS_AT_ONCE = 4096
_SHOWN = 3

Predicted = tuple[np.ndarray, ...]  # rows are the last axis of each
Predict = Callable[[Float[np.ndarray, "N D"]], Predicted]
Combine = Callable[[Predicted], Predicted]  # of arrays with K as first axis: without it


def have_gaps(X: Float[np.ndarray, "N D"]) -> bool:
    """Whether any value is NaN; every value is finite or NaN."""
    return bool(np.isnan(np.sum(X)))


def predicted(
    predict: Predict,
    combine: Combine,
    X: Float[np.ndarray, "N D"],
    points: Callable[[], Float[np.ndarray, "M D"]],
) -> Predicted:
    """`predict` at all rows; at those with gaps the `combine` of it at their stand-ins."""
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
    """The rows K times, what is missing taken from K points.

    Rows with the same gaps share theirs: evenly spaced along the first missing input.
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
    """The median of the points for what is missing: for pictures, and for rows to learn from."""
    return np.where(np.isnan(X), np.median(points, axis=0), X) if have_gaps(X) else X


def mean_log_probability(each: Predicted) -> Predicted:
    """The log of the mean probability of every class."""
    return tuple(logsumexp(log_p, axis=0) - np.log(len(log_p)) for log_p in each)


def mixture_moments(each: Predicted) -> Predicted:
    """Mean and variance of a mixture of equal parts."""
    means, variances = each
    mean = means.mean(axis=0)
    return mean, (variances + np.square(means - mean)).mean(axis=0)


def mixture_quantiles(levels: Float[np.ndarray, " Q"]) -> Combine:
    """Quantiles of the mixture, from those of its parts at `levels` and then at `QUANTILES`.

    Each part is its quantiles at mid-levels, and the mixture all of these values together. A level
    beyond the outermost of them stays between the least and the largest of the parts'.
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
    """Say which columns have gaps that the fit knew nothing of; `names` has one for each input."""
    absent = np.isnan(X)
    inputs = np.flatnonzero(absent.any(axis=0))
    columns = list(dict.fromkeys(column_name(int(number), names) for number in inputs))
    more = f" and {len(columns) - _SHOWN} more" if len(columns) > _SHOWN else ""
    warn(
        f"{int(absent.any(axis=1).sum()):,} of {len(X):,} rows of X have no value in "
        f"{', '.join(columns[:_SHOWN])}{more}, where no row of the fit had a gap. What is said of "
        "them is an average over values of the fit.",
        InputWarning,
    )


def _by_stand_in(array: np.ndarray, count: int) -> np.ndarray:
    """Stand-ins as an axis of their own, the first."""
    return np.moveaxis(array.reshape(*array.shape[:-1], count, -1), -2, 0)
