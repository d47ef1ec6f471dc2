"""Recognises the rows that a model learned from, without storing these rows.

A model stores a fingerprint of each row and how often the row occurred. Rows given later are
compared as multisets: if k equal rows are given and the model learned from m of them, k - m are
new. So in the table of a fit exactly the held-out rows are new.

At most about a million prints are stored. With more rows, only a share of them has prints, and only
rows of this share can be recognised; the new ones among them are a fair sample of all new rows.

The *print* of a row identifies it but does not reveal it: a keyed hash (BLAKE2b) of its inputs. The
key is random, so that the prints of two models cannot be compared. The hash cannot be inverted; but
with prints and key one can test whether a given row is among them, which is their purpose.

- The label is not in the hash: a row without its label, or with another label, is still recognised.
  The label is stored with the print, in the last bits (`entries`): one for two classes. Of a
  target that is a number these bits are a hash of it, in float32.
- Inputs are first rounded to float32. So the prints stay the same if the table is written as text
  with fewer digits, in float32, or on a machine whose sine differs in the last digit.
- With very many rows, only a share of them gets prints, chosen by another hash of the inputs. So
  equal rows are chosen together, and the choice is independent of the values.
"""

import hashlib
import secrets
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, UInt64

from ..data.row_draw import in_share, mixed
from ..exceptions import ModelFileError
from ..files.container import Arrays
from ..files.model_format import field, finite

MOST_PRINTS = 2**20
KEY_BYTES = 16
_BITS_OF_NUMBERS = 8
_BUFFERED = 2**22  # merge equal entries when there are this many
_COUNTS = (np.uint8, np.uint16, np.uint32, np.uint64)


class RowPrints(NamedTuple):
    """How fingerprints are computed: the key, the share of rows that gets one, bits for labels."""

    key: bytes
    share: float = 1.0
    label_bits: int = 1

    @classmethod
    def with_new_key(cls, share: float, n_classes: int) -> "RowPrints":
        """Prints with a new random key; no classes: numbers."""
        bits = (n_classes - 1).bit_length() if n_classes else _BITS_OF_NUMBERS
        return cls(secrets.token_bytes(KEY_BYTES), share, bits)

    def chosen(self, X: Float[np.ndarray, "N D"]) -> Bool[np.ndarray, " N"]:
        """Whether each row gets a print."""
        if self.share >= 1.0:
            return np.ones(len(X), bool)
        rounded = _rounded(X).view(np.uint32)
        bits = np.full(len(X), int.from_bytes(self.key[:8], "little"), np.uint64)
        for column in range(rounded.shape[1]):
            bits = mixed(bits ^ rounded[:, column])
        return in_share(bits, self.share)

    def entries(self, X: Float[np.ndarray, "N D"], codes: np.ndarray) -> UInt64[np.ndarray, " N"]:
        """The print of each row's inputs in the upper bits, its label's number in the last ones.

        codes : numbers of labels, or, in floating point, a target that is a number.
        """
        rounded = _rounded(X)
        content, width, key = rounded.tobytes(), rounded.itemsize * rounded.shape[1], self.key
        blake2b = hashlib.blake2b  # one call per row: a million calls take about a second
        digests = b"".join(
            [
                blake2b(content[start : start + width], digest_size=8, key=key).digest()
                for start in range(0, len(content), width)
            ]
        )
        prints = np.frombuffer(digests, "<u8").astype(np.uint64)
        codes = np.asarray(codes)
        if codes.dtype.kind == "f":
            codes = mixed(_rounded(codes).view(np.uint32).astype(np.uint64))
            codes &= np.uint64((1 << self.label_bits) - 1)
        return self.without_label(prints) | codes.astype(np.uint64)

    def without_label(self, entries: UInt64[np.ndarray, " N"]) -> UInt64[np.ndarray, " N"]:
        """The entries without the label: equal for rows with equal inputs."""
        return entries & ~np.uint64((1 << self.label_bits) - 1)

    def digest(self, X: Float[np.ndarray, "N D"], codes: np.ndarray) -> str:
        """One fingerprint for all these rows in their order, as hexadecimal text."""
        return hashlib.blake2b(self.entries(X, codes).tobytes(), digest_size=16).hexdigest()


def _rounded(X: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """As contiguous float32; -0 becomes 0, and numbers that are too large become infinite."""
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(X, dtype=np.float32) + np.float32(0.0)


@dataclass(frozen=True)
class LearnedRows:
    """Prints of the rows a model learned from.

    prints : how prints are computed
    entries : one for each distinct row and label, ascending
    counts : number of rows for each entry
    """

    prints: RowPrints
    entries: UInt64[np.ndarray, " U"]
    counts: np.ndarray

    def new(self, entries: UInt64[np.ndarray, " N"]) -> Bool[np.ndarray, " N"]:
        """Which of the given rows (by their entries) the model did not learn from.

        A row is matched with a learned row of the same label if one is left, otherwise with one of
        another label.
        """
        distinct, code, given = np.unique(entries, return_inverse=True, return_counts=True)
        same = np.minimum(given, _count_of(distinct, self.entries, self.counts))
        unmatched = given - same
        # rows with equal inputs, whatever their labels: one after the other, as entries are sorted
        inputs, group = np.unique(self.prints.without_label(distinct), return_inverse=True)
        spare = self._count_of_inputs(inputs) - np.bincount(group, same, len(inputs)).astype(int)
        before = np.cumsum(unmatched) - unmatched
        before -= before[np.searchsorted(group, np.arange(len(inputs)))][group]
        n_new = unmatched - np.clip(spare[group] - before, 0, unmatched)
        # Among equal rows with equal labels, the last ones count as new: it makes no difference.
        first = np.cumsum(given) - given
        rank = np.empty(len(entries), np.int64)
        rank[np.argsort(code, kind="stable")] = np.arange(len(entries)) - np.repeat(first, given)
        return rank >= (given - n_new)[code]

    def equals(self, other: "LearnedRows") -> bool:
        """Whether these are prints of the same rows, with the same key."""
        same_rows = np.array_equal(self.entries, other.entries)
        return (
            same_rows and self.prints == other.prints and np.array_equal(self.counts, other.counts)
        )

    def _count_of_inputs(self, inputs: UInt64[np.ndarray, " G"]) -> np.ndarray:
        """How many rows with these inputs, as entries without labels, the model learned from."""
        known, group = np.unique(self.prints.without_label(self.entries), return_inverse=True)
        return _count_of(inputs, known, np.bincount(group, self.counts, len(known)))

    def alike(self) -> float:
        """The share of these rows whose inputs equal those of another row.

        If it is large, a row that equals a learned row may still be a different one.
        """
        if not len(self.entries):
            return 0.0
        _, code = np.unique(self.prints.without_label(self.entries), return_inverse=True)
        repeats = np.bincount(code, self.counts)
        return float(repeats[repeats > 1].sum() / repeats.sum())

    # --- in a model file --------------------------------------------------------------------------

    def header(self) -> dict[str, Any]:
        """The part that is not arrays, as JSON."""
        return {
            "key": self.prints.key.hex(),
            "share": self.prints.share,
            "label_bits": self.prints.label_bits,
        }

    def arrays(self) -> Arrays:
        """The arrays; counts have the smallest possible dtype."""
        most = int(self.counts.max(initial=0))
        dtype = next(dtype for dtype in _COUNTS if most <= np.iinfo(dtype).max)
        return {"entries": self.entries, "counts": self.counts.astype(dtype)}

    @classmethod
    def restored(cls, header: dict[str, Any], arrays: Arrays, n_rows: int) -> "LearnedRows":
        """The inverse of `header` and `arrays`; nothing in a file is trusted."""
        key, share = bytes.fromhex(field(header, "key", str)), finite(header, "share")
        bits = field(header, "label_bits", int) if "label_bits" in header else 1
        if not 1 <= bits < 32:
            raise ModelFileError(f"its fingerprints of rows have {bits} bits for labels.")
        if len(key) != KEY_BYTES or not 0.0 < share <= 1.0:
            raise ModelFileError("its fingerprints of rows have no proper key or share.")
        entries, counts = arrays["entries"], arrays["counts"]
        if entries.dtype != np.uint64 or entries.ndim != 1 or np.any(entries[1:] <= entries[:-1]):
            raise ModelFileError("its fingerprints of rows are not ascending whole numbers.")
        if counts.dtype not in _COUNTS or counts.shape != entries.shape or np.any(counts == 0):
            raise ModelFileError("its fingerprints of rows are not counted by whole numbers.")
        total = sum(counts.tolist())  # Python integers cannot overflow
        if total > n_rows or (share == 1.0 and total != n_rows):
            raise ModelFileError(f"it has fingerprints of {total} rows, but {n_rows} rows.")
        return cls(RowPrints(key, share, bits), entries, counts.astype(np.int64))


class LearnedRowsCounter:
    """Collects the prints of rows, piece by piece; equal rows need memory only once."""

    def __init__(self, prints: RowPrints) -> None:
        self.prints = prints
        self._entries, self._counts = np.zeros(0, np.uint64), np.zeros(0, np.int64)
        self._waiting: list[np.ndarray] = []

    @classmethod
    def of_rows(cls, n_rows: int, n_classes: int = 2) -> "LearnedRowsCounter":
        """A counter for about so many rows."""
        return cls(RowPrints.with_new_key(min(1.0, MOST_PRINTS / max(n_rows, 1)), n_classes))

    def add(self, X: Float[np.ndarray, "N D"], codes: np.ndarray) -> None:
        """Add training rows; codes are the numbers of their labels."""
        chosen = self.prints.chosen(X)
        self._waiting.append(self.prints.entries(X[chosen], codes[chosen]))
        if sum(map(len, self._waiting)) > _BUFFERED:
            self._count()

    def learned(self) -> LearnedRows:
        """The prints of all added rows."""
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
    """The count of each wanted entry; 0 if it is not among `entries`."""
    if not len(entries):
        return np.zeros(len(wanted), np.int64)
    place = np.minimum(np.searchsorted(entries, wanted), len(entries) - 1)
    return np.where(entries[place] == wanted, counts[place], 0).astype(np.int64)
