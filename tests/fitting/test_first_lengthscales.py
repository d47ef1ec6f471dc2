"""Which start is taken for the default kernel's lengthscales, and by what it is judged."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import multivariate_normal

from fewknots import inducing
from fewknots.fitting import first_lengthscales
from fewknots.fitting.first_lengthscales import screened
from fewknots.inference.sites import Rows
from fewknots.kernels import Matern32
from fewknots.kernels.automatic import automatic_kernel, lengthscales_of
from fewknots.numerics.precision import computing_in


def start_for(X, y, n_latent=1, weights=None):
    """What is found, and its lengthscales over the usual ones."""
    known = automatic_kernel(np.ones(X.shape[1]))
    usual = known.prepared(np.ones(X.shape[1]))
    weights = np.ones(len(y)) if weights is None else weights
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    found = screened(known, usual, Rows(X, np.asarray(y, float), weights), n_latent)
    return found, lengthscales_of(found.kernel) / lengthscales_of(usual)


def signs(values):
    return np.where(values > 0, 1.0, -1.0)


def test_the_evidence_is_that_of_regression_at_the_best_scale():
    """Eq. (1) against the normal density, maximised over the scale by search, at each noise."""
    rng = np.random.default_rng(0)
    X, targets = rng.normal(size=(30, 2)), rng.normal(size=(30, 2))
    targets = targets - targets.mean(axis=0)
    kernel = Matern32([0.7, 1.3], 2.0)
    found = first_lengthscales._regression(kernel, X, np.ones(30), targets)
    with computing_in(np.dtype(np.float64)):
        K = np.asarray(kernel(X, X))

    def best_over_scales(covariance):
        def minus(log_scale):
            normal = multivariate_normal(np.zeros(30), np.exp(log_scale) * covariance)
            return -np.sum(normal.logpdf(targets.T))

        return -minimize_scalar(minus, bounds=(-12, 12), method="bounded").fun

    levels = [2.0 * level for level in first_lengthscales._NOISE]
    evidences = [best_over_scales(K + level * np.eye(30)) for level in levels]
    want = max(evidences) - best_over_scales(np.eye(30))
    np.testing.assert_allclose(found.evidence, want, atol=1e-5)
    assert found.noise == pytest.approx(levels[int(np.argmax(evidences))])


def test_a_weight_is_so_many_rows():
    """The fit to targets of weight 3 is that to three equal rows each: eq. (1)'s first term."""
    rng = np.random.default_rng(1)
    X, targets = rng.normal(size=(25, 2)), rng.normal(size=(25, 1))
    kernel, noise, root = Matern32([0.7, 1.3], 2.0), 0.6, 3.0**0.5
    weighted = first_lengthscales._weighted(kernel, X, np.full(25, 3.0))
    thrice = first_lengthscales._weighted(kernel, np.repeat(X, 3, axis=0), np.ones(75))
    T, many = root * targets, np.repeat(targets, 3, axis=0)
    one = T.T @ np.linalg.solve(weighted + noise * np.eye(25), T)
    other = many.T @ np.linalg.solve(thrice + noise * np.eye(75), many)
    np.testing.assert_allclose(one, other, rtol=1e-10)


def test_von_neumanns_ratio():
    rng = np.random.default_rng(2)
    x = rng.random((400, 1))
    noise = [first_lengthscales._alike(x, rng.normal(size=(400, 1))) for _ in range(200)]
    assert abs(np.mean(noise)) < 0.25
    assert 0.8 < np.std(noise) < 1.2
    wave = np.sin(40.0 * x)
    assert first_lengthscales._alike(x, wave - wave.mean()) > 15.0
    plane = rng.random((400, 2))
    board = signs(np.sin(9.0 * plane[:, :1]) * np.sin(9.0 * plane[:, 1:]))
    assert first_lengthscales._alike(plane, board) > 8.0
    assert abs(first_lengthscales._alike(plane[:, :1], board)) < 4.0


def test_a_fast_wave_starts_short():
    rng = np.random.default_rng(3)
    X = rng.random((500, 1))
    found, ratio = start_for(X, signs(np.sin(2.0 * np.pi * 12.0 * X[:, 0])))
    assert ratio[0] <= 0.125
    assert found.degrees > 40.0


def test_a_wave_along_one_of_many_inputs():
    rng = np.random.default_rng(4)
    X = rng.random((500, 15))
    _, ratio = start_for(X, signs(np.sin(2.0 * np.pi * 5.0 * X[:, 7])))
    assert np.argmin(ratio) == 7
    assert ratio[7] < 0.2
    np.testing.assert_allclose(np.delete(ratio, 7), 3.0)


def test_a_checkerboard_in_the_plane_of_two_of_five():
    rng = np.random.default_rng(5)
    X = rng.random((500, 5))
    _, ratio = start_for(X, signs(np.sin(4.0 * np.pi * X[:, 1]) * np.sin(4.0 * np.pi * X[:, 4])))
    assert set(np.argsort(ratio)[:2]) == {1, 4}
    np.testing.assert_allclose(ratio[[0, 2, 3]], 3.0)


def test_several_classes():
    rng = np.random.default_rng(6)
    X = rng.random((500, 1))
    found, ratio = start_for(X, np.floor(15.0 * X[:, 0]) % 3, n_latent=3)
    assert ratio[0] <= 0.125
    assert found.degrees > 10.0


@pytest.mark.parametrize("n_inputs", [1, 5, 40])
def test_noise_and_straight_lines_start_as_usual(n_inputs):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(300, n_inputs))
    for y in (signs(rng.normal(size=300)), signs(X.sum(axis=1) + rng.normal(size=300))):
        found, ratio = start_for(X, y)
        np.testing.assert_array_equal(ratio, 1.0)
        assert found.degrees == 0.0


def test_a_steep_line_in_three_of_forty_starts_as_usual():
    """A short lengthscale along one of them explains 150 rows better, and its prior says no."""
    rng = np.random.default_rng(10)
    X = rng.normal(size=(150, 40))
    y = signs(X[:, :3] @ [3.0, 1.0, 1.0] + 0.5 * rng.normal(size=150))
    np.testing.assert_array_equal(start_for(X, y)[1], 1.0)


def test_few_rows_or_one_target_start_as_usual():
    rng = np.random.default_rng(8)
    for X, y in (rng.normal(size=(10, 2)), np.arange(10)), (rng.normal(size=(50, 2)), np.ones(50)):
        assert start_for(X, y)[0].degrees == 0.0


def test_the_same_rows_give_the_same_start():
    rng = np.random.default_rng(9)
    X = rng.random((3000, 2))
    y = signs(np.sin(9.0 * X[:, 0]) * np.sin(9.0 * X[:, 1]))
    one, other = start_for(X, y)[1], start_for(X, y)[1]
    np.testing.assert_array_equal(one, other)


def test_more_points_where_it_takes_more_numbers():
    assert inducing.automatic_count(1500) == inducing.automatic_count(1500, 20.0) == 57
    assert inducing.automatic_count(1500, 40.0) == 114
    assert inducing.automatic_count(1500, 400.0) == 228
    assert inducing.automatic_count(20_000, 400.0) == inducing.automatic_count(20_000)
