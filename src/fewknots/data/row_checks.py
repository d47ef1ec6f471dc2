"""Checks of rows: errors and reasons that name the row and the column.

Every reader uses these checks, so the message for a missing number is the same for an empty CSV
field, a null in Parquet and a NaN in an array.

A recipe converts what it can: it returns *reasons* for the rows that it cannot convert to numbers,
as texts for the user, and encodes the others. A caller that needs all rows, such as a fit, raises
the first reason as an error.

Predictions for rows so far away that numbers overflow are refused, with the row's number.
A kernel that grows with its inputs, such as linear * linear, leaves the range of its dtype at rows
of 1e80 and more (in float32 long before). No fixed limit on inputs is right for every kernel, so
the result is checked: a mean, variance or probability that is not finite is an error. Kernels that
fall to zero with the distance need no limit: they return their prior.
"""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, TypeVar

import numpy as np

from ..exceptions import DataError
from .sources import Place, missing_value
from .tables import LARGEST_VALUE, column_name
from .targets import find_bad_label

if TYPE_CHECKING:
    import pyarrow as pa

Reasons = dict[int, str]  # key: the number of the row in the current piece

_MOST_SHOWN = 60  # characters of a cell
_EXAMPLES = {"number": "", "date": " such as 2024-12-31 or 2024-12-31 23:59"}
_P = ParamSpec("_P")
_R = TypeVar("_R")


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
            f"give the kind of the column: --column {name}=text, or =skip to leave it out; with "
            f"=number or =date other values count as gaps.{place.note}"
        )


def _shown(cell: "pa.Scalar") -> str:
    text = str(cell.as_py())
    return repr(text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + "...")


class OutOfReachError(DataError):
    """The first row of those given for which there is no finite prediction."""

    def __init__(self, row: int, dtype: np.dtype, where: str | None = None) -> None:
        self.row, self.dtype = row, dtype
        wider = ", or fit with dtype='float64'" if dtype == np.float32 else ""
        super().__init__(
            f"{f'row {row} of X' if where is None else where} is so far from the rows of the fit "
            f"that the kernel overflows {dtype.name} there. Correct the row or leave it out{wider}."
        )

    def at(self, place: Any) -> "OutOfReachError":
        """The same error where rows are known by their place in a source."""
        return OutOfReachError(self.row, self.dtype, str(place.row(self.row)))


def refusing_overflow(predict: Callable[_P, _R]) -> Callable[_P, _R]:
    """Give only finite numbers. The function's last arguments are posterior, standardiser, X."""

    @wraps(predict)
    def guarded(*arguments: _P.args, **options: _P.kwargs) -> _R:
        with np.errstate(over="ignore", invalid="ignore"):
            found = predict(*arguments, **options)
        posterior: Any = arguments[-3]
        check_finite(found if isinstance(found, tuple) else (found,), posterior.points.dtype)
        return found

    return guarded


def check_finite(columns: tuple[Any, ...], dtype: np.dtype) -> None:
    """Refuse predictions with anything but finite numbers in them; rows are their last axis."""
    for column in columns:
        finite = np.isfinite(column)
        finite = finite.all(axis=tuple(range(finite.ndim - 1)))
        if not finite.all():
            raise OutOfReachError(int(np.argmin(finite)), dtype)
