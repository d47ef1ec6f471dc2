"""The rows that a model learned from: known again when they are given, without being kept.

What is kept is a fingerprint of each row (data/row_prints.py) and how often it was there. Rows
given later are compared as multisets: of k equal rows, of which the model learned from m, k - m are
new. So of the table of a fit exactly the rows held out are new, however often its rows repeat.

At most about a million prints are kept. Of more rows only a share has prints, and only rows of that
share can be told apart: those of them that are new are a fair sample of all new rows.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, UInt64

from ..data.row_prints import KEY_BYTES, RowPrints, of_the_other_label, without_label
from ..exceptions import ModelFileError
from ..files.container import Arrays
from .recipe.header import field, finite

MOST_PRINTS = 2**20
_BUFFERED = 2**22  # entries at which equal ones are counted together
_COUNTS = (np.uint8, np.uint16, np.uint32, np.uint64)


@dataclass(frozen=True)
class LearnedRows:
    """Prints of the rows a model learned from.

    prints : how they are made
    entries : one for each different row and label, ascending
    counts : how many rows each stands for
    """

    prints: RowPrints
    entries: UInt64[np.ndarray, " U"]
    counts: np.ndarray

    def new(self, entries: UInt64[np.ndarray, " N"]) -> Bool[np.ndarray, " N"]:
        """Which of the rows given, by their entries, the model did not learn from.

        A row is matched with a learned one of its label if there is one left, and else with one of
        the other label.
        """
        distinct, code, given = np.unique(entries, return_inverse=True, return_counts=True)
        others = of_the_other_label(distinct)
        unmatched = np.maximum(given - _count_of(distinct, self.entries, self.counts), 0)
        spare = _count_of(others, self.entries, self.counts) - _count_of(others, distinct, given)
        n_new = np.maximum(unmatched - np.maximum(spare, 0), 0)
        # Of equal rows with equal labels it does not matter which ones are called new: the last.
        first = np.cumsum(given) - given
        rank = np.empty(len(entries), np.int64)
        rank[np.argsort(code, kind="stable")] = np.arange(len(entries)) - np.repeat(first, given)
        return rank >= (given - n_new)[code]

    def equals(self, other: "LearnedRows") -> bool:
        """Whether these are prints of the same rows, made in the same way."""
        same_rows = np.array_equal(self.entries, other.entries)
        return (
            same_rows and self.prints == other.prints and np.array_equal(self.counts, other.counts)
        )

    def alike(self) -> float:
        """The share of these rows whose inputs equal those of another one.

        Where it is large, a row that equals a learned one may be another row all the same.
        """
        if not len(self.entries):
            return 0.0
        _, code = np.unique(without_label(self.entries), return_inverse=True)
        repeats = np.bincount(code, self.counts)
        return float(repeats[repeats > 1].sum() / repeats.sum())

    # --- in a model file --------------------------------------------------------------------------

    def header(self) -> dict[str, Any]:
        """What is not an array."""
        return {"key": self.prints.key.hex(), "share": self.prints.share}

    def arrays(self) -> Arrays:
        """The rest; counts take the fewest bytes that hold them."""
        most = int(self.counts.max(initial=0))
        dtype = next(dtype for dtype in _COUNTS if most <= np.iinfo(dtype).max)
        return {"entries": self.entries, "counts": self.counts.astype(dtype)}

    @classmethod
    def restored(cls, header: dict[str, Any], arrays: Arrays, n_rows: int) -> "LearnedRows":
        """Read what `header` and `arrays` gave, trusting none of it."""
        key, share = bytes.fromhex(field(header, "key", str)), finite(header, "share")
        if len(key) != KEY_BYTES or not 0.0 < share <= 1.0:
            raise ModelFileError("its fingerprints of rows have no proper key or share.")
        entries, counts = arrays["entries"], arrays["counts"]
        if entries.dtype != np.uint64 or entries.ndim != 1 or np.any(entries[1:] <= entries[:-1]):
            raise ModelFileError("its fingerprints of rows are not ascending whole numbers.")
        if counts.dtype not in _COUNTS or counts.shape != entries.shape or np.any(counts == 0):
            raise ModelFileError("its fingerprints of rows are not counted by whole numbers.")
        total = sum(counts.tolist())  # whole numbers that cannot overflow
        if total > n_rows or (share == 1.0 and total != n_rows):
            raise ModelFileError(f"it has fingerprints of {total} rows, but {n_rows} rows.")
        return cls(RowPrints(key, share), entries, counts.astype(np.int64))


class LearnedRowsCounter:
    """Takes note of rows, piece by piece, in memory that does not grow with equal ones."""

    def __init__(self, prints: RowPrints) -> None:
        self.prints = prints
        self._entries, self._counts = np.zeros(0, np.uint64), np.zeros(0, np.int64)
        self._waiting: list[np.ndarray] = []

    @classmethod
    def of_rows(cls, n_rows: int) -> "LearnedRowsCounter":
        """For about so many rows."""
        return cls(RowPrints.with_new_key(min(1.0, MOST_PRINTS / max(n_rows, 1))))

    def add(self, X: Float[np.ndarray, "N D"], positive: np.ndarray) -> None:
        """These rows were learned from; their labels are 0 and 1."""
        chosen = self.prints.chosen(X)
        self._waiting.append(self.prints.entries(X[chosen], positive[chosen]))
        if sum(map(len, self._waiting)) > _BUFFERED:
            self._count()

    def learned(self) -> LearnedRows:
        """All of them."""
        self._count()
        return LearnedRows(self.prints, self._entries, self._counts)

    def _count(self) -> None:
        entries = np.concatenate([self._entries, *self._waiting])
        ones = np.ones(len(entries) - len(self._entries), np.int64)
        weights = np.concatenate([self._counts, ones])
        self._entries, code = np.unique(entries, return_inverse=True)
        self._counts = np.zeros(len(self._entries), np.int64)
        np.add.at(self._counts, code, weights)
        self._waiting = []


def _count_of(wanted: np.ndarray, entries: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """How many rows each wanted entry stands for; 0 where it is not there."""
    if not len(entries):
        return np.zeros(len(wanted), np.int64)
    place = np.minimum(np.searchsorted(entries, wanted), len(entries) - 1)
    return np.where(entries[place] == wanted, counts[place], 0).astype(np.int64)
