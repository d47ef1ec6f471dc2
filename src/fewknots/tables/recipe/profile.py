"""What the user is shown about a column: its kind and contents, and what looks suspicious.

So a user can correct a wrong guess. Suspicious columns are identifiers, leaks of the target, and
codes that look like numbers. This is guessed from a sample of the rows and only reported: no column
is changed.
"""

import re
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

SKIPPED = "skipped"
AS_SAID = "as you chose"
_LEAST_ROWS = 20
_LEAST_OF_A_CLASS = 10
_ALMOST_ALWAYS = 0.99  # AUC of a column that predicts the target almost perfectly
_ERRORS_LEFT = 0.02  # share of the errors of the majority class
_ZIP_NAME = re.compile(r"(^|[^a-z])(zip|plz|post_?code|postal|postleitzahl)([^a-z]|$|code)", re.I)


class Holds(NamedTuple):
    """Summary of the contents of a column."""

    shown: str  # the range of numbers and dates, or the number of levels
    gaps: int
    notes: tuple[str, ...] = ()
    leading_zeros: bool = False  # as in 01234: a code rather than a number


@dataclass(frozen=True)
class ColumnProfile:
    """One line of the table that `fewknots fit` prints."""

    name: str
    taken_as: str  # "number", "boolean", "date", "text", "skipped", "target" or "weight"
    holds: str
    gaps: int
    notes: tuple[str, ...] = ()

    @property
    def is_unusable(self) -> bool:
        """Whether the column is left out for another reason than the user's choice."""
        return self.taken_as == SKIPPED and self.notes != (AS_SAID,)

    def as_json(self) -> dict[str, Any]:
        """The line as JSON."""
        return {
            "name": self.name,
            "taken_as": self.taken_as,
            "holds": self.holds,
            "gaps": self.gaps,
            "notes": list(self.notes),
        }


def suspicions(
    name: str, kind: str, leading_zeros: bool, values: np.ndarray, y: np.ndarray
) -> tuple[str, ...]:
    """Notes on a column, given one number per row (NaN for a gap) and labels 0, 1, ..."""
    notes = []
    if predicts_target(values, y, ordered=kind != "text"):
        notes.append("a leak? says the target almost by itself")
    if is_identifier(values, kind):
        notes.append("an identifier? every value is different")
    elif leading_zeros:
        notes.append("a zip code, or another code? (leading zeros)")
    elif kind == "number" and _is_zip_code(name, values):
        notes.append("a zip code?")
    return tuple(notes)


def predicts_target(values: np.ndarray, y: np.ndarray, ordered: bool) -> bool:
    """Whether the column alone predicts the labels, except for a few rows."""
    most_errors = _errors(np.zeros(len(y), int), y)  # errors of the majority class
    if most_errors < _LEAST_OF_A_CLASS:
        return False
    absent = np.isnan(values)
    if absent.any() and _errors(absent.astype(int), y) <= _ERRORS_LEFT * most_errors:
        return True
    _, groups = np.unique(values, return_inverse=True)
    if groups.max() + 1 <= len(y) / _LEAST_OF_A_CLASS:
        return _errors(groups, y) <= _ERRORS_LEFT * most_errors
    if y.max() > 1:  # many values and many classes: their order is not considered
        return False
    return ordered and bool(max(auc := _auc(values[~absent], y[~absent]), 1 - auc) > _ALMOST_ALWAYS)


def is_identifier(values: np.ndarray, kind: str) -> bool:
    """Whether all values are different, in a column of whole numbers or texts."""
    present = values[~np.isnan(values)]
    if len(present) < _LEAST_ROWS or kind not in ("number", "text"):
        return False
    whole = kind == "text" or bool(np.all(present == np.floor(present)))
    return whole and len(np.unique(present)) == len(present)


def _is_zip_code(name: str, values: np.ndarray) -> bool:
    present = values[~np.isnan(values)]
    if len(present) == 0 or np.any(present != np.floor(present)) or present.min() < 0:
        return False
    if _ZIP_NAME.search(name):
        return True
    five_digits = present.min() >= 10_000 and present.max() <= 99_999
    different = len(np.unique(present))  # codes repeat, measured numbers seldom do
    return bool(five_digits and 2 < different <= len(present) / 2)


def _errors(groups: np.ndarray, y: np.ndarray) -> int:
    """How many rows do not have the most frequent label of their group."""
    if not len(y):
        return 0
    n_classes = int(y.max()) + 1
    rows = np.bincount(groups * n_classes + y.astype(int), minlength=(groups.max() + 1) * n_classes)
    return len(y) - int(rows.reshape(-1, n_classes).max(axis=1).sum())


def _auc(values: np.ndarray, y: np.ndarray) -> float:
    ones = int(np.sum(y == 1))
    others = len(y) - ones
    if min(ones, others) < _LEAST_OF_A_CLASS:
        return 0.5
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2  # equal values share the mean of their ranks
    return float((ranks[which[y == 1]].sum() - ones * (ones + 1) / 2) / (ones * others))
