"""Columns of numbers and booleans.

A number is its own feature. If some numbers are missing in the training rows, a missing number
becomes the mean of the others, and a second feature says that it was missing: the model can then
learn what this means. If none was missing in training, the feature of a missing value is NaN, and
the caller decides what becomes of such a row (`recipe`). Durations are numbers of days.

A column is a pyarrow array, or a NumPy array of float64 with NaN for gaps: an array with gaps needs
no pyarrow.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...data.row_checks import Reasons, check_features, not_a, refuse_other_cells
from ...data.sources import Place
from ...data.tables import LARGEST_VALUE
from ...exceptions import DataError
from ...files.model_format import field, finite, flag, optional
from .profile import Holds


@dataclass(frozen=True)
class Number:
    """A column of numbers."""

    name: str
    fill: float | None  # replaces a missing value; None if none was missing
    words_are_gaps: bool = False  # whether text that is not a number counts as missing

    kind = "number"
    flags = False  # whether the texts true and false are accepted

    @property
    def feature_names(self) -> tuple[str, ...]:
        return (self.name,) if self.fill is None else (self.name, f"{self.name} (missing)")

    def encode(self, column: Any, features: np.ndarray, place: Place) -> Reasons:
        values, unreadable = self.read(column, place)
        reasons = {} if self.words_are_gaps else not_a("number", column, self.name, unreadable)
        absent = np.isnan(values)
        for row in np.flatnonzero(np.abs(values) > LARGEST_VALUE):
            limit = f"{values[row]:g}, too large to compute with (the limit is {LARGEST_VALUE:g})"
            reasons[int(row)] = (
                f"column {self.name!r} is {'infinite' if np.isinf(values[row]) else limit}"
            )
        features[:, 0] = values
        if self.fill is not None:
            features[absent, 0] = self.fill
            features[:, 1] = absent
        return reasons

    def read(self, column: Any, place: Place) -> tuple[np.ndarray, np.ndarray]:
        """The cells as float64, and which of them are neither a number nor a gap."""
        return _read(column, self.name, place, self.flags)

    def header(self) -> dict[str, Any]:
        option = {"words_are_gaps": True} if self.words_are_gaps else {}
        return {"name": self.name, "fill": self.fill} | option

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> "Number":
        fill = optional(header, "fill", finite)
        return cls(field(header, "name", str), fill, flag(header, "words_are_gaps"))


class Flag(Number):
    """A column of booleans, as 1 and 0."""

    kind = "boolean"
    flags = True


class NumberLearner:
    """Learns a `Number` or a `Flag` in one pass over a column."""

    def __init__(self, name: str, cls: type[Number], words_are_gaps: bool = False) -> None:
        self._name, self._cls, self._words_are_gaps = name, cls, words_are_gaps
        self._sum, self._present, self._absent, self._words = 0.0, 0, 0, 0
        self._lowest, self._highest = np.inf, -np.inf
        self._leading_zeros = False
        self.kind = cls.kind

    def add(self, column: Any, place: Place) -> None:
        values, unreadable = self._read(column, place)
        if not self._words_are_gaps:
            refuse_other_cells(not_a("number", column, self._name, unreadable), self._name, place)
        absent = np.isnan(values)
        present = np.where(absent, 0.0, values)
        check_features(present[:, None], (self._name,), place)
        self._sum += float(present.sum())
        self._absent += int(absent.sum())
        self._words += int(unreadable.sum())
        self._present += int((~absent).sum())
        if not absent.all():
            self._lowest = min(self._lowest, float(np.nanmin(values)))
            self._highest = max(self._highest, float(np.nanmax(values)))

    def learned(self, n_rows: int) -> "Number | str":
        if self._present == 0:
            if self._words:
                raise DataError(f"column {self._name!r} holds no number in any row.")
            return "has no value in any row"
        if self._lowest == self._highest and not self._absent:
            return "never changes"
        return self._column(self._sum / self._present if self._absent else None)

    def _column(self, fill: float | None) -> Number:
        return self._cls(self._name, fill, self._words_are_gaps)

    def _read(self, column: Any, place: Place) -> tuple[np.ndarray, np.ndarray]:
        return self._column(None).read(column, place)

    def holds(self) -> Holds:
        if self._present == 0:
            return Holds("", self._absent)
        both = (self._lowest, self._highest)
        names = ["true" if value else "false" for value in dict.fromkeys(both)]
        if not self._cls.flags:
            names = [_shown(value) for value in dict.fromkeys(both)]
        shown = (", " if self._cls.flags else " to ").join(names)
        notes = (f"{self._words:,} cells are not numbers: gaps",) if self._words else ()
        return Holds(shown, self._absent, notes, self._leading_zeros)

    def sample(self, column: Any, place: Place) -> np.ndarray:
        if not self._leading_zeros and not isinstance(column, np.ndarray):
            from .arrow_numbers import have_leading_zeros

            self._leading_zeros = have_leading_zeros(column)
        return self._read(column, place)[0]


def _shown(value: float) -> str:
    return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:.6g}"


def _read(column: Any, name: str, place: Place, flags: bool) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(column, np.ndarray):
        return column, np.zeros(len(column), bool)
    from .arrow_numbers import as_numbers

    return as_numbers(column, name, place, flags)
