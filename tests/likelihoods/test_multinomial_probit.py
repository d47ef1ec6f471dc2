"""The largest of noisy functions."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import softmax

from fewknots.likelihoods import Bernoulli, MultinomialProbit

pytestmark = pytest.mark.usefixtures("float64")


def test_two_classes_are_the_probit_of_the_difference():
    """Of (f_1 - f_0)/√2, which has the variance of either if they have the same."""
    rng = np.random.default_rng(0)
    mean, variance = 20.0 * rng.normal(size=(2, 50)), 30.0 * rng.exponential(size=(2, 50))
    difference = jnp.asarray((mean[1] - mean[0])[None] / np.sqrt(2.0))
    wanted = Bernoulli("probit").log_probabilities(
        difference, jnp.asarray(variance.sum(axis=0)[None] / 2.0)
    )
    found = MultinomialProbit(2).log_probabilities(jnp.asarray(mean), jnp.asarray(variance))
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


def test_probabilities_against_samples():
    rng = np.random.default_rng(1)
    mean, variance = rng.normal(size=4), rng.exponential(size=4)
    f = mean + np.sqrt(variance) * rng.normal(size=(400_000, 4))
    leads = (f + rng.normal(size=f.shape)).argmax(axis=1)
    log_p = MultinomialProbit(4).log_probabilities(
        jnp.asarray(mean[:, None]), jnp.asarray(variance[:, None])
    )
    p = np.exp(np.array(log_p)[:, 0])
    np.testing.assert_allclose(p, np.bincount(leads, minlength=4) / len(f), atol=0.004)
    assert np.abs(p - softmax(mean)).max() > 0.02  # it is not the softmax


def test_a_prior_says_log_one_over_c():
    log_p = MultinomialProbit(7).log_probabilities(jnp.zeros((7, 1)), jnp.full((7, 1), 12.0))
    np.testing.assert_allclose(log_p, -np.log(7.0), atol=1e-12)
