"""Checks of the values of rows, with errors that name the row and the column.

Every reader uses these checks, so the message for a missing number is the same for an empty CSV
field, a null in Parquet and a NaN in an array.
"""

from collections.abc import Callable, Sequence

import numpy as np

from ..exceptions import DataError
from .sources import Place
from .tables import LARGEST_VALUE
from .targets import find_bad_label


def check_features(X: np.ndarray, names: Sequence[object] | None, place: Place) -> None:
    """Check that every feature is a finite number below the limit."""
    _check_numbers(X, lambda column: column_name(column, names), place)


def check_weights(weights: np.ndarray, what: str, place: Place) -> None:
    """Check that every weight is a finite number, zero or more."""
    _check_numbers(weights[:, None], lambda column: what, place)
    if len(weights) and weights.min() < 0:
        row = int(np.argmax(weights < 0))
        raise DataError(
            f"{place.row(row)}: {what} gives the row the weight {weights[row]:g}. A weight says "
            f"how often a row counts and cannot be negative.{place.note}"
        )


def check_labels(labels: np.ndarray, what: str, place: Place) -> None:
    """Check that no label is missing, and that each is a possible label."""
    bad = find_bad_label(labels)
    if bad is None:
        return
    here = place.row(bad.row)
    if bad.reason is None:
        raise missing_value(what, here)
    raise DataError(f"{here}: {what} is {bad.reason}.{here.note}")


def missing_value(what: str, place: Place) -> DataError:
    """The error for a missing value."""
    return DataError(
        f"{place}: {what} has no value (empty, null or NaN). Fill it in or leave the row out."
        f"{place.note}"
    )


def column_name(column: int, names: Sequence[object] | None) -> str:
    """A column in messages: its name, or its number if it has no name."""
    return f"column {column}" if names is None else f"column {names[column]!r}"


def _check_numbers(X: np.ndarray, name: Callable[[int], str], place: Place) -> None:
    if X.size == 0 or (X.max() <= LARGEST_VALUE and X.min() >= -LARGEST_VALUE):
        return  # all good: NaN would make a comparison false
    row, column = np.argwhere(~(np.abs(X) <= LARGEST_VALUE))[0]
    value, here, what = X[row, column], place.row(int(row)), name(int(column))
    if np.isnan(value):
        raise missing_value(what, here)
    raise DataError(f"{here}: {_out_of_range(what, value)}{place.note}")


def _out_of_range(what: str, value: float) -> str:
    """Message for a number that is infinite or too large."""
    if np.isinf(value):
        return f"{what} is infinite. Replace it by a number or leave the row out."
    return (
        f"{what} is {value:g}, too large to compute with: the limit is {LARGEST_VALUE:g}. Rescale "
        "that column."
    )
