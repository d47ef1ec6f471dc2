"""Rows drawn by a hash: a file or a run of an earlier version must find the same ones again."""

import numpy as np

from fewknots.data.row_draw import GAMMA, HashSplit, in_share, mixed, some_rows
from fewknots.tables.learned_rows import RowPrints
from fewknots.training.held_rows import Subset


def test_the_hash_is_splitmix64():
    # The first numbers from the seed 1234567, as other implementations give them.
    places = np.uint64(1234567) + np.arange(3, dtype=np.uint64) * np.uint64(GAMMA)
    known = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert mixed(places).tolist() == known


def test_a_share_of_all_bits():
    bits = mixed(np.arange(100_000, dtype=np.uint64))
    assert abs(np.mean(in_share(bits, 0.2)) - 0.2) < 0.005
    assert in_share(bits, 1.0).all()
    assert not in_share(bits, 0.0).any()


def test_the_rows_drawn_never_change():
    held_out = HashSplit(0.1, seed=3).drawn(0, 60)
    assert np.flatnonzero(held_out).tolist() == [21, 35, 38, 41, 42, 47, 59]
    np.testing.assert_array_equal(HashSplit(0.1, seed=3).drawn(20, 40), held_out[20:])
    of_round = Subset(seed=1, round=4, share=0.1).includes(np.arange(60))
    assert np.flatnonzero(of_round).tolist() == [16, 20, 28, 33, 46]
    printed = RowPrints(b"0123456789abcdef", 0.2).chosen(np.arange(60.0).reshape(30, 2))
    assert np.flatnonzero(printed).tolist() == [0, 1, 14, 17, 27, 28]


def test_some_rows_are_distinct_and_the_same_each_time():
    assert np.sort(some_rows(1000, 5, seed=1)).tolist() == [34, 471, 510, 753, 949]
    assert some_rows(3, 5).tolist() == [0, 1, 2]
