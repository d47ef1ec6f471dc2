"""Blocks are whole wherever partitions begin, and every row is in exactly one of them."""

import numpy as np
import pytest

from fewknots.distributed.whole_blocks import holdings
from fewknots.training.held_rows import Span

BLOCK = 64


def spans_of(lengths):
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    return [Span(int(start), int(length)) for start, length in zip(starts, lengths, strict=True)]


@pytest.mark.parametrize(
    ("lengths", "shares"),
    [
        ([1000], [[0]]),
        ([100, 28, 300], [[0], [1], [2]]),
        ([10] * 40, [[i] for i in range(40)]),  # most begin no block
        ([10] * 40, [list(range(0, 40, 2)), list(range(1, 40, 2))]),  # in turns
        ([0, 70, 0, 0, 130, 0], [[0, 1], [2, 3], [4], [5]]),
        ([64, 128, 64], [[0, 2], [1]]),
        ([5], [[0]]),
        ([130, 20, 200], [[0, 2], [1]]),  # what partition 1 begins goes on in share 0's rows
    ],
)
def test_every_row_is_in_one_whole_block(lengths, shares):
    spans, n_rows = spans_of(lengths), sum(lengths)
    seen = np.zeros(n_rows, int)
    for i, holding in enumerate(holdings(spans, shares, BLOCK)):
        rows = []
        pieces = [(i, holding.own), *holding.borrowed.items()]
        slices = [(owner, piece) for owner, part in pieces for piece in part]
        for owner, (number, first, last) in sorted(slices, key=lambda pair: pair[1]):
            assert number in shares[owner]
            assert 0 <= first < last <= lengths[number]
            rows.extend(range(spans[number].first + first, spans[number].first + last))
        wanted = [range(first, first + length) for first, length in holding.spans]
        assert rows == [row for span in wanted for row in span]
        for first, length in holding.spans:
            assert first % BLOCK == 0
            assert length % BLOCK == 0 or first + length == n_rows
        seen[rows] += 1
        moved = sum(last - first for part in holding.borrowed.values() for _, first, last in part)
        assert moved <= BLOCK * len(shares[i])
    assert np.all(seen == 1)


def test_random_cuts():
    rng = np.random.default_rng(0)
    for _ in range(50):
        lengths = rng.integers(0, 200, rng.integers(1, 30)).tolist()
        if sum(lengths) == 0:
            continue
        owners = rng.integers(0, 4, len(lengths))
        shares = [np.flatnonzero(owners == i).tolist() for i in np.unique(owners)]
        test_every_row_is_in_one_whole_block(lengths, shares)
