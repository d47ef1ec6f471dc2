from threading import Barrier

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fewknots.data.blocks import BLOCK_SIZES, cheapest_size, map_blocks, rounded_up
from fewknots.data.standardise import Standardiser
from fewknots.data.tables import merge_equal_rows


@given(st.integers(1, 10**7))
def test_training_sizes_are_few_and_close(n):
    size = rounded_up(n)
    assert n <= size <= 1.125 * n
    assert len({rounded_up(k) for k in range(n, min(2 * n, n + 3000))}) <= 17


@given(st.integers(1, 10**6))
def test_few_blocks_and_little_filling(n):
    size = cheapest_size(n, BLOCK_SIZES, call=32)
    blocks = -(-n // size)
    assert blocks <= 30 + n / 1024
    assert blocks * size <= max(8, 4 * n)
    assert blocks * size <= 1.25 * n + 128


@pytest.mark.parametrize("n", [1, 127, 128, 129, 1024, 8192, 8193, 20000])
def test_blocks_cover_every_row_once(n):
    sizes = set()

    def twice(block):
        sizes.add(len(block))
        return (2.0 * block[:, 0],)

    X = np.arange(n, dtype=float)[:, None]
    (doubled,) = map_blocks(twice, X, call=32)
    np.testing.assert_array_equal(doubled, 2.0 * X[:, 0])
    assert sizes <= set(BLOCK_SIZES)


def test_blocks_in_several_threads_are_the_same_blocks():
    X, met = np.arange(70.0)[:, None], Barrier(3)

    def twice(block):
        if block[0, 0] > 0:  # not the first, which is alone: the others come three at a time
            met.wait(timeout=60)
        return (2.0 * block[:, 0],)

    (doubled,) = map_blocks(twice, X, call=0, sizes=(10,), threads=3)
    np.testing.assert_array_equal(doubled, 2.0 * X[:, 0])


def test_an_error_in_one_thread_ends_all():
    done = []

    def refuse(block):
        done.append(block[0, 0])
        if block[0, 0] == 20.0:
            raise ZeroDivisionError
        return (block[:, 0],)

    with pytest.raises(ZeroDivisionError):
        map_blocks(refuse, np.arange(1e4)[:, None], call=0, sizes=(10,), threads=2)
    assert len(done) < 1000


@given(st.lists(st.tuples(st.integers(-2, 2), st.booleans(), st.integers(0, 3)), min_size=1))
def test_merging_keeps_weight_per_distinct_row(rows):
    x = np.array([[r[0], 0.5] for r in rows], float)
    y = np.array([1.0 if r[1] else -1.0 for r in rows])
    w = np.array([float(r[2]) for r in rows])
    if w.sum() == 0:
        return
    X, signs, weights = merge_equal_rows(x, y, w)
    want = {}
    for r in rows:
        if r[2]:
            key = (float(r[0]), 1.0 if r[1] else -1.0)
            want[key] = want.get(key, 0.0) + r[2]
    got = {(a, s): w for a, s, w in zip(X[:, 0], signs, weights, strict=True)}
    assert got == want


def test_standardiser_goes_there_and_back():
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(30, 3)) * [1, 100, 0] + [5, 0, 2], rng.integers(1, 4, 30).astype(float)
    standardiser = Standardiser.fitted(X, w)
    Z = standardiser(X)
    repeated = np.repeat(Z, w.astype(int), axis=0)
    np.testing.assert_allclose(repeated.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(repeated.std(axis=0), [1.0, 1.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(standardiser.undo(Z), X, rtol=1e-12)
