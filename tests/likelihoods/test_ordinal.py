"""Ordered classes, by brute force; of two they are the probit."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

from fewknots.likelihoods import Bernoulli, Ordinal

from ..reference import gaussian_expectation

pytestmark = pytest.mark.usefixtures("float64")
CUTS = np.array([-6.0, -0.7, 0.4, 0.4 + 1e-3, 9.0])
ODDS = np.diff(np.exp(CUTS), prepend=0.0)
Y = np.arange(6.0)
MEAN = np.array([-1.0, 0.2, 1.5, 0.0, -3.0, 2.5])
VARIANCE = np.array([0.4, 9.0, 1e-4, 4.0, 30.0, 0.02])


def log_p(f):
    """SciPy's, in the tail that loses nothing."""
    edges = np.concatenate([[-np.inf], CUTS, [np.inf]])
    lower, upper = edges[:-1] - f, edges[1:] - f
    flip = lower > 0
    low, high = np.where(flip, -upper, lower), np.where(flip, -lower, upper)
    far, near = norm.logcdf(low), norm.logcdf(high)
    return near + np.log(-np.expm1(far - near))


def asked(method, *latent):
    likelihood = Ordinal(6, ODDS)
    found = jax.jit(getattr(likelihood, method))(Y, *(part[None] for part in latent))
    return type(found)(*(np.asarray(part).reshape(6) for part in found))


@pytest.mark.parametrize("most", [1.0, 30.0])
def test_expectations(most):
    variance = np.minimum(VARIANCE, most)
    found = asked("expectations", MEAN, variance)
    want = gaussian_expectation(log_p, MEAN, variance, n=20001)
    np.testing.assert_allclose(found.log_prob, want, rtol=1e-6, atol=1e-7)
    near = {"rtol": 2e-5, "atol": 2e-5}
    h = 1e-4 * np.sqrt(variance)
    up, down = (asked("expectations", MEAN + s * h, variance) for s in (1, -1))
    np.testing.assert_allclose(found.slope, (up.log_prob - down.log_prob) / (2 * h), **near)
    np.testing.assert_allclose(found.curvature, (down.slope - up.slope) / (2 * h), **near)
    h = 1e-4 * variance
    up, down = (asked("expectations", MEAN, variance + s * h) for s in (1, -1))
    change = (up.curvature - down.curvature) / (2 * h)
    np.testing.assert_allclose(found.curvature_change, change, rtol=1e-4, atol=1e-4)


def test_derivatives_at_a_point():
    found = asked("at", MEAN)
    np.testing.assert_allclose(found.log_prob, log_p(MEAN), rtol=1e-9)
    h = 1e-5
    up, down = (asked("at", MEAN + s * h) for s in (1, -1))
    near = {"rtol": 1e-5, "atol": 1e-5}
    np.testing.assert_allclose(found.slope, (up.log_prob - down.log_prob) / (2 * h), **near)
    np.testing.assert_allclose(found.curvature, (down.slope - up.slope) / (2 * h), **near)
    bend = (up.curvature - down.curvature) / (2 * h)
    np.testing.assert_allclose(found.curvature_slope, bend, **near)


def test_probabilities():
    found = asked("tilted", MEAN, VARIANCE)
    want = gaussian_expectation(lambda f: np.exp(log_p(f)), MEAN, VARIANCE, n=20001)
    np.testing.assert_allclose(found.log_prob, np.log(want), rtol=1e-8)
    up, down = (asked("tilted", MEAN + s * 1e-5, VARIANCE) for s in (1, -1))
    near = {"rtol": 1e-5, "atol": 1e-5}
    np.testing.assert_allclose(found.slope, (up.log_prob - down.log_prob) / 2e-5, **near)
    np.testing.assert_allclose(found.curvature, (down.slope - up.slope) / 2e-5, **near)
    each = jax.jit(Ordinal(6, ODDS).log_probabilities)(MEAN[None], VARIANCE[None])
    np.testing.assert_allclose(np.exp(each).sum(axis=0), 1.0, rtol=1e-12)
    far = jax.jit(Ordinal(6, ODDS).log_probabilities)(np.array([[-300.0]]), np.array([[1.0]]))
    assert np.all(np.isfinite(far))
    assert np.all(np.diff(np.ravel(far)[:3]) < 0)


def test_two_classes_are_the_probit():
    y, mean, variance = np.array([0.0, 1.0] * 3), MEAN[None], VARIANCE[None]
    for method, latent in (("expectations", (mean, variance)), ("tilted", (mean, variance)),
                           ("at", (mean,))):  # fmt: skip
        one = jax.jit(getattr(Ordinal(2, np.ones(1)), method))(y, *latent)
        other = jax.jit(getattr(Bernoulli(), method))(2.0 * y - 1.0, *latent)
        for part, want in zip(one, other, strict=True):
            np.testing.assert_allclose(part, want, rtol=1e-10, atol=1e-12)


def test_cut_points_have_derivatives():
    mean, variance = jnp.asarray(MEAN[None]), jnp.asarray(VARIANCE[None])

    @jax.jit
    def bound(odds):
        return jnp.sum(Ordinal(6, odds).expectations(jnp.asarray(Y), mean, variance).log_prob)

    slopes = jax.jit(jax.jacfwd(bound))(jnp.asarray(ODDS))
    for k, odds in enumerate(ODDS):
        h = 1e-6 * odds
        up, down = (bound(ODDS + s * h * (np.arange(5) == k)) for s in (1, -1))
        assert float(slopes[k]) == pytest.approx(float(up - down) / (2 * h), rel=1e-3, abs=1e-6)


def test_it_starts_with_classes_equally_likely():
    start = Ordinal(4).prepared(np.zeros(1), np.ones(1))
    each = start.log_probabilities(jnp.zeros((1, 1)), jnp.ones((1, 1)))
    np.testing.assert_allclose(np.exp(each), 0.25, rtol=1e-12)
