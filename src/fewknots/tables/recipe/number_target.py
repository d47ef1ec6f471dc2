"""The target as numbers, and the decision whether a target is numbers or classes."""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from ...data.row_checks import Reasons, joined, not_a, refuse
from ...data.sources import Place
from ...data.table_columns import label_kind
from ...data.tables import LARGEST_VALUE
from ...exceptions import DataError, ModelFileError
from ...files.model_format import field
from .arrow_numbers import as_numbers
from .labels import LabelLearner, Labels
from .profile import ColumnProfile

CLASSES, NUMBERS = "classes", "numbers"
# Up to this many distinct numbers are classes, unless the user chooses.
_MOST_WHOLE, _MOST_FRACTIONS = 50, 10
_REMEMBERED = 1000  # distinct numbers; more are numbers in any case


@dataclass(frozen=True)
class NumberTarget:
    """The column with the numbers to predict."""

    target: str
    learns: ClassVar = NUMBERS
    n_classes: ClassVar = 0
    positive: ClassVar = None

    def codes(self, column: pa.Array, place: Place) -> Float[np.ndarray, " N"]:
        """The number of each row; raise an error for a row without a number."""
        y, reasons, _ = self.codes_where_known(column, place)
        if reasons:
            refuse(reasons, place)
        return y

    def codes_where_known(
        self, column: pa.Array, place: Place
    ) -> tuple[Float[np.ndarray, " N"], Reasons, Counter[str]]:
        """The same, and why some rows have no number (0 stands for it), as in `Labels`."""
        y, unreadable = as_numbers(column, self.target, place)
        absent = np.isnan(y) & ~unreadable
        none = f"column {self.target!r} has no number"
        large = f"column {self.target!r} is infinite or too large"
        with np.errstate(invalid="ignore"):
            out_of_range = np.abs(y) > LARGEST_VALUE
        reasons: Reasons = dict.fromkeys(map(int, np.flatnonzero(absent)), none)
        reasons |= dict.fromkeys(map(int, np.flatnonzero(out_of_range)), large)
        reasons = joined(reasons, not_a("number", column, self.target, unreadable))
        return np.where(np.abs(y) <= LARGEST_VALUE, y, 0.0), reasons, Counter()

    def header(self) -> dict[str, Any]:
        """The target as JSON."""
        return {"target": self.target, "learns": NUMBERS}

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> "NumberTarget":
        """Read and check what `header` wrote."""
        return cls(field(header, "target", str))


Target = Labels | NumberTarget


def target_from_header(header: dict[str, Any]) -> Target:
    """Classes or numbers, from a model file; older files that do not say it have classes."""
    learns = header.get("learns", CLASSES)
    if learns not in (CLASSES, NUMBERS):
        raise ModelFileError("its target is neither classes nor numbers.")
    return (NumberTarget if learns == NUMBERS else Labels).from_header(header)


class TargetLearner:
    """Reads the target once, to find out whether it is numbers or classes, and which classes.

    It is numbers if every value is a number (not true or false) and there are more than 50 distinct
    whole numbers, or more than 10 distinct numbers of which some are not whole.
    """

    def __init__(self, target: str, allowed: tuple[str, ...]) -> None:
        """`allowed` : what the target may be, "classes" or "numbers" or both."""
        self._target, self._allowed = target, allowed
        self._labels = LabelLearner(target) if CLASSES in allowed else None
        self._numbers = _NumberLearner(target) if NUMBERS in allowed else None

    def add(self, column: pa.Array, place: Place) -> np.ndarray | None:
        """Add these rows; returns the numbers of their classes while they may be classes."""
        if (
            self._numbers is not None
            and self._labels is not None
            and not self._numbers.could_be(column, place)
        ):
            self._numbers = None
        if self._numbers is not None:
            self._numbers.add(column, place)
            if self._numbers.must_be:
                self._labels = None  # checked first, since too many classes are an error
            if self._labels is None:
                self._numbers.check_complete()
        return None if self._labels is None else self._labels.add(column, place)

    def found(self, positive: str | None) -> Target:
        """The target."""
        if self._labels is not None and not self._is_numbers:
            return self._labels.labels(positive)
        if positive is not None:
            raise DataError(
                f"--positive chooses between two labels, but {self._target!r} holds numbers, "
                "which are learned as numbers. Leave it out, or add --task classification."
            )
        assert self._numbers is not None
        self._numbers.check_complete()
        self._numbers.check_several()
        return NumberTarget(self._target)

    def profile(self) -> ColumnProfile:
        """The target's line in the table of columns."""
        if self._labels is not None and not self._is_numbers:
            profile = self._labels.profile()
            if self._numbers is None or not self._numbers.are_several:
                return profile
            note = "a number? --task regression learns it as a number"
            return replace(profile, notes=(*profile.notes, note))
        assert self._numbers is not None
        return self._numbers.profile(by_guess=len(self._allowed) > 1)

    @property
    def _is_numbers(self) -> bool:
        return self._numbers is not None and (self._labels is None or self._numbers.are_many)


class _NumberLearner:
    """Statistics of a column of numbers: its range, and whether it has many distinct numbers."""

    def __init__(self, target: str) -> None:
        self._target, self._of = target, NumberTarget(target)
        self._distinct: np.ndarray = np.empty(0)
        self._low, self._high = np.inf, -np.inf
        self._incomplete: tuple[Reasons, Place] | None = None

    def could_be(self, column: pa.Array, place: Place) -> bool:
        """Whether all of these cells are numbers; booleans and categories are not."""
        if pa.types.is_boolean(column.type) or pa.types.is_dictionary(column.type):
            return False
        kind = label_kind(pa.schema([(self._target, column.type)]), self._target)
        if kind != "numbers" and not (kind == "text" and place.layout.cells_are_text):
            return False  # in a file with column types, text is text
        _, unreadable = as_numbers(column, self._target, place)
        return not unreadable.any()

    def add(self, column: pa.Array, place: Place) -> None:
        """Take note of these rows."""
        y, reasons, _ = self._of.codes_where_known(column, place)
        if reasons:
            self._incomplete = self._incomplete or (reasons, place)
            y = np.delete(y, list(reasons))
        if not len(y):
            return
        self._low, self._high = min(self._low, y.min()), max(self._high, y.max())
        if len(self._distinct) <= _REMEMBERED:
            self._distinct = np.union1d(self._distinct, y)

    @property
    def are_many(self) -> bool:
        """Whether they are numbers rather than classes."""
        whole = bool(np.all(self._distinct == np.round(self._distinct)))
        return len(self._distinct) > (_MOST_WHOLE if whole else _MOST_FRACTIONS)

    @property
    def are_several(self) -> bool:
        """Whether they may be counts or amounts, although they are few enough for classes."""
        return len(self._distinct) > _MOST_FRACTIONS

    @property
    def must_be(self) -> bool:
        """Whether there are too many for classes."""
        return len(self._distinct) > _REMEMBERED

    def check_complete(self) -> None:
        """Raise an error unless every row has a number."""
        if self._incomplete is not None:
            refuse(*self._incomplete)

    def check_several(self) -> None:
        """Raise an error if all rows have the same number."""
        if len(self._distinct) < 2:
            raise DataError(
                f"column {self._target!r} is {self._low:g} in every row: there is nothing to learn."
            )

    def profile(self, by_guess: bool) -> ColumnProfile:
        holds = f"{self._low:g} to {self._high:g}"
        note = ("learned as a number (regression); --task classification for classes",)
        return ColumnProfile(self._target, "target", holds, 0, note if by_guess else ())
