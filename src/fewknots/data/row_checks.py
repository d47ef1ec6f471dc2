"""Values that no source may hold, and the errors that say where they are.

Every reader ends here, so a missing number is reported in the same words whether it was an empty
CSV field, a null in Parquet or a NaN in an array.
"""

from collections.abc import Callable, Sequence

import numpy as np

from ..exceptions import DataError
from .sources import Place
from .tables import LARGEST_VALUE
from .targets import find_bad_label


def check_features(X: np.ndarray, names: Sequence[object] | None, place: Place) -> None:
    """Every feature is a number to compute with."""
    _check_numbers(X, lambda column: column_name(column, names), place)


def check_weights(weights: np.ndarray, what: str, place: Place) -> None:
    """Every weight is a finite number, zero or more."""
    _check_numbers(weights[:, None], lambda column: what, place)
    if len(weights) and weights.min() < 0:
        row = int(np.argmax(weights < 0))
        raise DataError(
            f"{place.row(row)}: {what} gives the row the weight {weights[row]:g}. A weight says "
            f"how often a row counts and cannot be negative.{place.note}"
        )


def check_labels(labels: np.ndarray, what: str, place: Place) -> None:
    """No label is missing, and each is something that can be one."""
    bad = find_bad_label(labels)
    if bad is None:
        return
    here = place.row(bad.row)
    if bad.reason is None:
        raise missing_value(what, here)
    raise DataError(f"{here}: {what} is {bad.reason}.{here.note}")


def missing_value(what: str, place: Place) -> DataError:
    """The error for a value that is not there."""
    return DataError(
        f"{place}: {what} has no value (empty, null or NaN). Fill it in or leave the row out."
        f"{place.note}"
    )


def column_name(column: int, names: Sequence[object] | None) -> str:
    """What messages call a column: its name, or else its number."""
    return f"column {column}" if names is None else f"column {names[column]!r}"


def _check_numbers(X: np.ndarray, name: Callable[[int], str], place: Place) -> None:
    if X.size == 0 or (X.max() <= LARGEST_VALUE and X.min() >= -LARGEST_VALUE):
        return  # a NaN makes either comparison false, so this one line clears a good block
    row, column = np.argwhere(~(np.abs(X) <= LARGEST_VALUE))[0]
    value, here, what = X[row, column], place.row(int(row)), name(int(column))
    if np.isnan(value):
        raise missing_value(what, here)
    raise DataError(f"{here}: {incomputable(what, value)}{place.note}")


def incomputable(what: str, value: float) -> str:
    """What is wrong with a number that cannot be computed with, and what to do."""
    if np.isinf(value):
        return f"{what} is infinite. Replace it by a number or leave the row out."
    return (
        f"{what} is {value:g}, too large to compute with: the limit is {LARGEST_VALUE:g}. Rescale "
        "that column."
    )
