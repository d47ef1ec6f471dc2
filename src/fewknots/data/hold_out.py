"""Which rows are held out, decided by their number alone.

In a stream rows cannot be drawn and put aside: nobody has them all. But the number of a row, mixed
with a seed, gives a number that looks drawn at random, so that every pass over the same files makes
the same choice, in memory or not.
"""

from typing import NamedTuple

import numpy as np

# The constants and shifts of splitmix64 (Steele, Lea & Flood 2014, figure 15).
_GAMMA, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_WORD = 2**64


class HashSplit(NamedTuple):
    """A share of all rows. Lots of different seeds have nothing to do with each other."""

    share: float
    seed: int

    def drawn(self, first_row: int, count: int) -> np.ndarray:
        """For `count` rows from `first_row` on: whether each is drawn."""
        rows = np.arange(first_row, first_row + count, dtype=np.uint64)
        with np.errstate(over="ignore"):  # arithmetic modulo 2⁶⁴ is what is meant
            bits = mixed(rows + mixed(np.array([self.seed * _GAMMA % _WORD], np.uint64)))
        return (bits >> np.uint64(11)) * 2.0**-53 < self.share

    def at_most(self, most: int, n_rows: int) -> "HashSplit":
        """A smaller share if this one of `n_rows` rows were more than `most`."""
        return self._replace(share=min(self.share, most / max(n_rows, 1)))


def mixed(bits: np.ndarray) -> np.ndarray:
    """64 bits that look drawn at random, different for different ones."""
    bits = bits + np.uint64(_GAMMA)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(_FIRST)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(_SECOND)
    return bits ^ (bits >> np.uint64(31))
