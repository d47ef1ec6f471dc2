"""Which rows a model is scored on: those that it has not learned from.

A model knows the rows of its fit again (learned_rows.py). So a file may hold some of them, or all:
they are counted, said and left out. Without a file, the rows are those that the fit held out, read
again from where the fit had them.

Files are read twice: of equal rows it is not known which are new before all have been seen.
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

Watch = Callable[[str, int], None]
Read = Callable[[], Iterator[TableRows]]  # a fresh pass over the given rows


class RowsToScore(NamedTuple):
    """Some rows of files."""

    read: Read
    given: int  # without those left out
    left_out: int  # since they cannot be scored or have no label
    learned_from: int | None  # of those given; None where it is not known
    which: Bool[np.ndarray, " N"]
    checked_on: str  # in words: where the rows come from, for a page
    note: str  # in words: what was left out, for who gave the command

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
                yield rows._replace(X=rows.X[taken], y=rows.y[taken], raw=raw)


def new_rows(model: TableModel, read: Read, all_rows: bool, watch: Watch) -> RowsToScore:
    """Those of the given rows that the model has not learned from; with `all_rows` all of them."""
    learned = model.learned
    if learned is None:
        sizes = [(len(rows.X), len(rows.reasons)) for rows in read()]
        n, left_out = (sum(column) for column in zip(*sizes, strict=True))
        _check_any(n, left_out)
        told = (
            f"{counted(n)}. It cannot be known which of them the model learned from: the model "
            "file was written by an older version and does not say."
        )
        return RowsToScore(read, n, left_out, None, np.ones(n, bool), told, told)
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
        told, note = overlap.of_all()
        taken = np.ones(n, bool)
    elif n_new == 0:
        raise DataError(overlap.nothing_new())
    else:
        told, note = overlap.of_new()
        taken = np.concatenate(chosen)
        taken[taken] = new
    return RowsToScore(read, n, left_out, overlap.learned_from, taken, told, note)


def _check_any(n: int, left_out: int) -> None:
    if n == 0:
        raise DataError(
            f"none of the {left_out:,} rows can be scored; with --strict the first one says why."
        )


def held_out_rows(model: TableModel, read: Read, names: str, watch: Watch) -> RowsToScore:
    """The rows that the fit held out, out of the files of the fit, which must be as they were.

    names : of these files, for the note.
    """
    told = model.about.get("hold_out")
    if model.learned is None or not isinstance(told, dict) or "digest" not in told:
        raise DataError(
            "the model file does not say which rows were held out: it was written by an older "
            "version. Give a file of labelled rows."
        )
    if told.get("rows") == 0:
        raise DataError("no row was held out at the fit. Give a file of labelled rows.")
    share, seed = finite(told, "share"), field(told, "seed", int)
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
    if digest != told["digest"] or not outside.learned().equals(model.learned):
        raise DataError(
            "the rows of the fit are no longer those that the model was fitted to, so the rows "
            "held out cannot be found in them. Give a file of labelled rows."
        )
    held_out = int(np.count_nonzero(which))
    told = f"The {counted(held_out)} that were held out when the model was fitted."
    note = f"{told} They were read again from {names}."
    return RowsToScore(read, held_out, 0, 0, which, told, note)
