"""How many of the rows given a model learned from, and what there is to say about it.

Each text is one or two sentences: `checked_on` for who reads a page about the model, `note` for
who gave the command.
"""

from typing import NamedTuple

_NOTABLY_ALIKE = 0.01  # a share of the rows of the fit that equal another one


class Overlap(NamedTuple):
    """Rows given, and what the model's fingerprints tell of them."""

    given: int
    checked: int  # that can be told apart: fewer than all where only a share has fingerprints
    new: int  # of those
    share: float  # of all rows, that has fingerprints
    alike: float  # the share of the rows of the fit that equal another one

    @property
    def learned_from(self) -> int | None:
        """Of all rows given; an estimate if not all could be checked, None if none could."""
        if self.checked == 0:
            return None
        return round(self.given * (self.checked - self.new) / self.checked)

    @property
    def exact(self) -> bool:
        """Whether every row could be checked."""
        return self.share >= 1.0

    def nothing_new(self) -> str:
        """Why there is nothing to score, and what to do."""
        return (
            f"the model learned from all {rows(self.checked)} given, so they cannot tell how good "
            "it is. Give rows that are new to it, or no file at all to score the rows held out at "
            f"the fit; --all-rows scores these rows all the same.{self._looks_alike()}"
        )

    def of_all(self) -> tuple[str, str]:
        """(checked_on, note) if all rows given are scored."""
        if self.checked == 0:
            told = (
                f"{rows(self.given)}. It cannot be known whether the model learned from them: it "
                f"can tell for about one row in {round(1.0 / self.share):,}, and none of these is "
                "one."
            )
            return told, told
        if self.new < self.checked:
            about = "" if self.exact else "about "
            told = (
                f"All {rows(self.given)} given. The model learned from {about}"
                f"{self.learned_from:,} of them, so these scores may look better than those of "
                "new rows."
            )
            return told, f"{told} Without --all-rows only the others are scored."
        if self.exact:
            told = f"{rows(self.given)}, none of which the model learned from."
        else:
            told = (
                f"{rows(self.given)}. The model learned from none of the {self.checked:,} of them "
                "that can be checked."
            )
        return told, told

    def of_new(self) -> tuple[str, str]:
        """(checked_on, note) if only those known to be new are."""
        alike = self._looks_alike()
        if self.exact:
            told = (
                f"{self.new:,} of the {rows(self.given)} given. The model learned from the other "
                f"{self.learned_from:,}, which are left out.{alike}"
            )
            note = (
                f"{self.learned_from:,} of the {rows(self.given)} given are rows the model learned "
                f"from: only the other {self.new:,} are scored (--all-rows scores all).{alike}"
            )
            return told, note
        told = (
            f"{self.new:,} of the {rows(self.given)} given. The model learned from about "
            f"{self.learned_from:,} of them. It can tell this for a share of the rows, "
            f"{self.checked:,} here, and those of them that are new are checked.{alike}"
        )
        return told, f"{told} (--all-rows scores all.)"

    def _looks_alike(self) -> str:
        """A warning where a row that equals another one need not be that row."""
        if self.alike < _NOTABLY_ALIKE:
            return ""
        return (
            f" Of the rows of the fit {self.alike:.0%} equal another one in every input, so a row "
            "left out may be a new one that looks the same."
        )


def rows(n: int) -> str:
    """A number of rows."""
    return f"{n:,} row" if n == 1 else f"{n:,} rows"
