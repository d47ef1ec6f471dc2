"""Rows in blocks of few distinct sizes, so that functions are compiled rarely.

JAX compiles a function again for every array shape. Four block sizes for predictions, and training
sizes rounded up to sixteenths of a power of two, keep the number of shapes small; the added rows
are masked or removed from the result.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

Result = TypeVar("Result")

BLOCK_SIZES = (8, 128, 1024, 8192)


def row_slices(n_rows: int, size: int) -> Iterator[slice]:
    """Consecutive slices of at most `size` rows."""
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def map_blocks(
    function: Callable[..., tuple],
    *arrays: np.ndarray,
    call: int,
    sizes: Sequence[int] = BLOCK_SIZES,
    threads: int = 1,
) -> tuple[np.ndarray, ...]:
    """Apply `function` to the arrays' rows block by block.

    It returns a tuple of arrays whose last axis are the rows.

    Every block has one of a few sizes, and the last one is padded with copies of its first row. So
    memory and compilations do not grow with the number of rows. `call` is the cost of a call of the
    function, in rows: if it is small, several small blocks are cheaper than a large one that is
    mostly padding. `threads` blocks are computed at a time.
    """
    n_rows = len(arrays[0])
    size = cheapest_size(n_rows, sizes, call)

    def parts_of(rows: slice) -> tuple[slice, list[np.ndarray]]:
        blocks = (padded(array[rows], size) for array in arrays)
        return rows, [np.asarray(part) for part in function(*blocks)]

    results: list[np.ndarray] = []
    for rows, parts in in_threads(parts_of, list(row_slices(n_rows, size)), threads):
        results = results or [np.empty((*part.shape[:-1], n_rows), part.dtype) for part in parts]
        for result, part in zip(results, parts, strict=True):
            result[..., rows] = part[..., : rows.stop - rows.start]
    return tuple(results)


def in_threads(
    function: Callable[[slice], Result], slices: Sequence[slice], threads: int
) -> Iterator[Result]:
    """What `function` makes of each slice, in their order.

    The first one is done before the others: it may have a program to compile.
    """
    yield from map(function, slices[:1] if threads > 1 else slices)
    if threads == 1 or len(slices) < 2:
        return
    pool = ThreadPoolExecutor(threads)
    try:
        yield from pool.map(function, slices[1:])
    finally:  # after an error nobody waits for blocks that were not begun
        pool.shutdown(cancel_futures=True)


def cheapest_size(n_rows: int, sizes: Sequence[int], call: int) -> int:
    """The block size with the lowest cost for n rows; a block costs its size plus `call`."""
    return min(sizes, key=lambda size: -(-n_rows // size) * (size + call))


def padded(rows: np.ndarray, size: int) -> np.ndarray:
    """`rows` followed by copies of its first row, `size` rows in all."""
    missing = size - len(rows)
    if missing == 0:
        return rows
    return np.concatenate([rows, np.repeat(rows[:1], missing, axis=0)])


def rounded_up(n_rows: int) -> int:
    """N rounded up to a multiple of 1/16 of the next power of two: at most 1/8 more."""
    step = max(1, 2 ** (max(n_rows - 1, 1).bit_length() - 4))
    return -(-n_rows // step) * step
