"""Choosing inducing points, and moving idle ones."""

import numpy as np
import pytest

from fewknots.inducing import (
    automatic_count,
    choose,
    count_for_minibatches,
    greedy_variance,
    relocate,
)
from fewknots.kernels import RBF, as_kernels

SPREAD = np.ones(2)


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(size=(60, 2))


def rbf(A, B, lengthscale):
    return np.exp(-0.5 * np.sum((A[:, None] - B[None]) ** 2, axis=-1) / lengthscale**2)


def conditional_variance(lengthscale, X, Z):
    """diag(Kxx - Kxz Kzz⁻¹ Kzx) of an RBF, straight from its definition."""
    Kzz = rbf(Z, Z, lengthscale) + 1e-9 * np.eye(len(Z))
    Kxz = rbf(X, Z, lengthscale)
    return 1.0 - np.sum(Kxz * np.linalg.solve(Kzz, Kxz.T).T, axis=1)


@pytest.mark.parametrize("method", ["kmeans", "greedy", "random"])
def test_distinct_points_inside_the_data(float64, rows, method):
    rng = np.random.RandomState(0)
    Z = choose(method, RBF().prepared(SPREAD), rows, np.ones(60), 12, rng)
    assert Z.shape == (12, 2)
    assert len(np.unique(Z, axis=0)) == 12
    assert np.all(rows.min(axis=0) <= Z)
    assert np.all(rows.max(axis=0) >= Z)


@pytest.mark.parametrize("method", ["kmeans", "random"])
def test_rows_without_weight_are_not_chosen(float64, rows, method):
    weights = (rows[:, 0] > 0).astype(float)
    Z = choose(method, RBF().prepared(SPREAD), rows, weights, 5, np.random.RandomState(0))
    assert np.all(Z[:, 0] > 0)


def test_greedy_takes_the_largest_conditional_variance_each_time(float64, rows):
    kernel = RBF(0.8).prepared(SPREAD)
    chosen = greedy_variance(kernel, rows, 10)
    for i in range(1, 10):
        left = conditional_variance(0.8, rows, rows[chosen[:i]])
        assert left[chosen[i]] == pytest.approx(left.max(), rel=1e-6)


def test_greedy_goes_on_when_nothing_is_left_to_explain(float64):
    X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 10, axis=0)
    chosen = greedy_variance(RBF().prepared(SPREAD), X, 5)
    assert len(set(chosen.tolist())) == 5


def test_idle_points_move_to_where_the_rows_are(float64, rows):
    """Points piled up in one corner are worth little; most of them go among the rows."""
    kernel = RBF(0.7).prepared(SPREAD)
    rng = np.random.RandomState(0)
    Z = np.vstack([rows[:4], 50.0 + 0.01 * rng.normal(size=(6, 2))])
    b = np.full(60, 0.5)
    moved, moves = relocate(kernel, rows, b, Z, rng)
    assert moves == 5  # half of them at most at a time
    assert np.sum(np.all(moved < 10, axis=1)) == 9
    np.testing.assert_array_equal(moved[:4], Z[:4])
    # what rows leave unexplained, weighted by curvature, falls by what (gain) promised, roughly
    before = 0.5 * b @ conditional_variance(0.7, rows, Z)
    after = 0.5 * b @ conditional_variance(0.7, rows, moved)
    assert after < 0.7 * before


def test_with_a_kernel_for_each_class_points_move_by_all_of_them(float64, rows):
    kernels = [RBF(0.7), RBF(0.4), RBF(1.5)]
    each, together = as_kernels(kernels), kernels[0] + kernels[1] + kernels[2]
    Z = np.vstack([rows[:4], 50.0 + rows[4:10]])
    b = np.full(60, 0.5)
    found = [
        relocate(kernel.prepared(SPREAD), rows, b, Z, np.random.RandomState(0))
        for kernel in (each, together)
    ]
    assert found[0][1] == found[1][1] > 0
    np.testing.assert_array_equal(found[0][0], found[1][0])


def test_well_placed_points_stay(float64, rows):
    kernel = RBF(2.0).prepared(SPREAD)
    Z = rows[greedy_variance(kernel, rows, 20)]
    _, moves = relocate(kernel, rows, np.full(60, 0.5), Z, np.random.RandomState(0))
    assert moves == 0


def test_as_many_points_as_rows_stay(float64, rows):
    kernel = RBF(0.1).prepared(SPREAD)
    assert relocate(kernel, rows[:5], np.ones(5), rows[:5], np.random.RandomState(0))[1] == 0


def test_automatic_count_grows_with_the_cube_root():
    assert automatic_count(10) == 20
    assert automatic_count(400) == 37
    assert automatic_count(8_000_000) == 1000


def test_minibatches_afford_more_points():
    assert count_for_minibatches(1000) == 3 * automatic_count(1000)
    assert count_for_minibatches(5_000_000) == 300
    # several latent functions share the time, but have no fewer points than in full batch
    assert 150 < count_for_minibatches(5000, 3) < 3 * automatic_count(5000)
    assert count_for_minibatches(5000, 100) == automatic_count(5000)
