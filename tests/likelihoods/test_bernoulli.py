from functools import partial

import jax
import numpy as np
import pytest
from scipy.special import expit, log_ndtr

from fewknots.likelihoods import Bernoulli

from ..reference import gaussian_expectation


@partial(jax.jit, static_argnames="link")
def predictive(mean, variance, link):
    likelihood, latent = Bernoulli(link), (mean[None], variance[None])
    return *likelihood.log_probabilities(*latent), likelihood.decision(*latent)


@pytest.mark.parametrize("variance", [0.0, 0.3, 4.0, 400.0])
def test_probabilities_of_the_probit(variance, float64):
    mean = np.linspace(-30, 30, 61)
    negative, positive, _ = predictive(mean, np.full(61, variance), "probit")
    np.testing.assert_allclose(positive, log_ndtr(mean / np.sqrt(1 + variance)), rtol=1e-12)
    np.testing.assert_allclose(np.exp(negative) + np.exp(positive), 1.0, rtol=1e-14)


@pytest.mark.parametrize("variance", [1e-6, 0.3, 4.0, 100.0])
def test_probabilities_of_the_logit(variance, float64):
    mean = np.linspace(-6, 6, 61) * max(1.0, np.sqrt(variance))
    negative, positive, _ = predictive(mean, np.full(61, variance), "logit")
    want = gaussian_expectation(expit, mean, np.full(61, variance), n=40001)
    np.testing.assert_allclose(np.exp(positive), want, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(np.exp(negative) + np.exp(positive), 1.0, rtol=3e-8)


def test_the_logit_keeps_its_tail(float64):
    """log E[s(f)] → μ + σ²/2 for μ far below: the expectation of eᶠ."""
    mean = np.resize([-900.0, 900.0], 61)
    negative, positive, _ = predictive(mean, np.full(61, 9.0), "logit")
    np.testing.assert_allclose(positive[0], -900.0 + 4.5, rtol=1e-9)
    np.testing.assert_allclose(negative[1], -900.0 + 4.5, rtol=1e-9)


@pytest.mark.parametrize("link", ["probit", "logit"])
def test_decision_is_the_probability_on_the_links_scale(link, float64):
    mean, variance = np.resize([-2.0, -0.1, 0.0, 3.0], 61), np.resize([0.5, 2.0, 1.0, 9.0], 61)
    _, positive, decision = predictive(mean, variance, link)
    back = np.exp(log_ndtr(decision)) if link == "probit" else expit(decision)
    np.testing.assert_allclose(back, np.exp(positive), rtol=1e-7)
    assert float(decision[2]) == pytest.approx(0.0, abs=1e-12)
