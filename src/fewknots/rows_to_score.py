"""Which rows a model is scored on: those that it has not learned from.

A model knows the rows of its fit again (learned_rows.py). So a file may hold some of them, or all:
they are counted, said and left out. Without a file, the rows are those that the fit held out, read
again from where the fit had them (`Source`).

Files are read twice: of equal rows it is not known which are new before all have been seen.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Bool

from .data.hold_out import Lot
from .exceptions import DataError, ModelFileError
from .recipe.header import field, finite
from .table_model import TableModel, TableRows

_NOTABLY_ALIKE = 0.01  # a share of the rows of the fit that equal another one
Watch = Callable[[str, int], None]


class RowsToScore(NamedTuple):
    """Some rows of files."""

    model: TableModel
    files: Any
    given: int
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
        for rows in self.model.rows(self.files):
            taken = self.which[first : first + len(rows.X)]
            first += len(rows.X)
            if taken.all():
                yield rows
            elif taken.any():
                assert rows.y is not None
                raw = rows.raw.filter(pa.array(taken))
                yield TableRows(rows.X[taken], rows.y[taken], raw, rows.place)


class _Given(NamedTuple):
    """What one pass over files tells of their rows."""

    chosen: Bool[np.ndarray, " N"]  # those that have prints
    entries: np.ndarray  # the prints and labels of these


def new_rows(model: TableModel, files: Any, all_rows: bool, watch: Watch) -> RowsToScore:
    """Those rows of files that the model has not learned from; with `all_rows` all of them."""
    if model.learned is None:
        return _not_known(model, files, watch)
    given = _given(model, files, watch)
    n, share = len(given.chosen), model.learned.prints.share
    new = model.learned.new(given.entries)
    checked, learned_from = len(new), int(np.count_nonzero(~new))
    if checked and share < 1.0:
        learned_from = round(n * learned_from / checked)
    if checked == 0:
        words = f"{_rows(n)}. {_cannot_know(share)}"
        return RowsToScore(model, files, n, None, np.ones(n, bool), words, words)
    about = "about " if share < 1.0 else ""
    if all_rows or new.all():
        if new.all():
            words = note = f"{_rows(n)}, none of which the model learned from."
            if share < 1.0:
                words = note = (
                    f"{_rows(n)}. The model learned from none of the {checked:,} of them that can "
                    "be checked."
                )
        else:
            words = (
                f"All {_rows(n)} given. The model learned from {about}{learned_from:,} of them, so "
                "these scores may look better than those of new rows."
            )
            note = f"{words} Without --all-rows only the others are scored."
        return RowsToScore(model, files, n, learned_from, np.ones(n, bool), words, note)
    which = np.zeros(n, bool)
    which[np.flatnonzero(given.chosen)[new]] = True
    left = int(np.count_nonzero(which))
    alike = _alike(model.learned.alike())
    if left == 0:
        raise DataError(
            f"the model learned from all {_rows(checked)} given, so they cannot tell how good it "
            "is. Give rows that are new to it, or no file at all to score the rows held out at "
            f"the fit; --all-rows scores these rows all the same. {alike}".strip()
        )
    if share < 1.0:
        words = (
            f"{left:,} of the {_rows(n)} given. The model learned from about {learned_from:,} of "
            f"them. It can tell for a share of the rows only, {_rows(checked)} here; those of "
            f"them that are new are checked. {alike}"
        )
        note = f"{words} (--all-rows scores all.)"
    else:
        words = (
            f"{left:,} of the {_rows(n)} given. The model learned from the other "
            f"{learned_from:,}, which are left out. {alike}"
        )
        note = (
            f"{learned_from:,} of the {_rows(n)} given are rows the model learned from: only the "
            f"other {left:,} are scored (--all-rows scores all). {alike}"
        )
    return RowsToScore(model, files, n, learned_from, which, words.strip(), note.strip())


def held_out_rows(model: TableModel, files: Any, watch: Watch) -> RowsToScore:
    """The rows that the fit held out, out of the files of the fit, which must be as they were."""
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
    lot, first, parts, X, y = Lot(share, seed), 0, [], [], []
    outside: list[np.ndarray] = []
    prints = model.learned.prints
    for rows in model.rows(files):
        assert rows.y is not None
        held = lot.drawn(first, len(rows.X))
        first += len(rows.X)
        parts.append(held)
        X.append(rows.X[held])
        y.append(rows.y[held])
        apart = ~held
        apart[apart] = prints.chosen(rows.X[apart])
        outside.append(prints.entries(rows.X[apart], rows.y[apart]))
        watch("reading", first)
    which = np.concatenate(parts)
    entries, counts = np.unique(np.concatenate(outside), return_counts=True)
    same = (
        np.array_equal(entries, model.learned.entries)
        and np.array_equal(counts, model.learned.counts)
        and prints.digest(np.concatenate(X), np.concatenate(y)) == told["digest"]
    )
    if not same:
        raise DataError(
            "the rows of the fit are no longer those that the model was fitted to, so the rows "
            "held out cannot be found in them. Give a file of labelled rows."
        )
    held_out = int(np.count_nonzero(which))
    words = f"The {_rows(held_out)} that were held out when the model was fitted."
    return RowsToScore(model, files, held_out, 0, which, words, words)


def _not_known(model: TableModel, files: Any, watch: Watch) -> RowsToScore:
    n = 0
    for rows in model.rows(files):
        n += len(rows.X)
        watch("reading", n)
    words = (
        f"{_rows(n)}. It cannot be known which of them the model learned from: the model file was "
        "written by an older version and does not say."
    )
    return RowsToScore(model, files, n, None, np.ones(n, bool), words, words)


def _given(model: TableModel, files: Any, watch: Watch) -> _Given:
    assert model.learned is not None
    prints, chosen, entries, n = model.learned.prints, [], [], 0
    for rows in model.rows(files):
        assert rows.y is not None
        which = prints.chosen(rows.X)
        chosen.append(which)
        entries.append(prints.entries(rows.X[which], rows.y[which]))
        n += len(which)
        watch("reading", n)
    return _Given(np.concatenate(chosen), np.concatenate(entries))


def _rows(n: int) -> str:
    return f"{n:,} row" if n == 1 else f"{n:,} rows"


def _cannot_know(share: float) -> str:
    return (
        "It cannot be known which of them the model learned from: it can tell for one row in "
        f"{round(1.0 / share):,} only, and none of these is one."
    )


def _alike(share: float) -> str:
    """A warning where a row that equals another one need not be that row."""
    if share < _NOTABLY_ALIKE:
        return ""
    return (
        f"Note that {share:.0%} of the rows of the fit equal another one in every input: a row "
        "left out may be a new one that looks the same."
    )
