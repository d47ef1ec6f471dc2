"""Which rows a model is scored on: rows that it has not learned from.

A model recognises its training rows (learned_rows.py). So a file may contain some or all of them:
they are counted, reported and left out. Without a file, the held-out rows of the fit are read again
from the files of the fit.

Files are read twice: which of several equal rows are new is known only after a pass over all.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Bool

from ..data.hold_out import HashSplit
from ..exceptions import DataError, ModelFileError
from .learned_rows import LearnedRowsCounter
from .model import TableModel, TableRows
from .overlap import Overlap
from .overlap import rows as counted
from .recipe.header import field, finite

OnRows = Callable[[str, int], None]  # called with the work and the number of rows so far
Read = Callable[[], Iterator[TableRows]]  # starts a new pass over the given rows


class RowsToScore(NamedTuple):
    """The rows of files that are scored."""

    read: Read
    given: int  # number of rows, without those left out
    left_out: int  # rows that cannot be scored or have no label
    learned_from: int | None  # how many of the given rows; None if unknown
    which: Bool[np.ndarray, " N"]
    checked_on: str  # text for a report: where the rows come from
    note: str  # text for the command line: which rows were left out

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
        sizes = [(len(rows.X), len(rows.reasons)) for rows in read()]
        n, left_out = (sum(column) for column in zip(*sizes, strict=True))
        _check_any(n, left_out)
        checked_on = (
            f"{counted(n)}. It cannot be known which of them the model learned from: the model "
            "file was written by an older version and does not say."
        )
        return RowsToScore(read, n, left_out, None, np.ones(n, bool), checked_on, checked_on)
    chosen, entries, n, left_out = [], [], 0, 0
    for rows in read():
        assert rows.y is not None
        left_out += len(rows.reasons)
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
    return RowsToScore(read, n, left_out, overlap.learned_from, taken, checked_on, note)


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
    checked_on = f"The {counted(held_out)} that were held out when the model was fitted."
    note = f"{checked_on} They were read again from {names}."
    return RowsToScore(read, held_out, 0, 0, which, checked_on, note)
