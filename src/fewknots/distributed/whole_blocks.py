"""Which rows each share holds, so that blocks of rows do not depend on how a table is partitioned.

Sums of blocks are added exactly (training/held_rows.py), so a block must not be split. A block
begins at every multiple of the block size in the whole table; partitions begin anywhere. A share
holds the blocks that begin in one of its partitions: it gives away the rows before the first such
block, and borrows the rows that are missing at the end of the last one.

    partitions   |   0     |  1  |      2      |
    blocks       |     |     |     |     |     |
    shares       [   0   ↦   ]   1 ↦ ]    2    ]     of one partition each

For each run of consecutive partitions, less than one block of rows is sent to another worker, once.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..training.held_rows import Span


class Slice(NamedTuple):
    """Consecutive rows of one partition, by their row numbers in it."""

    partition: int
    first: int
    last: int  # not included


class Holding(NamedTuple):
    """The rows that one share holds."""

    spans: tuple[Span, ...]  # whole blocks; only the last block of the table may be shorter
    own: tuple[Slice, ...]
    borrowed: dict[int, tuple[Slice, ...]]  # key: the share that has loaded them


def holdings(spans: Sequence[Span], shares: Sequence[Sequence[int]], block: int) -> list[Holding]:
    """The holding of each share (a list of partition numbers); `spans[i]` is of partition i."""
    owners = {number: i for i, share in enumerate(shares) for number in share}
    found = []
    for i, share in enumerate(shares):
        held = tuple(_whole_blocks(spans, share, block))
        slices: dict[int, list[Slice]] = {}
        for span in held:
            for piece in _slices(spans, span):
                slices.setdefault(owners[piece.partition], []).append(piece)
        own = tuple(slices.pop(i, ()))
        found.append(Holding(held, own, {owner: tuple(part) for owner, part in slices.items()}))
    return found


def _whole_blocks(spans: Sequence[Span], share: Sequence[int], block: int) -> Iterator[Span]:
    """The blocks that begin in one of the share's partitions; adjacent blocks are one span."""
    n_rows = spans[-1].first + spans[-1].length
    first = last = -1
    for number in sorted(share):
        begin, length = spans[number]
        starts, ends = (-(-row // block) * block for row in (begin, begin + length))
        ends = min(ends, n_rows)
        if starts >= begin + length:
            continue
        if starts == last:
            last = ends
            continue
        if first >= 0:
            yield Span(first, last - first)
        first, last = starts, ends
    if first >= 0:
        yield Span(first, last - first)


def _slices(spans: Sequence[Span], wanted: Span) -> Iterator[Slice]:
    """The slices of partitions that contain the rows of a span."""
    first, last = wanted.first, wanted.first + wanted.length
    number = bisect_right(spans, first, key=lambda span: span.first) - 1
    while first < last:
        begin, length = spans[number]
        until = min(last, begin + length)
        if until > first:
            yield Slice(number, first - begin, until - begin)
            first = until
        number += 1
