r"""Rows kept on a device, and their sums for any parameters sent to them.

In training by rounds the rows are put on a device once, padded to a shape that all holders of rows
share, so that the program is compiled once. A round sends a `Point` (model and q, some M² numbers)
and gets the sums of row_sums.py back. Rows are processed in blocks: the additional memory is that
of one block's features, for any number of rows. The size of a block follows from the length of the
whole table, and blocks are added exactly (below). So a sum is the same to the last bit, however the
blocks are distributed.

A round may use a random part of the rows (`Subset`). Whether a row takes part is decided by a hash
of its number in the whole table and the number of the round: so the part is the same however the
table is split. (Its sum is the same up to rounding, since only the rows that take part are put into
blocks.)

**Reproducible sums**, the same to the last bit for any order of their parts. Floating-point
addition is not associative, so a sum over rows would depend on the split by about 1e-16; in
hundreds of steps on a surface with many maxima, an optimiser could turn that into another model.
Integer addition is associative. A block's sum x is written as

    x = high · 2⁻²⁴u + low · 2⁻⁶⁴u,     u = the power of two at or above the total weight,

with integers of 64 bits, which are then added in any order. Everything that is summed is an average
over rows times their weight, so the largest possible value is 2.7e11 per unit of weight, and the
rounding error is 3e-20 per unit of weight for each block: less than that of float64. A value that
does not fit, or is not a number, makes the whole sum NaN.

Each *block* must consist of the same rows, in the same order, on any holder: on a cluster
distributed/whole_blocks.py ensures this.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from ..data.blocks import rounded_up
from ..data.row_draw import GAMMA, mixed
from ..inference.features import whiten
from ..inference.sites import Rows, WhitenedGaussian
from ..numerics.arrays import AnyArray
from ..numerics.precision import compiled, computing_in, for_platform
from ..stopping import raise_if_interrupted
from .parameters import Model
from .row_sums import RowSums, flops_of_a_row, row_sums

_LARGEST_BLOCK = 4096
_SMALLEST_BLOCK = 64
_FEWEST_BLOCKS = 32  # so that several holders have a few blocks each
_FLOPS_AT_ONCE = {"cpu": 1e11, "gpu": 2e13}
_WIDE = np.dtype(np.float64)  # dtype of the sums, whatever that of the rows
_HIGH, _LOW = 2.0**-24, 2.0**-64
_LARGEST = 2.0**62  # of an integer


class Counted(NamedTuple):
    """A tree of sums, as integers."""

    high: Any
    low: Any
    is_whole: AnyArray  # False if a value did not fit


class Point(NamedTuple):
    """The parameters at which sums are computed."""

    model: Model
    q: WhitenedGaussian
    jitter: Float[AnyArray, ""] | float


class Subset(NamedTuple):
    """A random part of all rows, different in each round."""

    seed: int
    round: int
    share: float

    def includes(self, numbers: Int[np.ndarray, " N"]) -> Bool[np.ndarray, " N"]:
        """Which of the rows with these numbers take part."""
        start = np.uint64(np.random.SeedSequence([self.seed, self.round]).generate_state(1)[0])
        place = numbers.astype(np.uint64) + (start << np.uint64(32)) - np.uint64(1)
        return mixed(place * np.uint64(GAMMA)) < self.share * 2.0**64


class Found(NamedTuple):
    """The sums at a point, and the result of the factorisation of Kmm there."""

    sums: RowSums
    jitter: Float[AnyArray, ""]
    factorised: Bool[AnyArray, ""]


class PartFound(NamedTuple):
    """The sums of some of the rows, until all others are added."""

    sums: Counted
    jitter: Float[AnyArray, ""]
    factorised: Bool[AnyArray, ""]


class Span(NamedTuple):
    """Consecutive rows of the whole table."""

    first: int
    length: int


class Shape(NamedTuple):
    """A number of blocks and their size."""

    blocks: int
    rows_in_a_block: int

    @classmethod
    def for_rows(cls, n_rows: int) -> "Shape":
        """Shape for n rows: one block up to 4096, several of that size above."""
        return cls.in_blocks(n_rows, min(rounded_up(max(n_rows, 1)), _LARGEST_BLOCK))

    @classmethod
    def in_blocks(cls, n_rows: int, size: int) -> "Shape":
        """Shape for n rows in blocks of this size."""
        return cls(rounded_up(-(-max(n_rows, 1) // size)), size)


def rows_in_a_block(n_rows: int) -> int:
    """The block size for a table of n rows that may be split between several holders."""
    return min(max(rounded_up(-(-n_rows // _FEWEST_BLOCKS)), _SMALLEST_BLOCK), _LARGEST_BLOCK)


@dataclass(frozen=True)
class HeldRows:
    """Rows on a device, padded with rows of weight 0, and their numbers in the whole table."""

    rows: Rows
    spans: tuple[Span, ...]
    shape: Shape
    total_weight: float  # of the whole table: the unit of the sums

    def numbers(self) -> Int[np.ndarray, " N"]:
        """Each row's number in the whole table."""
        parts = [np.arange(first, first + length) for first, length in self.spans]
        return np.concatenate([np.zeros(0, np.int64), *parts])

    @property
    def nbytes(self) -> int:
        """Memory of the rows."""
        return sum(column.nbytes for column in self.rows)

    def __reduce__(self):
        # JAX's 64-bit setting belongs to the thread that unpickles: `hold` takes care of it.
        rows = Rows(*map(np.asarray, self.rows))
        return hold, (rows, self.spans, self.shape, rows.y.dtype, self.total_weight)


def hold(
    rows: Rows, spans: tuple[Span, ...], shape: Shape, dtype: np.dtype, total_weight: float
) -> HeldRows:
    """Put rows on the device, for all rounds."""
    missing = shape.blocks * shape.rows_in_a_block - len(rows.y)
    X, y, weights = (np.asarray(column, dtype) for column in rows)
    filled = Rows(
        np.concatenate([X, np.zeros((missing, X.shape[1]), dtype)]),
        np.concatenate([y, np.ones(missing, dtype)]),
        np.concatenate([weights, np.zeros(missing, dtype)]),
    )
    with computing_in(_WIDE):
        return HeldRows(jax.tree.map(jnp.asarray, filled), spans, shape, total_weight)


def sums_at(held: HeldRows, point: Point, subset: Subset | None = None) -> PartFound:
    """The sums of the held rows, or of a random part of them, as integers."""
    chosen = _chosen(held, subset)
    count = -(-int(np.count_nonzero(chosen >= 0)) // chosen.shape[1])
    dtype = np.dtype(held.rows.y.dtype)
    unit = unit_of(held.total_weight)
    found: PartFound | None = None
    at_once = _blocks_at_once(point, chosen.shape[1])
    with computing_in(_WIDE):
        point = jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype), point)
        for first in range(0, max(count, 1), at_once):
            some = np.roll(chosen, -first, axis=0) if first else chosen
            part = _sums(point, held.rows, some, np.int32(min(at_once, count - first)), unit)
            part = jax.tree.map(np.asarray, part)
            found = part if found is None else added(found, part)
            raise_if_interrupted()
    assert found is not None
    return found


def _blocks_at_once(point: Point, rows_in_a_block: int) -> int:
    """How many blocks take about a second, estimated from flops: then Ctrl-C is checked."""
    flops = rows_in_a_block * flops_of_a_row(*point.q.mean.shape)
    return max(1, int(for_platform(_FLOPS_AT_ONCE) / flops))


def added(one: PartFound, other: PartFound) -> PartFound:
    """The sum of two sets of rows."""
    return PartFound(
        together(one.sums, other.sums),
        np.maximum(one.jitter, other.jitter),
        np.logical_and(one.factorised, other.factorised),
    )


def summed(part: PartFound, total_weight: float) -> Found:
    """After the last part: the sums in float64."""
    return Found(as_floats(part.sums, unit_of(total_weight)), part.jitter, part.factorised)


def _chosen(held: HeldRows, subset: Subset | None) -> Int[np.ndarray, "K B"]:
    """Positions of the rows that take part, one line per block; -1 for padding."""
    numbers = held.numbers()
    places = np.arange(len(numbers))
    shape = held.shape
    if subset is not None:
        places = places[subset.includes(numbers)]
        expected = subset.share * shape.blocks * shape.rows_in_a_block
        # eight standard deviations above the mean: one shape for every round
        shape = Shape.for_rows(max(len(places), int(expected + 8.0 * expected**0.5)))
    chosen = np.full(shape.blocks * shape.rows_in_a_block, -1, np.int32)
    chosen[: len(places)] = places
    return chosen.reshape(shape)


@compiled
def _sums(point: Point, rows: Rows, chosen, count, unit) -> PartFound:
    model, q = point.model, point.q
    assert model.Z is not None
    whitening = whiten(model.kernel, model.Z, point.jitter)

    def sums_of_block(i) -> Counted:
        places = chosen[i]
        weights = jnp.where(places < 0, 0.0, rows.weights[places])
        block = Rows(rows.X[places], rows.y[places], weights)
        sums = row_sums(whitening, model.likelihood, q, block, _WIDE, rough=False)
        return counted(jax.tree.map(lambda leaf: leaf.astype(_WIDE), sums), unit)

    like = jax.eval_shape(sums_of_block, 0)
    nothing = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), like)
    nothing = nothing._replace(is_whole=jnp.array(True))
    total = jax.lax.fori_loop(
        0, count, lambda i, so_far: together(so_far, sums_of_block(i)), nothing
    )
    return PartFound(total, whitening.jitter, whitening.ok)


def unit_of(total_weight: float) -> float:
    """The exponent of the power of two u."""
    return 2.0 ** math.ceil(math.log2(total_weight))


def counted(tree: Any, unit: Any) -> Counted:
    """Arrays of float64 as integers; traceable by JAX."""
    scaled = jax.tree.map(lambda x: x / (unit * _HIGH), tree)
    whole = jax.tree.map(jnp.floor, scaled)
    high = jax.tree.map(lambda x: x.astype(jnp.int64), whole)
    low = jax.tree.map(lambda x, w: _nearest((x - w) * (_HIGH / _LOW)), scaled, whole)
    fits = [jnp.all(jnp.abs(x) < _LARGEST) for x in jax.tree.leaves(scaled)]  # false for NaN
    return Counted(high, low, jnp.all(jnp.stack(fits)))


def together(one: Counted, other: Counted) -> Counted:
    """The sum of both, as NumPy or JAX arrays."""
    parts = (one.high, one.low), (other.high, other.low)
    high, low = total = jax.tree.map(lambda a, b: a + b, *parts)
    # Overflow: the sign of the sum differs from that of both parts.
    overflows = jax.tree.map(lambda a, b, s: (((a ^ s) & (b ^ s)) < 0).any(), *parts, total)
    is_whole = one.is_whole & other.is_whole
    for overflow in jax.tree.leaves(overflows):
        is_whole = is_whole & ~overflow
    return Counted(high, low, is_whole)


def as_floats(sums: Counted, unit: float) -> Any:
    """The tree of sums in NumPy's float64."""
    scale = unit if bool(sums.is_whole) else math.nan

    def joined(high, low):
        return np.asarray(high, np.float64) * (scale * _HIGH) + np.asarray(low) * (scale * _LOW)

    return jax.tree.map(joined, sums.high, sums.low)


def _nearest(x):
    return jnp.round(x).astype(jnp.int64)
