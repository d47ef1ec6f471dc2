"""What is wrong with a row: errors and reasons that name the row and the column.

Every reader uses these checks, so the message for a missing number is the same for an empty CSV
field, a null in Parquet and a NaN in an array.

A recipe converts what it can: it returns *reasons* for the rows that it cannot convert to numbers,
as texts for the user, and encodes the others. A caller that needs all rows, such as a fit, raises
the first reason as an error.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from ..exceptions import DataError
from .sources import Place
from .tables import LARGEST_VALUE, column_name
from .targets import find_bad_label

if TYPE_CHECKING:
    import pyarrow as pa

Reasons = dict[int, str]  # key: the number of the row in the current piece

_MOST_SHOWN = 60  # characters of a cell
_EXAMPLES = {"number": "", "date": " such as 2024-12-31 or 2024-12-31 23:59"}


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


def missing(name: str, absent: np.ndarray) -> Reasons:
    """The reason for missing values in a column that had none in training."""
    reason = (
        f"column {name!r} has no value, and none was missing in the rows that the model was "
        "fitted to"
    )
    return dict.fromkeys(map(int, np.flatnonzero(absent)), reason)


def not_a(kind: str, column: "pa.Array", name: str, unreadable: np.ndarray) -> Reasons:
    """The reason for cells that are not of the column's kind."""
    return {
        int(row): f"column {name!r} is {_shown(column[row])}, which is not a {kind}"
        + _EXAMPLES[kind]
        for row in np.flatnonzero(unreadable)
    }


def joined(first: Reasons, second: Reasons) -> Reasons:
    """Merge reasons; if a row has two, one follows the other in the text."""
    if not first or not second:
        return first or second
    both = {row: f"{first[row]}; {second[row]}" for row in first.keys() & second.keys()}
    return first | second | both


def refuse(reasons: Reasons, place: Place) -> NoReturn:
    """Raise the first reason as an error."""
    row = min(reasons)
    raise DataError(
        f"{place.row(row)}: {reasons[row]}. Correct it, or leave the row out.{place.note}"
    )


def refuse_other_cells(reasons: Reasons, name: str, place: Place) -> None:
    """Raise an error if cells of a column are not of the kind of its first rows."""
    if reasons:
        row = min(reasons)
        raise DataError(
            f"{place.row(row)}: {reasons[row]}, though the column's first rows are. Correct it, or "
            f"say what the column holds: --column {name}=text, or =skip to leave it out; with "
            f"=number or =date what is neither is a gap.{place.note}"
        )


def _shown(cell: "pa.Scalar") -> str:
    text = str(cell.as_py())
    return repr(text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + "...")
