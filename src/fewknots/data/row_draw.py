"""Random samples of rows: by a hash of the row, or from rows in memory.

In a stream, not all rows are in memory, so they cannot be shuffled. But a hash of the row's number,
or of its inputs, with a seed gives random bits that are the same in every pass, in memory or not.
The hash is splitmix64 (Steele, Lea & Flood 2014, figure 15), whose n-th number from the seed s is
mixed(s + (n-1)·GAMMA).
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int, UInt64

GAMMA = 0x9E3779B97F4A7C15  # odd, and close to 2⁶⁴ divided by the golden ratio
_FIRST, _SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_WORD = 2**64


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
