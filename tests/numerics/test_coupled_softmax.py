"""The expected softmax of correlated Gaussians, against many random numbers and limits."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import softmax

from fewknots.numerics import coupled_softmax, gumbel

pytestmark = pytest.mark.usefixtures("float64")


# Compiled whole, as a fit has them: one step after the other they are some ninety small programs.
log_coupled_softmax_mean = jax.jit(coupled_softmax.log_coupled_softmax_mean)
log_softmax_mean = jax.jit(gumbel.log_softmax_mean)


def gaussians(n_classes, n_rows, scale, seed=0):
    """Means, and covariances of which a large part is a common shift."""
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(n_rows, n_classes, n_classes)) + 3.0 * rng.normal(
        size=(n_rows, 1, 1)
    )
    mean = 2.0 * rng.normal(size=(n_classes, n_rows))
    return mean, scale * np.moveaxis(factors @ factors.mT, 0, -1)


def found(mean, covariance):
    return np.asarray(log_coupled_softmax_mean(jnp.asarray(mean), jnp.asarray(covariance)))


@pytest.mark.parametrize(("n_classes", "atol"), [(2, 1e-3), (3, 2e-3), (6, 8e-3)])
def test_against_random_numbers(n_classes, atol):
    mean, covariance = gaussians(n_classes, 5, 1.0)
    p = np.exp(found(mean, covariance))
    rng = np.random.default_rng(1)
    for row in range(5):
        f = rng.multivariate_normal(mean[:, row], covariance[..., row], size=400_000)
        np.testing.assert_allclose(p[:, row], softmax(f, axis=1).mean(axis=0), atol=atol)


def test_independent_functions_and_a_common_shift_are_exact():
    mean, _ = gaussians(5, 7, 1.0)
    rng = np.random.default_rng(2)
    variance = rng.uniform(0.0, 50.0, size=(5, 7))
    shift = 3.0 * rng.uniform(size=(5, 7))
    covariance = np.eye(5)[..., None] * variance + 40.0 + shift[:, None] + shift
    wanted = log_softmax_mean(jnp.asarray(mean), jnp.asarray(variance))
    np.testing.assert_allclose(found(mean, covariance), wanted, atol=1e-7)


def test_far_from_certain_and_impossible_classes_have_finite_logarithms():
    mean, covariance = gaussians(4, 3, 0.1)
    log_p = found(mean + np.array([0.0, 100.0, 0.0, -200.0])[:, None], covariance)
    assert np.all(np.isfinite(log_p))
    np.testing.assert_allclose(log_p[1], 0.0, atol=1e-12)
    assert np.all(log_p[3] < -200.0)


def test_the_order_of_classes_makes_no_difference():
    mean, covariance = gaussians(5, 7, 2.0)
    order = np.array([3, 1, 4, 0, 2])
    moved = found(mean[order], covariance[np.ix_(order, order)])
    np.testing.assert_allclose(moved, found(mean, covariance)[order], atol=1e-9)
