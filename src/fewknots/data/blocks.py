"""Rows in blocks of few distinct sizes, so that compiled functions are compiled once.

JAX compiles anew for every array shape. Four prediction block sizes, and training sizes
rounded up to sixteenths of a power of two, keep the number of shapes small; what is added is
masked or cut off again.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

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
) -> tuple[np.ndarray, ...]:
    """Apply `function` to the arrays' rows block by block.

    It returns a tuple of arrays whose last axis are the rows.

    Every block has one of a few sizes, the last one filled up with copies of its first row, so
    memory and compilations do not grow with the number of rows. `call` says what it costs to call
    the function, in rows: where that is little, several small blocks take less than a large one
    that is mostly filled up.
    """
    n_rows = len(arrays[0])
    size = cheapest_size(n_rows, sizes, call)
    results: list[np.ndarray] = []
    for rows in row_slices(n_rows, size):
        parts = [np.asarray(p) for p in function(*(padded(array[rows], size) for array in arrays))]
        results = results or [np.empty((*part.shape[:-1], n_rows), part.dtype) for part in parts]
        for result, part in zip(results, parts, strict=True):
            result[..., rows] = part[..., : rows.stop - rows.start]
    return tuple(results)


def cheapest_size(n_rows: int, sizes: Sequence[int], call: int) -> int:
    """The size of block with which n rows cost least; a block costs its size and `call`."""
    return min(sizes, key=lambda size: -(-n_rows // size) * (size + call))


def padded(rows: np.ndarray, size: int) -> np.ndarray:
    """`rows` and copies of its first one, `size` in all."""
    missing = size - len(rows)
    if missing == 0:
        return rows
    return np.concatenate([rows, np.repeat(rows[:1], missing, axis=0)])


def rounded_up(n_rows: int) -> int:
    """The next multiple of a sixteenth of the power of two at or above n: at most 1/8 more."""
    step = max(1, 2 ** (max(n_rows - 1, 1).bit_length() - 4))
    return -(-n_rows // step) * step
