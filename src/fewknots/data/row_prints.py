"""Fingerprints of rows: a number for each, by which a row is known again but not read.

A row's print is a keyed hash (BLAKE2b) of its inputs. The key is random, so that the prints of two
models have nothing in common. The hash cannot be undone; but who has prints and key can try whether
a row that is at hand is among them, which is what they are for.

- The label is not in the hash: a row that comes without its label, or with another one, is still
  the row that was there before. It is kept beside the print, in the last bit (`entries`).
- Inputs are rounded to float32 first. The same table, written as text with fewer digits, in
  float32 or by a machine whose sine differs in the last place, has the same prints then.
- Of very many rows only a share gets prints, chosen by another hash of the inputs. So equal rows
  are chosen together, and whether a row is chosen has nothing to do with what it holds.
"""

import hashlib
import secrets
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, UInt64

from .row_draw import in_share, mixed

KEY_BYTES = 16
_LABEL = np.uint64(1)  # the bit that says which of the two labels a row has


class RowPrints(NamedTuple):
    """How fingerprints are made: the key, and which share of all rows gets one."""

    key: bytes
    share: float = 1.0

    @classmethod
    def with_new_key(cls, share: float) -> "RowPrints":
        """Prints that no other model has."""
        return cls(secrets.token_bytes(KEY_BYTES), share)

    def chosen(self, X: Float[np.ndarray, "N D"]) -> Bool[np.ndarray, " N"]:
        """Whether each row is one of those that get a print."""
        if self.share >= 1.0:
            return np.ones(len(X), bool)
        rounded = _rounded(X).view(np.uint32)
        bits = np.full(len(X), int.from_bytes(self.key[:8], "little"), np.uint64)
        for column in range(rounded.shape[1]):
            bits = mixed(bits ^ rounded[:, column])
        return in_share(bits, self.share)

    def entries(
        self, X: Float[np.ndarray, "N D"], positive: np.ndarray
    ) -> UInt64[np.ndarray, " N"]:
        """The print of each row's inputs in the upper 63 bits, its label in the last one."""
        rounded = _rounded(X)
        content, width, key = rounded.tobytes(), rounded.itemsize * rounded.shape[1], self.key
        blake2b = hashlib.blake2b  # one call a row: a million take about a second
        digests = b"".join(
            [
                blake2b(content[start : start + width], digest_size=8, key=key).digest()
                for start in range(0, len(content), width)
            ]
        )
        prints = np.frombuffer(digests, "<u8").astype(np.uint64)
        return (prints & ~_LABEL) | np.asarray(positive, bool).astype(np.uint64)

    def digest(self, X: Float[np.ndarray, "N D"], positive: np.ndarray) -> str:
        """One text for all these rows, in their order."""
        return hashlib.blake2b(self.entries(X, positive).tobytes(), digest_size=16).hexdigest()


def of_the_other_label(entries: UInt64[np.ndarray, " N"]) -> UInt64[np.ndarray, " N"]:
    """The entries of rows with the same inputs and the other label."""
    return entries ^ _LABEL


def without_label(entries: UInt64[np.ndarray, " N"]) -> UInt64[np.ndarray, " N"]:
    """What rows of equal inputs have in common."""
    return entries & ~_LABEL


def _rounded(X: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N D"]:
    """In float32, row after row in memory; zero has one sign, and what is too large is infinite."""
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(X, dtype=np.float32) + np.float32(0.0)
