"""Combined posteriors: averages of latent functions."""

import jax.numpy as jnp
import numpy as np
import pytest

from fewknots import GPClassifier, prediction
from fewknots.combined import CombinedPosterior, averaged
from fewknots.data.standardise import Standardiser
from fewknots.posterior import as_they_are


@pytest.fixture(scope="module")
def members(moons):
    """Two posteriors of the same function, and rows to ask them about."""
    X, y = moons
    smooth = GPClassifier("rbf", n_inducing=12, tol=0.5, standardize=False).fit(X, y)
    rough = GPClassifier("matern12", n_inducing=12, tol=0.5, standardize=False).fit(X, y)
    rows = np.random.default_rng(0).normal(size=(2500, 3)) * 2.0
    return smooth, rough, rows


def test_marginals_are_weighted_means(members):
    smooth, rough, X = members
    combined = CombinedPosterior((smooth.posterior_, rough.posterior_), (0.7, 0.3))
    (m_1, v_1), (m_2, v_2) = (clf.posterior_.marginals(X) for clf in (smooth, rough))
    mean, variance = combined.marginals(X)
    np.testing.assert_allclose(mean, 0.7 * m_1 + 0.3 * m_2, rtol=1e-14)
    np.testing.assert_allclose(variance, 0.7 * v_1 + 0.3 * v_2, rtol=1e-14)


def test_the_variance_is_that_of_no_less_certain_average():
    """Monte Carlo: whatever the correlation, Σ w f varies no more than the combination says."""
    rng, w, sd = np.random.default_rng(0), np.array([0.6, 0.4]), np.array([1.0, 2.5])
    _, variance = averaged([(np.zeros((1, 1)), np.full((1, 1), s**2)) for s in sd], w.tolist())
    for correlation in (-0.9, 0.0, 0.9, 1.0):
        f = rng.multivariate_normal(
            [0, 0], np.outer(sd, sd) * [[1, correlation], [correlation, 1]], 20_000
        )
        assert np.var(f @ w) <= variance[0, 0]


def test_equal_members_are_each_of_them(members):
    smooth, _, X = members
    combined = CombinedPosterior((smooth.posterior_, smooth.posterior_), (0.5, 0.5))
    nothing = Standardiser.identity(3)
    found = prediction.log_probabilities(smooth._likelihood, combined, nothing, X)
    want = prediction.log_probabilities(smooth._likelihood, smooth.posterior_, nothing, X)
    np.testing.assert_allclose(found, want, rtol=1e-12)


def test_blocks_are_no_matter(members):
    smooth, rough, X = members
    combined = CombinedPosterior((smooth.posterior_, rough.posterior_), (0.7, 0.3))
    mean, variance = combined.mapped(as_they_are, X)
    one_mean, one_variance = combined.mapped(as_they_are, X[77:78])
    np.testing.assert_allclose(one_mean, mean[:, 77:78], rtol=1e-12)
    np.testing.assert_allclose(one_variance, variance[:, 77:78], rtol=1e-12)
    doubled, _ = combined.mapped(lambda mean, variance: (2.0 * jnp.asarray(mean), variance), X)
    np.testing.assert_array_equal(doubled, 2.0 * mean)


def test_from_marginals_as_from_the_posterior(members):
    smooth, _, X = members
    latent = prediction.marginals(smooth.posterior_, Standardiser.identity(3), X)
    found = prediction.log_probabilities_of(smooth._likelihood, *latent)
    want = prediction.log_probabilities(
        smooth._likelihood, smooth.posterior_, Standardiser.identity(3), X
    )
    np.testing.assert_allclose(found, want, rtol=1e-12)
