"""Which rows are held out, decided by their number alone.

So every pass over the same files makes the same choice, in memory or not (row_draw.py).
"""

from typing import NamedTuple

import numpy as np

from .row_draw import GAMMA, in_share, mixed

_WORD = 2**64


class HashSplit(NamedTuple):
    """A share of all rows. Those of different seeds have nothing to do with each other."""

    share: float
    seed: int

    def drawn(self, first_row: int, count: int) -> np.ndarray:
        """For `count` rows from `first_row` on: whether each is drawn."""
        rows = np.arange(first_row, first_row + count, dtype=np.uint64)
        with np.errstate(over="ignore"):  # arithmetic modulo 2⁶⁴ is what is meant
            bits = mixed(rows + mixed(np.array([self.seed * GAMMA % _WORD], np.uint64)))
        return in_share(bits, self.share)

    def at_most(self, most: int, n_rows: int) -> "HashSplit":
        """A smaller share if this one of `n_rows` rows were more than `most`."""
        return self._replace(share=min(self.share, most / max(n_rows, 1)))
