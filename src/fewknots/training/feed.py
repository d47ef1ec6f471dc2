r"""Batches for stochastic training, from memory or from disk.

The rows of a chunk of steps are a function of (seed, number of the first step) alone, so a resumed
training gets the same rows as an uninterrupted one. Each pass over the data has a new order. There
are two feeds:

`ArrayFeed`: all rows are on the device; a chunk consists of row numbers.

`StoreFeed`: rows are in a store, usually a scratch file (data/spool.py), or in arrays too large for
the device. For each chunk, blocks of consecutive rows are read from random places of the store and
their rows are shuffled: a batch of 1024 has rows from hundreds of places, whatever the order of the
store. While one chunk is used the next is read; no more than these two are in memory.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

from ..data.blocks import padded, row_slices
from ..inference.sites import Rows
from ..numerics.precision import current_platform

_BLOCK = 256  # consecutive rows read together
_POOL_BYTES = 2**27  # bytes of rows on the device at a time
_EVALUATION_BLOCK = 8192


class Chunk(NamedTuple):
    """Rows on the device and, for each step of a chunk, the numbers of the rows in its batch."""

    rows: Rows
    chosen: Int[np.ndarray, "steps B"]


@runtime_checkable
class Store(Protocol):
    """Rows that can be read by number."""

    n_rows: int
    n_features: int

    def take(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """X, targets and weights of the given row numbers, in the given order."""
        ...


@runtime_checkable
class Feed(Protocol):
    """The source of batches for a fit."""

    n_rows: int
    total_weight: float

    def steps_at_once(self, batch_size: int, wanted: int) -> int:
        """How many of the wanted steps fit into one chunk."""
        ...

    def chunk(self, seed: int, done: int, steps: int, batch_size: int) -> Chunk:
        """The batches of the next steps after `done`."""
        ...

    def blocks(self) -> Iterator[Rows]:
        """All rows once, in blocks of equal size; the last is padded with rows of weight 0."""
        ...

    def place(self, sharding: Any) -> None:
        """Put rows on devices as `sharding` says from now on."""
        ...


def fits_on_device(n_bytes: int) -> bool:
    """Whether the rows leave half of the device's memory free (for a CPU, of main memory)."""
    memory = jax.local_devices(backend=current_platform())[0].memory_stats()
    return memory is None or n_bytes < 0.5 * memory.get("bytes_limit", np.inf)


def order_of_pass(seed: int, number: int, count: int) -> Int[np.ndarray, " N"]:
    """The order of `count` items in one pass."""
    return np.random.default_rng([seed, number]).permutation(count)


class ArrayFeed:
    """Rows in memory, put on the device once."""

    def __init__(self, rows: Rows):
        self.n_rows = len(rows.y)
        self.total_weight = float(np.sum(rows.weights, dtype=np.float64))
        self.rows = jax.tree.map(jnp.asarray, rows)
        self._orders: dict[tuple[int, int], np.ndarray] = {}

    def steps_at_once(self, batch_size: int, wanted: int) -> int:
        return wanted

    def chunk(self, seed: int, done: int, steps: int, batch_size: int) -> Chunk:
        wanted = np.arange(done * batch_size, (done + steps) * batch_size)
        passes, places = wanted // self.n_rows, wanted % self.n_rows
        chosen = np.empty(len(wanted), np.int32)
        orders = {}
        for number in np.unique(passes).tolist():
            key = (seed, number)
            order = self._orders.get(key)
            orders[key] = order_of_pass(*key, self.n_rows) if order is None else order
            here = passes == number
            chosen[here] = orders[key][places[here]]
        self._orders = orders  # the next chunk is usually in the same pass
        return Chunk(self.rows, chosen.reshape(steps, batch_size))

    def blocks(self) -> Iterator[Rows]:
        return equal_blocks(self.rows)

    def place(self, sharding: Any) -> None:
        self.rows = jax.device_put(self.rows, sharding)


class StoreFeed:
    """Rows in a store, read in blocks from random places."""

    def __init__(
        self,
        store: Store,
        prepared: Callable[..., Rows],
        left_out: Int[np.ndarray, " H"],
        total_weight: float,
    ):
        """`prepared` converts (X, targets, weights) of the store to rows to compute with;
        `left_out` are the sorted numbers of the rows that are not used for training.
        """
        self.store = store
        self.prepared = prepared
        self.left_out = left_out
        self.n_rows = store.n_rows
        self.total_weight = total_weight
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="fewknots-reader")
        self._ahead: dict[tuple, Future[Chunk]] = {}
        self._sharding: Any = None  # JAX's default device

    def steps_at_once(self, batch_size: int, wanted: int) -> int:
        bytes_of_a_batch = batch_size * (self.store.n_features + 2) * 8
        return max(1, min(wanted, _POOL_BYTES // bytes_of_a_batch))

    def chunk(self, seed: int, done: int, steps: int, batch_size: int) -> Chunk:
        found = self._ahead.pop((seed, done, steps, batch_size), None)
        self._ahead.clear()
        chunk = self._read(seed, done, steps, batch_size) if found is None else found.result()
        following = (seed, done + steps, steps, batch_size)
        self._ahead[following] = self._reader.submit(self._read, *following)
        # Not in the reader's thread: JAX's 64-bit setting belongs to a thread.
        return Chunk(jax.device_put(chunk.rows, self._sharding), chunk.chosen)

    def _read(self, seed: int, done: int, steps: int, batch_size: int) -> Chunk:
        """Blocks in this pass's order; rows beyond the last block's end have no weight."""
        n_blocks = -(-self.n_rows // _BLOCK)
        wanted = np.arange(done * batch_size, (done + steps) * batch_size)
        passes, places = wanted // (n_blocks * _BLOCK), wanted % (n_blocks * _BLOCK)
        numbers = np.empty(len(wanted), np.int64)
        for number in np.unique(passes).tolist():
            here = passes == number
            blocks = order_of_pass(seed, number, n_blocks)[places[here] // _BLOCK]
            numbers[here] = blocks * _BLOCK + places[here] % _BLOCK
        rows = self._rows(numbers)
        mixed = np.random.default_rng([seed, done, 1]).permutation(len(wanted))
        return Chunk(rows, mixed.astype(np.int32).reshape(steps, batch_size))

    def _rows(self, numbers: Int[np.ndarray, " n"]) -> Rows:
        beyond = numbers >= self.n_rows
        X, y, weights = self.store.take(np.where(beyond, 0, numbers))
        unseen = beyond | _is_in(numbers, self.left_out)
        return self.prepared(X, y, np.where(unseen, 0.0, weights))

    def blocks(self) -> Iterator[Rows]:
        for start in range(0, self.n_rows, _EVALUATION_BLOCK):
            yield self._rows(np.arange(start, start + _EVALUATION_BLOCK))

    def place(self, sharding: Any) -> None:
        self._sharding = sharding

    def close(self) -> None:
        self._reader.shutdown(cancel_futures=True)


def _is_in(numbers: Int[np.ndarray, " n"], ascending: Int[np.ndarray, " H"]) -> np.ndarray:
    if len(ascending) == 0:
        return np.zeros(len(numbers), bool)
    place = np.minimum(np.searchsorted(ascending, numbers), len(ascending) - 1)
    return ascending[place] == numbers


def equal_blocks(rows: Rows) -> Iterator[Rows]:
    """Rows in blocks of equal size, the last padded with rows of weight 0."""
    for part in row_slices(len(rows.y), _EVALUATION_BLOCK):
        block = Rows(*(column[part] for column in rows))
        missing = _EVALUATION_BLOCK - (part.stop - part.start)
        if missing:
            X, y, weights = map(np.asarray, block)
            none = np.zeros(missing, weights.dtype)
            block = Rows(
                padded(X, _EVALUATION_BLOCK),
                padded(y, _EVALUATION_BLOCK),
                np.concatenate([weights, none]),
            )
        yield block


def weightless_block(n_features: int, dtype: np.dtype) -> Rows:
    """A block of the same form, with rows of weight 0."""
    nothing = np.zeros(_EVALUATION_BLOCK, dtype)
    return Rows(np.zeros((_EVALUATION_BLOCK, n_features), dtype), nothing + 1.0, nothing)
