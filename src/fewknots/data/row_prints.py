"""Fingerprints of rows: a number for each row that identifies it but does not reveal it.

The print of a row is a keyed hash (BLAKE2b) of its inputs. The key is random, so that the prints of
two models cannot be compared. The hash cannot be inverted; but with prints and key one can test
whether a given row is among them, which is their purpose.

- The label is not in the hash: a row without its label, or with another label, is still recognised.
  The label is stored with the print, in the last bit (`entries`).
- Inputs are first rounded to float32. So the prints stay the same if the table is written as text
  with fewer digits, in float32, or on a machine whose sine differs in the last digit.
- With very many rows, only a share of them gets prints, chosen by another hash of the inputs. So
  equal rows are chosen together, and the choice is independent of the values.
"""

import hashlib
import secrets
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, UInt64

from .row_draw import in_share, mixed

KEY_BYTES = 16
_LABEL = np.uint64(1)  # the bit for the label of a row


class RowPrints(NamedTuple):
    """How fingerprints are computed: the key, and the share of rows that gets one."""

    key: bytes
    share: float = 1.0

    @classmethod
    def with_new_key(cls, share: float) -> "RowPrints":
        """Prints with a new random key."""
        return cls(secrets.token_bytes(KEY_BYTES), share)

    def chosen(self, X: Float[np.ndarray, "N D"]) -> Bool[np.ndarray, " N"]:
        """Whether each row gets a print."""
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
        blake2b = hashlib.blake2b  # one call per row: a million calls take about a second
        digests = b"".join(
            [
                blake2b(content[start : start + width], digest_size=8, key=key).digest()
                for start in range(0, len(content), width)
            ]
        )
        prints = np.frombuffer(digests, "<u8").astype(np.uint64)
        return (prints & ~_LABEL) | np.asarray(positive, bool).astype(np.uint64)

    def digest(self, X: Float[np.ndarray, "N D"], positive: np.ndarray) -> str:
        """One fingerprint for all these rows in their order, as hexadecimal text."""
        return hashlib.blake2b(self.entries(X, positive).tobytes(), digest_size=16).hexdigest()


def with_other_label(entries: UInt64[np.ndarray, " N"]) -> UInt64[np.ndarray, " N"]:
    """The entries of rows with the same inputs and the other label."""
    return entries ^ _LABEL


def without_label(entries: UInt64[np.ndarray, " N"]) -> UInt64[np.ndarray, " N"]:
    """The entries without the label: equal for rows with equal inputs."""
    return entries & ~_LABEL


def _rounded(X: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N D"]:
    """As contiguous float32; -0 becomes 0, and numbers that are too large become infinite."""
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(X, dtype=np.float32) + np.float32(0.0)
