r"""Sums that come out the same, to the last bit, in whatever order their parts are added.

Floating-point addition is not associative, so a sum over rows would depend on how they are split,
by some 1e-16; and an optimiser that takes hundreds of steps on a surface with many hills lets that
grow into another model. Integers have no such trouble. A block's sum x is taken apart as

    x = high · 2⁻²⁴u + low · 2⁻⁶⁴u,     u = the power of two at or above the total weight,

with integers of 64 bits, which are then added up in any order. Everything that is summed is an
average over rows times their weight, so the largest that can be held is 2.7e11 for each unit of
weight, and what is lost is 3e-20 of it for each block: less than float64 itself would lose.
Whatever does not fit, or is no number, makes the whole sum NaN.

What remains is that a *block* must be the same rows, in the same order, whoever holds them:
held_rows.py has the size of blocks, distributed/whole_blocks.py sees to it on a cluster.
"""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..numerics.arrays import AnyArray

_HIGH, _LOW = 2.0**-24, 2.0**-64
_LARGEST = 2.0**62  # of an integer


class Counted(NamedTuple):
    """A tree of sums, as integers."""

    high: Any
    low: Any
    is_whole: AnyArray  # False if something did not fit


def unit_of(total_weight: float) -> float:
    """The power of two that u is."""
    return 2.0 ** math.ceil(math.log2(total_weight))


def counted(tree: Any, unit: Any) -> Counted:
    """Arrays of float64 as integers; to be traced by JAX."""
    scaled = jax.tree.map(lambda x: x / (unit * _HIGH), tree)
    whole = jax.tree.map(jnp.floor, scaled)
    high = jax.tree.map(lambda x: x.astype(jnp.int64), whole)
    low = jax.tree.map(lambda x, w: _nearest((x - w) * (_HIGH / _LOW)), scaled, whole)
    fits = [jnp.all(jnp.abs(x) < _LARGEST) for x in jax.tree.leaves(scaled)]  # a NaN does not
    return Counted(high, low, jnp.all(jnp.stack(fits)))


def together(one: Counted, other: Counted) -> Counted:
    """The sum of both, of NumPy's arrays or JAX's."""
    parts = (one.high, one.low), (other.high, other.low)
    high, low = total = jax.tree.map(lambda a, b: a + b, *parts)
    # An overflow is a sum whose sign is that of neither of its parts.
    overflows = jax.tree.map(lambda a, b, s: (((a ^ s) & (b ^ s)) < 0).any(), *parts, total)
    is_whole = one.is_whole & other.is_whole
    for overflow in jax.tree.leaves(overflows):
        is_whole = is_whole & ~overflow
    return Counted(high, low, is_whole)


def as_floats(sums: Counted, unit: float) -> Any:
    """The tree that was counted, in NumPy's float64."""
    scale = unit if bool(sums.is_whole) else math.nan

    def joined(high, low):
        return np.asarray(high, np.float64) * (scale * _HIGH) + np.asarray(low) * (scale * _LOW)

    return jax.tree.map(joined, sums.high, sums.low)


def _nearest(x):
    return jnp.round(x).astype(jnp.int64)
