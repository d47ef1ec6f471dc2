"""Drawing rows: by a hash of something that belongs to the row, or some of those at hand.

In a stream rows cannot be drawn and put aside: nobody has them all. But the bits of a row's number,
or of its inputs, mixed with a seed, look drawn at random, and everybody who mixes them gets the
same. The mixing is that of splitmix64 (Steele, Lea & Flood 2014, figure 15), whose n-th number
from the seed s is mixed(s + (n-1)·GAMMA).
"""

import numpy as np
from jaxtyping import Bool, Int, UInt64

GAMMA = 0x9E3779B97F4A7C15  # odd, and close to 2⁶⁴ divided by the golden ratio
_FIRST, _SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def mixed(bits: UInt64[np.ndarray, " N"]) -> UInt64[np.ndarray, " N"]:
    """64 bits that look drawn at random, different for different ones."""
    bits = bits + np.uint64(GAMMA)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(_FIRST)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(_SECOND)
    return bits ^ (bits >> np.uint64(31))


def in_share(bits: UInt64[np.ndarray, " N"], share: float) -> Bool[np.ndarray, " N"]:
    """Whether each number in [0, 1) that mixed bits stand for is below `share`."""
    return (bits >> np.uint64(11)) * 2.0**-53 < share


def some_rows(n_rows: int, most: int, seed: int = 0) -> Int[np.ndarray, " n"]:
    """The numbers of at most `most` of `n_rows` rows, in no order; all of them in theirs."""
    if n_rows <= most:
        return np.arange(n_rows)
    return np.random.default_rng(seed).choice(n_rows, most, replace=False)
