"""The kind and contents of a column, so that the user can correct a wrong guess."""

from dataclasses import dataclass
from typing import Any, NamedTuple

SKIPPED = "skipped"
AS_SAID = "as you say"


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
