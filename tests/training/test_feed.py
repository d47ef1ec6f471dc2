"""Where batches come from: every row once a pass, the same rows for the same step, well mixed."""

import jax
import numpy as np
import pytest

from fewknots.data.sources import open_source
from fewknots.data.spool import Spool
from fewknots.inference.sites import Rows
from fewknots.training import feed
from fewknots.training.feed import ArrayFeed, StoreFeed, equal_blocks

N = 3000
X = np.arange(2.0 * N).reshape(N, 2)
y = np.where(np.arange(N) < N // 2, -1.0, 1.0)  # sorted by label
NONE = np.zeros(0, np.int64)


def as_rows(*columns):
    return Rows(*(np.asarray(column, np.float32) for column in columns))


@pytest.fixture
def spool(tmp_path):
    with Spool.written(open_source(X.astype(np.float32), target=y.astype(int)), tmp_path) as spool:
        yield spool


@pytest.fixture(params=["memory", "disk"])
def any_feed(request, spool):
    if request.param == "memory":
        yield ArrayFeed(as_rows(X, y, np.ones(N)))
        return
    found = StoreFeed(spool, as_rows, NONE, float(N))
    yield found
    found.close()


def seen(chunk):
    """The numbers of the rows in each batch, and their weights."""
    rows = jax.tree.map(np.asarray, chunk.rows)
    return (rows.X[chunk.chosen][..., 0] // 2).astype(int), rows.weights[chunk.chosen]


def test_every_pass_sees_every_row_once(any_feed):
    batches = -(-N // 256) * 256 // 64  # of a whole pass, from disk with its filled-up last block
    if isinstance(any_feed, ArrayFeed):
        batches = N // 60
    size = 60 if isinstance(any_feed, ArrayFeed) else 64
    first, second = (seen(any_feed.chunk(5, start, batches, size)) for start in (0, batches))
    for numbers, weights in (first, second):
        counted = np.bincount(numbers.ravel(), weights.ravel(), minlength=N)
        np.testing.assert_array_equal(counted, np.ones(N))
    assert not np.array_equal(first[0], second[0])


def test_a_chunk_is_a_function_of_seed_and_step(any_feed):
    wanted, _ = seen(any_feed.chunk(5, 7, 3, 50))
    any_feed.chunk(5, 0, 4, 50)  # reading something else in between changes nothing
    again, _ = seen(any_feed.chunk(5, 7, 3, 50))
    np.testing.assert_array_equal(again, wanted)
    other, _ = seen(any_feed.chunk(6, 7, 3, 50))
    assert not np.array_equal(other, wanted)


def test_a_file_sorted_by_label_is_mixed(any_feed):
    rows = jax.tree.map(np.asarray, any_feed.chunk(1, 0, 20, 100).rows)
    chunk = any_feed.chunk(1, 0, 20, 100)
    share = (rows.y[chunk.chosen] > 0).mean(axis=1)
    # 2000 of 3000 rows from eight of twelve blocks: between a fifth and four fifths of one class,
    # and every batch of the chunk has the chunk's own mixture
    assert 0.2 < share.mean() < 0.8
    assert share.std() < 0.07


def test_the_last_pass_sees_every_row_once_in_blocks_of_one_size(any_feed, monkeypatch):
    monkeypatch.setattr(feed, "_EVALUATION_BLOCK", 700)
    blocks = [jax.tree.map(np.asarray, block) for block in any_feed.blocks()]
    assert {block.X.shape for block in blocks} == {(700, 2)}
    numbers = np.concatenate([block.X[:, 0] for block in blocks]).astype(int) // 2
    weights = np.concatenate([block.weights for block in blocks])
    np.testing.assert_array_equal(np.bincount(numbers, weights, minlength=N), np.ones(N))


def test_rows_left_out_have_no_weight(spool):
    left_out = np.array([0, 5, 2999])
    found = StoreFeed(spool, as_rows, left_out, float(N - 3))
    numbers, weights = seen(found.chunk(0, 0, 48, 64))
    np.testing.assert_array_equal(
        np.sort(numbers[weights > 0]), np.setdiff1d(np.arange(N), left_out)
    )
    kept = sum(float(block.weights.sum()) for block in found.blocks())
    assert kept == N - 3
    found.close()


def test_wide_rows_come_in_smaller_chunks(spool):
    found = StoreFeed(spool, as_rows, NONE, float(N))
    assert found.steps_at_once(1024, 100) == 100
    spool.n_features = 784
    assert 1 <= found.steps_at_once(1024, 100) < 25
    found.close()


def test_equal_blocks_fill_up_with_nothing():
    blocks = list(equal_blocks(as_rows(X, y, np.ones(N))))
    assert len(blocks) == 1
    assert blocks[0].weights.sum() == N
