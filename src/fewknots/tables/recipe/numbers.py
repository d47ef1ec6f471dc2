"""Columns of numbers and booleans.

A number is its own feature. If some numbers are missing in the training rows, a missing number
becomes the mean of the others, and a second feature says that it was missing: the model can then
learn what this means. If none was missing in training, a row with a missing value cannot be scored
later.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...data import cells
from ...data.cells import Read
from ...data.row_checks import Reasons, check_features, missing, not_a, refuse_other_cells
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

    def encode(self, column: pa.Array, features: np.ndarray, place: Place) -> Reasons:
        values, unreadable = as_numbers(column, self.name, place, self.flags)
        reasons = {} if self.words_are_gaps else not_a("number", column, self.name, unreadable)
        absent = np.isnan(values)
        if self.fill is None:
            reasons = missing(self.name, absent) | reasons
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

    def header(self) -> dict[str, Any]:
        said = {"words_are_gaps": True} if self.words_are_gaps else {}
        return {"name": self.name, "fill": self.fill} | said

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

    def add(self, column: pa.Array, place: Place) -> None:
        values, unreadable = as_numbers(column, self._name, place, self._cls.flags)
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
        fill = self._sum / self._present if self._absent else None
        return self._cls(self._name, fill, self._words_are_gaps)

    def holds(self) -> Holds:
        if self._present == 0:
            return Holds("", self._absent)
        both = (self._lowest, self._highest)
        names = ["true" if value else "false" for value in dict.fromkeys(both)]
        if not self._cls.flags:
            names = [_shown(value) for value in dict.fromkeys(both)]
        shown = (", " if self._cls.flags else " to ").join(names)
        notes = (f"{self._words:,} cells are no numbers: gaps",) if self._words else ()
        return Holds(shown, self._absent, notes, self._leading_zeros)

    def sample(self, column: pa.Array, place: Place) -> np.ndarray:
        if cells.is_text(column.type) and not self._leading_zeros:
            self._leading_zeros = bool(pc.any(pc.match_substring_regex(column, r"^0\d+$")).as_py())
        return as_numbers(column, self._name, place, self._cls.flags).values


def _shown(value: float) -> str:
    return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:.6g}"


def as_numbers(column: pa.Array, name: str, place: Place, flags: bool = False) -> Read:
    """The column as float64, NaN where a value is missing or cannot be read."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if cells.is_text(column.type):
        return cells.numbers(column.cast(pa.large_string()), place.layout.decimal, flags)
    try:
        if pa.types.is_boolean(column.type):
            column = column.cast(pa.uint8())
        numbers = column.cast(pa.float64(), safe=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise DataError(
            f"{place.name}: column {name!r} holds {column.type}, which cannot be read as numbers "
            f"({error}). The model was fitted to a column of numbers."
        ) from error
    return Read(numbers.to_numpy(zero_copy_only=False), np.zeros(len(column), bool))
