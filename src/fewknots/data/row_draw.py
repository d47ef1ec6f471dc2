"""Hashes of rows: rows drawn at random, and fingerprints by which rows are recognised.

In a stream, not all rows are in memory, so they cannot be shuffled. But a hash of the row's number,
or of its inputs, with a seed gives random bits that are the same in every pass, in memory or not.
The hash is splitmix64 (Steele, Lea & Flood 2014, figure 15), whose n-th number from the seed s is
mixed(s + (n-1)·GAMMA).

The *print* of a row identifies it but does not reveal it: a keyed hash (BLAKE2b) of its inputs. The
key is random, so that the prints of two models cannot be compared. The hash cannot be inverted; but
with prints and key one can test whether a given row is among them, which is their purpose.

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
from jaxtyping import Bool, Float, Int, UInt64

GAMMA = 0x9E3779B97F4A7C15  # odd, and close to 2⁶⁴ divided by the golden ratio
_FIRST, _SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_WORD = 2**64
KEY_BYTES = 16
_LABEL = np.uint64(1)  # the bit for the label of a row


def mixed(bits: UInt64[np.ndarray, " N"]) -> UInt64[np.ndarray, " N"]:
    """Hash 64 bits to 64 random bits; different inputs give different outputs."""
    bits = bits + np.uint64(GAMMA)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(_FIRST)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(_SECOND)
    return bits ^ (bits >> np.uint64(31))


def in_share(bits: UInt64[np.ndarray, " N"], share: float) -> Bool[np.ndarray, " N"]:
    """Whether mixed bits, read as a number in [0, 1), are below `share`."""
    return (bits >> np.uint64(11)) * 2.0**-53 < share


def some_rows(n_rows: int, most: int, seed: int = 0) -> Int[np.ndarray, " n"]:
    """At most `most` random row numbers below `n_rows`, unsorted; all in order if there are few."""
    if n_rows <= most:
        return np.arange(n_rows)
    return np.random.default_rng(seed).choice(n_rows, most, replace=False)


class HashSplit(NamedTuple):
    """A random share of all rows; splits with different seeds are independent."""

    share: float
    seed: int

    def drawn(self, first_row: int, count: int) -> np.ndarray:
        """Whether each of `count` rows from `first_row` on is in the split."""
        rows = np.arange(first_row, first_row + count, dtype=np.uint64)
        with np.errstate(over="ignore"):  # arithmetic modulo 2⁶⁴ is intended
            bits = mixed(rows + mixed(np.array([self.seed * GAMMA % _WORD], np.uint64)))
        return in_share(bits, self.share)

    def at_most(self, most: int, n_rows: int) -> "HashSplit":
        """A split of at most about `most` of `n_rows` rows."""
        return self._replace(share=min(self.share, most / max(n_rows, 1)))


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
