"""What a column was taken for, so that a wrong guess is seen at once."""

from dataclasses import dataclass
from typing import Any, NamedTuple

SKIPPED = "skipped"
AS_SAID = "as you say"


class Holds(NamedTuple):
    """What a pass over a column saw."""

    shown: str  # the range of numbers and dates, the number of levels
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
    def is_of_no_use(self) -> bool:
        """Whether the column is left out, and the user has not said so."""
        return self.taken_as == SKIPPED and self.notes != (AS_SAID,)

    def as_json(self) -> dict[str, Any]:
        """The line for programs."""
        return {
            "name": self.name,
            "taken_as": self.taken_as,
            "holds": self.holds,
            "gaps": self.gaps,
            "notes": list(self.notes),
        }
