"""Noise that is a function of the inputs, beside brute force over both functions."""

import jax
import numpy as np
import pytest
from scipy.stats import norm

from fewknots import GPRegressor
from fewknots.likelihoods import Gaussian, Heteroscedastic

from ..reference import gaussian_expectation

pytestmark = pytest.mark.usefixtures("float64")
NOISE = 0.3
Y = np.array([0.3, -2.0, 5.0, 0.1, -40.0])
MEAN = np.array([[0.5, 0.1, 1.0, 0.1, -1.0], [0.2, -3.0, 1.0, -1.0, 0.5]])
VARIANCE = np.array([[0.2, 3.0, 0.5, 1e-6, 0.5], [0.5, 0.1, 4.0, 0.3, 1.0]])


def asked(method, *latent):
    return jax.jit(getattr(Heteroscedastic(NOISE), method))(Y, *latent)


def test_expectations():
    found = asked("expectations", MEAN, VARIANCE)
    f, weights = np.polynomial.hermite_e.hermegauss(60)

    def of_g(g):
        at = [
            norm.logpdf(Y, MEAN[0] + np.sqrt(VARIANCE[0]) * x, np.sqrt(NOISE * np.exp(g)))
            for x in f
        ]
        return np.tensordot(weights / weights.sum(), np.array(at), axes=1)

    want = gaussian_expectation(of_g, MEAN[1], VARIANCE[1])
    np.testing.assert_allclose(found.log_prob, want, rtol=1e-8)
    for function in range(2):
        _check_differences(found, function)


def _check_differences(found, function):
    h = 1e-5 * np.eye(2)[function][:, None]
    up, down = (asked("expectations", MEAN + s * h, VARIANCE) for s in (1, -1))
    near = {"rtol": 1e-5, "atol": 1e-5}
    np.testing.assert_allclose(found.slope[function], (up.log_prob - down.log_prob) / 2e-5, **near)
    np.testing.assert_allclose(
        found.curvature[function], (down.slope - up.slope)[function] / 2e-5, **near
    )
    h = h * VARIANCE
    up, down = (asked("expectations", MEAN, VARIANCE + s * h) for s in (1, -1))
    change = (up.curvature - down.curvature)[function] / (2e-5 * VARIANCE[function])
    np.testing.assert_allclose(found.curvature_change[function], change, **near)


def test_probability_of_a_row():
    found = asked("tilted", MEAN, VARIANCE)
    want = gaussian_expectation(
        lambda g: norm.pdf(Y, MEAN[0], np.sqrt(VARIANCE[0] + NOISE * np.exp(g))),
        MEAN[1], VARIANCE[1], n=20001,
    )  # fmt: skip
    np.testing.assert_allclose(found.log_prob[:4], np.log(want)[:4], rtol=1e-7)
    assert -400 < found.log_prob[4] < -15  # where brute force underflows or misses it
    for function in range(2):
        h = 1e-5 * np.eye(2)[function][:, None]
        up, down = (asked("tilted", MEAN + s * h, VARIANCE) for s in (1, -1))
        near = {"rtol": 1e-4, "atol": 1e-5}
        slope = (up.log_prob - down.log_prob) / 2e-5
        np.testing.assert_allclose(found.slope[function][:4], slope[:4], **near)
        curvature = (down.slope - up.slope)[function] / 2e-5
        np.testing.assert_allclose(found.curvature[function][:4], curvature[:4], **near)


def test_moments_and_quantiles():
    mean, variance = jax.jit(Heteroscedastic(NOISE).moments)(MEAN, VARIANCE)
    np.testing.assert_allclose(mean, MEAN[0])
    noise = gaussian_expectation(lambda g: NOISE * np.exp(g), MEAN[1], VARIANCE[1])
    np.testing.assert_allclose(variance, VARIANCE[0] + noise, rtol=1e-6)
    levels = np.array([0.025, 0.6])
    found = jax.jit(Heteroscedastic(NOISE).quantiles)(MEAN, VARIANCE, levels)
    for level, y in zip(levels, np.asarray(found), strict=True):
        below = gaussian_expectation(
            lambda g, y=y: norm.cdf(y, MEAN[0], np.sqrt(VARIANCE[0] + NOISE * np.exp(g))),
            MEAN[1], VARIANCE[1], n=20001,
        )  # fmt: skip
        np.testing.assert_allclose(below, level, atol=1e-6)


def test_the_noise_is_found_where_it_is():
    """Its deviation grows tenfold from one end to the other; a Gaussian's cannot."""
    random = np.random.RandomState(0)
    X = random.uniform(-1.0, 1.0, size=(300, 1))
    deviation = 0.3 * 10.0 ** (0.5 * X[:, 0])
    y = 50.0 + 10.0 * (np.sin(3.0 * X[:, 0]) + deviation * random.normal(size=300))
    settings = {"kernel": "rbf", "warp": None, "method": "sparse_kl", "n_inducing": 8,
                "random_state": 0, "tol": 1e-4}  # fmt: skip
    reg = GPRegressor(likelihood="heteroscedastic", **settings).fit(X, y)
    mean, variance = reg.predict_latent(X)
    assert mean.shape == variance.shape == (300, 2)
    noise = np.sqrt(float(reg.likelihood_.noise) * np.exp(mean[:, 1]))  # in the units of y
    assert np.corrcoef(np.log(noise), np.log(deviation))[0, 1] > 0.95
    assert np.mean(np.abs(noise / (10.0 * deviation) - 1.0)) < 0.25
    np.testing.assert_allclose(mean[:, 0], reg.predict(X))
    even = GPRegressor(likelihood=Gaussian(), **settings).fit(X, y)
    assert reg.log_evidence_ > even.log_evidence_ + 20.0
