"""Greedy selection of a combination's weights."""

import numpy as np
import pytest
from scipy.stats import norm

from fewknots.fitting.combination import WORTHWHILE, select

RNG = np.random.default_rng(0)
N = 4000
TRUTH = RNG.normal(size=N)
Y = np.where(RNG.uniform(size=N) < norm.cdf(TRUTH), 1.0, -1.0)


def log_prob(latent):
    mean, variance = latent
    return norm.logcdf(Y * mean[0] / np.sqrt(1.0 + variance[0]))


def fit_with(noise, seed):
    error = noise * np.random.default_rng(seed).normal(size=N)
    return (TRUTH + error)[None], np.full((1, N), 0.1)


def test_independent_errors_are_averaged():
    members = [fit_with(0.8, 1), fit_with(0.8, 2)]
    weights = select(members, log_prob)
    assert np.all(weights > 0.3)
    assert weights.sum() == pytest.approx(1.0)


def test_as_good_as_the_best_weights_on_a_grid():
    members = [fit_with(0.5, 1), fit_with(1.0, 2)]
    weights = select(members, log_prob)

    def nlp(share):
        parts = [share * a + (1 - share) * b for a, b in zip(members[0], members[1], strict=True)]
        return -np.mean(log_prob(parts))

    best = min(nlp(share) for share in np.linspace(0, 1, 101))
    assert nlp(weights[0]) < best + 5e-4


def test_who_adds_nothing_gets_nothing():
    good, bad = fit_with(0.0, 1), fit_with(3.0, 2)
    np.testing.assert_array_equal(select([bad, good], log_prob), [0.0, 1.0])


def test_a_small_gain_is_not_worth_a_second_prediction():
    good = fit_with(0.1, 1)
    other = (good[0] + 1e-3 * RNG.normal(size=N), good[1])
    weights = select([good, other], log_prob)
    assert sorted(weights) == [0.0, 1.0]
    assert WORTHWHILE > 0
