"""Random splits in which the row number alone decides.

So every pass over the same files gives the same split, in memory or not (row_draw.py).
"""

from typing import NamedTuple

import numpy as np

from .row_draw import GAMMA, in_share, mixed

_WORD = 2**64


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
