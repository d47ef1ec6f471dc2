"""How many of the given rows a model learned from, with texts for the user.

Each text is one or two sentences: `checked_on` for readers of a report, `note` for the user of the
command line.
"""

from typing import NamedTuple

_NOTABLY_ALIKE = 0.01  # share of training rows with an equal row, from which the texts mention it


class Overlap(NamedTuple):
    """Counts of given rows, from the model's fingerprints."""

    given: int
    checked: int  # rows that can be recognised: fewer than all if only a share has fingerprints
    new: int  # how many of these are new
    share: float  # of all rows, that has fingerprints
    alike: float  # share of the training rows that equal another one

    @property
    def learned_from(self) -> int | None:
        """Number of given rows; an estimate if not all could be checked, None if none could."""
        if self.checked == 0:
            return None
        return round(self.given * (self.checked - self.new) / self.checked)

    @property
    def exact(self) -> bool:
        """Whether every row could be checked."""
        return self.share >= 1.0

    def nothing_new(self) -> str:
        """Error message if there is no new row to score."""
        return (
            f"the model learned from all {rows(self.checked)} given, so they cannot tell how good "
            "it is. Give rows that are new to it, or no file at all to score the rows held out at "
            f"the fit; --all-rows scores these rows all the same.{self._looks_alike()}"
        )

    def text_for_all(self) -> tuple[str, str]:
        """(checked_on, note) if all given rows are scored."""
        if self.checked == 0:
            text = (
                f"{rows(self.given)}. It cannot be known whether the model learned from them: it "
                f"can tell for about one row in {round(1.0 / self.share):,}, and none of these is "
                "one."
            )
            return text, text
        if self.new < self.checked:
            about = "" if self.exact else "about "
            text = (
                f"All {rows(self.given)} given. The model learned from {about}"
                f"{self.learned_from:,} of them, so these scores may look better than those of "
                "new rows."
            )
            return text, f"{text} Without --all-rows only the others are scored."
        if self.exact:
            text = f"{rows(self.given)}, none of which the model learned from."
        else:
            text = (
                f"{rows(self.given)}. The model learned from none of the {self.checked:,} of them "
                "that can be checked."
            )
        return text, text

    def text_for_new(self) -> tuple[str, str]:
        """(checked_on, note) if only rows known to be new are scored."""
        alike = self._looks_alike()
        if self.exact:
            text = (
                f"{self.new:,} of the {rows(self.given)} given. The model learned from the other "
                f"{self.learned_from:,}, which are left out.{alike}"
            )
            note = (
                f"{self.learned_from:,} of the {rows(self.given)} given are rows the model learned "
                f"from: only the other {self.new:,} are scored (--all-rows scores all).{alike}"
            )
            return text, note
        text = (
            f"{self.new:,} of the {rows(self.given)} given. The model learned from about "
            f"{self.learned_from:,} of them. It can tell this for a share of the rows, "
            f"{self.checked:,} here, and those of them that are new are checked.{alike}"
        )
        return text, f"{text} (--all-rows scores all.)"

    def _looks_alike(self) -> str:
        """A warning that a row which equals a training row may still be a new one."""
        if self.alike < _NOTABLY_ALIKE:
            return ""
        return (
            f" Of the rows of the fit {self.alike:.0%} equal another one in every input, so a row "
            "left out may be a new one that looks the same."
        )


def rows(n: int) -> str:
    """A number of rows as text."""
    return f"{n:,} row" if n == 1 else f"{n:,} rows"
