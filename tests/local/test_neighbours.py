"""The nearest rows are the nearest rows, however they are looked for."""

import numpy as np
import pytest

from fewknots.kernels import Linear, Matern32, Warp
from fewknots.local.neighbours import (
    BlockSearch,
    Metric,
    MovingSearch,
    TreeSearch,
    metric,
    without,
)

RNG = np.random.default_rng(1)


def by_sorting(X, queries, scale, k):
    apart = (queries[:, None].astype(float) - X[None].astype(float)) / scale
    return np.argsort(np.sum(apart**2, axis=2), axis=1, kind="stable")[:, :k]


def lengthscales(*lengths):
    return Metric(Matern32(lengthscale=np.array(lengths)), len(lengths))


@pytest.mark.parametrize("kind", [TreeSearch, BlockSearch])
@pytest.mark.parametrize(("n_rows", "n_features", "k"), [(50, 2, 7), (9000, 3, 20), (5000, 40, 9)])
def test_both_searches_find_the_nearest(kind, n_rows, n_features, k):
    X = RNG.normal(size=(n_rows, n_features)).astype(np.float32)
    queries = RNG.normal(size=(21, n_features)).astype(np.float32)
    scale = RNG.uniform(0.5, 2.0, size=n_features)
    found = kind(X, scale).nearest(queries, k)
    np.testing.assert_array_equal(
        np.sort(found, axis=1), np.sort(by_sorting(X, queries, scale, k), axis=1)
    )


@pytest.mark.parametrize("kind", [TreeSearch, BlockSearch])
def test_a_tiny_lengthscale_costs_no_digits(kind):
    """Rows a few lengthscales apart, ten thousand lengthscales from the origin."""
    X = (30.0 + 1e-3 * RNG.normal(size=(3000, 2))).astype(np.float32)
    scale = np.full(2, 1e-3)
    found = kind(X, scale).nearest(X[:10], 5)
    np.testing.assert_array_equal(
        np.sort(found, axis=1), np.sort(by_sorting(X, X[:10], scale, 5), axis=1)
    )


def test_a_row_is_not_its_own_neighbour_even_among_copies():
    X = np.zeros((40, 2), np.float32)
    own = np.arange(40)
    found = without(own, TreeSearch(X, np.ones(2)).nearest(X, 6))
    assert found.shape == (40, 5)
    assert not np.any(found == own[:, None])


def test_a_moving_metric_is_followed_without_a_new_tree():
    X = RNG.normal(size=(4000, 3)).astype(np.float32)
    moving = MovingSearch(X, lengthscales(1.0, 1.0, 1.0))
    built = moving._search
    near = np.array([1.0, 1.2, 0.9])
    found = moving.nearest(X[:50], 10, lengthscales(*near))
    assert moving._search is built
    hits = [
        len(set(a) & set(b)) for a, b in zip(found, by_sorting(X, X[:50], near, 10), strict=True)
    ]
    assert np.mean(hits) > 9.9
    moving.nearest(X[:50], 10, lengthscales(*5.0 * near))  # a common factor changes no order
    assert moving._search is built
    far = np.array([1.0, 4.0, 1.0])
    found = moving.nearest(X[:50], 10, lengthscales(*far))
    assert moving._search is not built
    np.testing.assert_array_equal(
        np.sort(found, axis=1), np.sort(by_sorting(X, X[:50], far, 10), axis=1)
    )


def test_the_metric_is_the_kernels():
    kernel = Matern32(lengthscale=np.array([1.0, 2.0]))
    np.testing.assert_array_equal(metric(kernel + Linear(), 2), [1.0, 2.0])
    np.testing.assert_array_equal(metric(Linear(), 3), np.ones(3))


def test_inputs_that_the_kernel_does_not_look_at_tell_no_neighbours_apart():
    X = np.random.default_rng(0).normal(size=(300, 3))
    kernel = Matern32(lengthscale=np.array([2.0, 0.5]), columns=(2, 0))
    scale = metric(kernel, 3)
    for kind in (TreeSearch, BlockSearch):
        found = kind(X, scale).nearest(X[:20], 5)
        want = by_sorting(X[:, [2, 0]], X[:20, [2, 0]], np.array([2.0, 0.5]), 5)
        np.testing.assert_array_equal(np.sort(found, axis=1), np.sort(want, axis=1))


def test_a_part_of_the_rows_is_searched_by_their_own_numbers():
    X = RNG.normal(size=(1000, 3)).astype(np.float32)
    part = np.sort(RNG.choice(1000, 200, replace=False))
    same = lengthscales(1.0, 1.0, 1.0)
    found = MovingSearch(X, same, part).nearest(X[:20], 8, same)
    wanted = part[by_sorting(X[part], X[:20], np.ones(3), 8)]
    np.testing.assert_array_equal(np.sort(found, axis=1), np.sort(wanted, axis=1))


def warped(above, lengths=(1.0, 1.0, 1.0)):
    inner = Matern32(lengthscale=np.array(lengths))
    return Metric(Warp(inner, below=np.array([0.8]), above=np.array([above]), columns=(1,)), 3)


@pytest.mark.parametrize("n_features_for_a_tree", [128, 0])  # by a tree, and by all distances
def test_moving_warps_are_followed(n_features_for_a_tree, monkeypatch):
    monkeypatch.setattr("fewknots.local.neighbours._MOST_INPUTS_FOR_A_TREE", n_features_for_a_tree)
    X = RNG.standard_t(2.0, size=(4000, 3)).astype(np.float32) * [1.0, 5.0, 1.0]
    X = X.astype(np.float32)

    def by_the_kernel(metric):
        W = metric.kernel.coordinates(X)
        return by_sorting(W, W[:50], metric.scale, 10)

    start, near, far = warped(0.5), warped(0.47, (1.1, 1.0, 1.0)), warped(0.2)
    moving = MovingSearch(X, start)
    built = moving._search
    found = moving.nearest(X[:50], 10, near)
    assert moving._search is built
    hits = [len(set(a) & set(b)) for a, b in zip(found, by_the_kernel(near), strict=True)]
    assert np.mean(hits) > 9.9
    found = moving.nearest(X[:50], 10, far)
    assert moving._search is not built
    np.testing.assert_array_equal(np.sort(found, axis=1), np.sort(by_the_kernel(far), axis=1))


def test_how_far_a_metric_has_moved():
    """Only ways against each other count, and those far out among the rows, too."""
    rows = np.array([[0.0, 0.0, 0.0], [0.0, 1e3, 0.0]])
    assert lengthscales(1.0, 2.0, 3.0).moved_from(lengthscales(2.0, 4.0, 6.0), rows) == 0.0
    assert warped(0.5).moved_from(warped(0.5), rows) == 0.0
    moved = warped(0.25).moved_from(warped(0.5), rows)
    assert moved == pytest.approx(np.log(2.0) * np.log1p(3e3))


@pytest.mark.parametrize("order", [1, -1])
def test_the_order_of_many_queries_changes_nothing(order):
    """A tree looks for them in an order of its own, among inputs of very different spread."""
    spread = np.array([100.0, 1.0, 1e-3])
    X, queries = spread * RNG.normal(size=(2000, 3)), spread * RNG.normal(size=(300, 3))
    scale = np.array([2.0, 0.5, 1.0])
    found = TreeSearch(X, scale).nearest(queries[::order], 6)[::order]
    np.testing.assert_array_equal(
        np.sort(found, axis=1), np.sort(by_sorting(X, queries, scale, 6), axis=1)
    )


def test_a_new_scale_is_measured_anew():
    """All distances by products: lengths of rows are kept, but not beyond a change of scale."""
    X, queries = RNG.normal(size=(500, 40)), RNG.normal(size=(9, 40))
    search = BlockSearch(X, np.ones(40))
    for scale in (np.ones(40), RNG.uniform(0.2, 5.0, size=40)):
        search.scale = scale
        np.testing.assert_array_equal(
            np.sort(search.nearest(queries, 5), axis=1),
            np.sort(by_sorting(X, queries, scale, 5), axis=1),
        )
