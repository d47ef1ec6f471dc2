"""The rows that a model is scored on (those it has not learned from), and messages about them.

A model recognises its training rows (learned_rows.py). So a file may contain some or all of them:
they are counted, reported and left out. Without a file, the held-out rows of the fit are read again
from the files of the fit.

Files are read twice: which of several equal rows are new is known only after a pass over all.

`Overlap` puts the counts into words, one or two sentences each: `checked_on` for readers of a
report, `note` for the user of the command line.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Bool

from ..data.row_draw import HashSplit
from ..exceptions import DataError, ModelFileError
from ..files.model_format import field, finite
from .learned_rows import LearnedRowsCounter
from .model import TableModel, TableRows

_NOTABLY_ALIKE = 0.01  # share of training rows with an equal row, from which the texts mention it
OnRows = Callable[[str, int], None]  # called with the work and the number of rows so far
Read = Callable[[], Iterator[TableRows]]  # starts a new pass over the given rows


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
            f"the model learned from all {_rows(self.checked)} given, so they cannot tell how good "
            "it is. Give rows that are new to it, or no file at all to score the rows held out at "
            f"the fit; --all-rows scores these rows all the same.{self._looks_alike()}"
        )

    def text_for_all(self) -> tuple[str, str]:
        """(checked_on, note) if all given rows are scored."""
        if self.checked == 0:
            text = (
                f"{_rows(self.given)}. It cannot be known whether the model learned from them: "
                f"it can recognise about one row in {round(1.0 / self.share):,}, and none of these "
                "rows belongs to that share."
            )
            return text, text
        if self.new < self.checked:
            about = "" if self.exact else "about "
            text = (
                f"All {_rows(self.given)} given. The model learned from {about}"
                f"{self.learned_from:,} of them, so these scores may look better than those of "
                "new rows."
            )
            return text, f"{text} Without --all-rows only the others are scored."
        if self.exact:
            text = f"{_rows(self.given)}, none of which the model learned from."
        else:
            text = (
                f"{_rows(self.given)}. The model learned from none of the {self.checked:,} of them "
                "that can be checked."
            )
        return text, text

    def text_for_new(self) -> tuple[str, str]:
        """(checked_on, note) if only rows known to be new are scored."""
        alike = self._looks_alike()
        if self.exact:
            text = (
                f"{self.new:,} of the {_rows(self.given)} given. The model learned from the other "
                f"{self.learned_from:,}, which are left out.{alike}"
            )
            note = (
                f"{self.learned_from:,} of the {_rows(self.given)} given are rows the model "
                f"learned from: only the other {self.new:,} are scored (--all-rows scores "
                f"all).{alike}"
            )
            return text, note
        text = (
            f"{self.new:,} of the {_rows(self.given)} given. The model learned from about "
            f"{self.learned_from:,} of them. It can recognise only a share of the rows, "
            f"{self.checked:,} here; the new rows of this share are scored.{alike}"
        )
        return text, f"{text} (--all-rows scores all.)"

    def _looks_alike(self) -> str:
        """A warning that a row which equals a training row may still be a new one."""
        if self.alike < _NOTABLY_ALIKE:
            return ""
        return (
            f" {self.alike:.0%} of the training rows equal another training row in every input, so "
            "a row left out may be a new one that looks the same."
        )


def _rows(n: int) -> str:
    """A number of rows as text."""
    return f"{n:,} row" if n == 1 else f"{n:,} rows"


class RowsToScore(NamedTuple):
    """The rows of files that are scored."""

    read: Read
    given: int  # number of rows, without those left out
    left_out: int  # rows that cannot be scored or have no label
    learned_from: int | None  # how many of the given rows; None if unknown
    which: Bool[np.ndarray, " N"]
    checked_on: str  # text for a report: where the rows come from
    note: str  # text for the command line: which rows were left out
    unseen: Mapping[str, int] = {}  # how many rows left out have each label that the fit had not

    @property
    def n_rows(self) -> int:
        """How many rows there are to score."""
        return int(np.count_nonzero(self.which))

    def rows(self) -> Iterator[TableRows]:
        """The rows, piece by piece."""
        first = 0
        for rows in self.read():
            taken = self.which[first : first + len(rows.X)]
            first += len(rows.X)
            if taken.all():
                yield rows
            elif taken.any():
                assert rows.y is not None
                raw = rows.raw.filter(pa.array(taken))
                numbers = rows.numbers[taken]
                yield rows._replace(X=rows.X[taken], y=rows.y[taken], raw=raw, numbers=numbers)


def new_rows(model: TableModel, read: Read, all_rows: bool, watch: OnRows) -> RowsToScore:
    """The given rows that the model has not learned from; with `all_rows`, all given rows."""
    learned = model.learned
    if learned is None:
        n, left_out, unseen = 0, 0, Counter[str]()
        for rows in read():
            n, left_out = n + len(rows.X), left_out + len(rows.reasons)
            unseen += rows.unseen
        _check_any(n, left_out)
        checked_on = (
            f"{_rows(n)}. It cannot be known which of them the model learned from: the model "
            "file was written by an older version and does not say."
        )
        every = np.ones(n, bool)
        return RowsToScore(read, n, left_out, None, every, checked_on, checked_on, unseen)
    chosen, entries, n, left_out, unseen = [], [], 0, 0, Counter[str]()
    for rows in read():
        assert rows.y is not None
        left_out += len(rows.reasons)
        unseen += rows.unseen
        which = learned.prints.chosen(rows.X)
        chosen.append(which)
        entries.append(learned.prints.entries(rows.X[which], rows.y[which]))
        n += len(which)
        watch("reading", n)
    _check_any(n, left_out)
    new = learned.new(np.concatenate(entries))
    n_new = int(np.count_nonzero(new))
    overlap = Overlap(n, len(new), n_new, learned.prints.share, learned.alike())
    if all_rows or n_new == len(new):
        checked_on, note = overlap.text_for_all()
        taken = np.ones(n, bool)
    elif n_new == 0:
        raise DataError(overlap.nothing_new())
    else:
        checked_on, note = overlap.text_for_new()
        taken = np.concatenate(chosen)
        taken[taken] = new
    return RowsToScore(read, n, left_out, overlap.learned_from, taken, checked_on, note, unseen)


def _check_any(n: int, left_out: int) -> None:
    if n == 0:
        raise DataError(
            f"none of the {left_out:,} rows can be scored; with --strict the first one says why."
        )


def held_out_rows(model: TableModel, read: Read, names: str, watch: OnRows) -> RowsToScore:
    """The held-out rows of the fit, read from the files of the fit, which must be unchanged.

    names : names of these files, for the note.
    """
    entry = model.about.get("hold_out")
    if model.learned is None or not isinstance(entry, dict) or "digest" not in entry:
        raise DataError(
            "the model file does not say which rows were held out: it was written by an older "
            "version. Give a file of labelled rows."
        )
    if entry.get("rows") == 0:
        raise DataError("no row was held out at the fit. Give a file of labelled rows.")
    share, seed = finite(entry, "share"), field(entry, "seed", int)
    if seed < 0:
        raise ModelFileError(f"its seed is {seed}.")
    split, first = HashSplit(share, seed), 0
    parts, X, y = [], [], []
    outside = LearnedRowsCounter(model.learned.prints)
    for rows in read():
        assert rows.y is not None
        held = split.drawn(first, len(rows.X))
        first += len(rows.X)
        parts.append(held)
        X.append(rows.X[held])
        y.append(rows.y[held])
        outside.add(rows.X[~held], rows.y[~held])
        watch("reading", first)
    which = np.concatenate(parts)
    digest = outside.prints.digest(np.concatenate(X), np.concatenate(y))
    if digest != entry["digest"] or not outside.learned().equals(model.learned):
        raise DataError(
            "the rows of the fit are no longer those that the model was fitted to, so the rows "
            "held out cannot be found in them. Give a file of labelled rows."
        )
    held_out = int(np.count_nonzero(which))
    checked_on = f"The {_rows(held_out)} that were held out when the model was fitted."
    note = f"{checked_on} They were read again from {names}."
    return RowsToScore(read, held_out, 0, 0, which, checked_on, note)
