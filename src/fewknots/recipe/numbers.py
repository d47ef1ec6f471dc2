"""Columns of numbers, and of true and false.

A number stands for itself. Where some are missing in the rows that a recipe is learned from, a
missing one becomes the mean of the others, and a second feature says that it was missing: the model
can then learn what that means. Where none was missing nothing is known about it, so a missing value
that turns up later is an error.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ..data.row_checks import check_features
from ..data.sources import Place
from ..exceptions import DataError
from .header import field, finite, optional


@dataclass(frozen=True)
class Number:
    """A column of numbers."""

    name: str
    fill: float | None  # stands for a missing value; None where there were none

    kind = "number"

    @property
    def feature_names(self) -> tuple[str, ...]:
        return (self.name,) if self.fill is None else (self.name, f"{self.name} (missing)")

    def csv_type(self, guessed: pa.DataType) -> pa.DataType:
        return pa.float64()

    def encode(self, column: pa.Array, features: np.ndarray, place: Place) -> None:
        values = as_numbers(column, self.name, place)
        absent = np.isnan(values)
        if absent.any() and self.fill is None:
            raise unforeseen(self.name, place.row(int(np.argmax(absent))))
        features[:, 0] = values
        if self.fill is not None:
            features[absent, 0] = self.fill
            features[:, 1] = absent
        check_features(features[:, :1], (self.name,), place)

    def header(self) -> dict[str, Any]:
        return {"name": self.name, "fill": self.fill}

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> "Number":
        return cls(field(header, "name", str), optional(header, "fill", finite))


class Flag(Number):
    """A column of true and false: 1 and 0."""

    kind = "boolean"

    def csv_type(self, guessed: pa.DataType) -> pa.DataType:
        return pa.bool_()


class NumberLearner:
    """Sees a column once, to learn a `Number` or a `Flag` from it."""

    def __init__(self, name: str, cls: type[Number]) -> None:
        self._name, self._cls = name, cls
        self._sum, self._present, self._absent = 0.0, 0, 0
        self._lowest, self._highest = np.inf, -np.inf

    def add(self, column: pa.Array, place: Place) -> None:
        """Take note of these rows."""
        values = as_numbers(column, self._name, place)
        absent = np.isnan(values)
        present = np.where(absent, 0.0, values)
        check_features(present[:, None], (self._name,), place)
        self._sum += float(present.sum())
        self._absent += int(absent.sum())
        self._present += int((~absent).sum())
        if not absent.all():
            self._lowest = min(self._lowest, float(np.nanmin(values)))
            self._highest = max(self._highest, float(np.nanmax(values)))

    def learned(self, n_rows: int) -> "Number | str":
        """What was learned, or why the column cannot be used."""
        if self._present == 0:
            return "has no value in any row"
        if self._lowest == self._highest and not self._absent:
            return "never changes"
        return self._cls(self._name, self._sum / self._present if self._absent else None)


def as_numbers(column: pa.Array, name: str, place: Place) -> np.ndarray:
    """The column as float64, NaN where a value is missing."""
    try:
        if pa.types.is_boolean(column.type):
            column = column.cast(pa.uint8())
        numbers = column.cast(pa.float64(), safe=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise DataError(
            f"{place.name}: column {name!r} holds {column.type}, which cannot be read as numbers "
            f"({error}). The model was fitted to a column of numbers."
        ) from error
    return numbers.to_numpy(zero_copy_only=False)


def unforeseen(name: str, place: Place) -> DataError:
    """The error for a missing value in a column that never had one."""
    return DataError(
        f"{place}: column {name!r} has no value, and none was missing in the rows that the model "
        "was fitted to. Fill it in, or leave the row out. (Rows are counted from 0.)"
    )
