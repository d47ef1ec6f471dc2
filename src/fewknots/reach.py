"""Predictions for rows so far away that numbers overflow: refused, with the row's number.

A kernel that grows with its inputs, such as linear * linear, leaves the range of its dtype at rows
of 1e80 and more (in float32 long before). No limit on inputs alone would be right for every kernel,
so the result is looked at: a mean, variance or probability that is no finite number is an error.
Kernels that fall to zero with the distance need none, and keep giving their prior.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from .exceptions import DataError

_P = ParamSpec("_P")
_R = TypeVar("_R")


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
