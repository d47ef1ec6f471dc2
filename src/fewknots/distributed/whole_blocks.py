"""Which rows each share holds, so that blocks of rows are the same ones however a table is cut.

Sums are exact from blocks upwards (training/exact_sums.py), so a block must not be cut. Blocks
begin at every multiple of their size in the whole table; partitions begin anywhere. A share holds
the blocks that begin in one of its partitions: it gives away the rows before the first beginning,
and borrows those that are missing at the end.

    partitions   |   0     |  1  |      2      |
    blocks       |     |     |     |     |     |
    shares       [   0   ↦   ]   1 ↦ ]    2    ]     of one partition each

Fewer rows than a block has are moved for each stretch of consecutive partitions, once.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..training.held_rows import Span


class Slice(NamedTuple):
    """Consecutive rows of one partition, by their numbers within it."""

    partition: int
    first: int
    last: int  # not included


class Holding(NamedTuple):
    """What one share holds."""

    spans: tuple[Span, ...]  # whole blocks, but for the table's last one
    own: tuple[Slice, ...]
    borrowed: dict[int, tuple[Slice, ...]]  # by the share that has them


def holdings(spans: Sequence[Span], shares: Sequence[Sequence[int]], block: int) -> list[Holding]:
    """For each share, given as the numbers of its partitions; `spans` are those partitions'."""
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
    """The blocks that begin in one of the share's partitions, neighbours together."""
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
    """Where the rows of a span are."""
    first, last = wanted.first, wanted.first + wanted.length
    number = bisect_right(spans, first, key=lambda span: span.first) - 1
    while first < last:
        begin, length = spans[number]
        until = min(last, begin + length)
        if until > first:
            yield Slice(number, first - begin, until - begin)
            first = until
        number += 1
