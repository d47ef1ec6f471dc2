"""Scores of numbers against scikit-learn's, ranks against what is known of right predictions."""

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

from fewknots.number_scoring import (
    NUMBER_SCORES,
    Seen,
    coverage,
    number_intervals,
    number_scores,
    rank_shares,
    seen_by_gaussian,
)


def _right(n=4000, seed=0):
    """Gaussian predictions with means of their own, and numbers that follow them."""
    rng = np.random.default_rng(seed)
    mean = rng.normal(size=n)
    y = mean + 0.5 * rng.normal(size=n)
    return seen_by_gaussian(mean, 0.5, y, counts=False), y


def _poisson(rate, y):
    law = stats.poisson(rate)
    return Seen(law.mean(), law.std(), law.logpmf(y), law.cdf(y - 1), law.cdf(y))


def test_scores_are_those_of_scikit_learn():
    seen, y = _right()
    found = number_scores(seen, y)
    assert tuple(found) == NUMBER_SCORES
    assert found["rmse"] == pytest.approx(root_mean_squared_error(y, seen.mean), rel=1e-12)
    assert found["mae"] == pytest.approx(mean_absolute_error(y, seen.mean), rel=1e-12)
    assert found["r2"] == pytest.approx(r2_score(y, seen.mean), rel=1e-12)
    wanted = -np.mean(stats.norm(seen.mean, 0.5).logpdf(y))
    assert found["nlp"] == pytest.approx(wanted, rel=1e-12)
    inside = np.abs(y - seen.mean) < 0.5 * stats.norm.ppf(0.975)
    assert found["coverage"] == np.mean(inside)
    assert number_scores(seen, np.full(len(y), 2.0))["r2"] is None


def test_r2_of_numbers_far_from_zero_loses_no_digits():
    seen, y = _right(500)
    moved = seen._replace(mean=seen.mean + 1e9)
    assert number_scores(moved, y + 1e9)["r2"] == pytest.approx(r2_score(y, seen.mean), rel=1e-6)


def test_intervals_hold_the_score_and_shrink_with_the_rows():
    seen, y = _right()
    scores, around = number_scores(seen, y), number_intervals(seen, y)
    few = number_intervals(seen.some(slice(400)), y[:400])
    for name in NUMBER_SCORES:
        assert around[name][0] < scores[name] < around[name][1]
        ratio = np.ptp(few[name]) / np.ptp(around[name])
        assert 2.0 < ratio < 5.0  # √10


def test_a_gaussian_says_of_counts_what_is_between_halves():
    y = np.array([0.0, 3.0, 40.0])
    mean, deviation = np.array([1.0, 3.2, 2.0]), 1.3
    found = seen_by_gaussian(mean, deviation, y, counts=True)
    law = stats.norm(mean, deviation)
    inner = np.log((law.cdf(y + 0.5) - law.cdf(y - 0.5))[:2])
    np.testing.assert_allclose(found.log_density[:2], inner, rtol=1e-10)
    tail = law.logsf(39.5)[2]  # all but nothing of the tail beyond 39.5 is below 40.5
    assert found.log_density[2] == pytest.approx(tail, rel=1e-4)


@pytest.mark.parametrize("counts", [False, True])
def test_ranks_of_right_predictions_are_uniform(counts):
    rng = np.random.default_rng(1)
    if counts:
        rate = rng.gamma(2.0, 1.5, 20_000)
        seen = _poisson(rate, rng.poisson(rate))
    else:
        seen, _ = _right(20_000)
    shares = rank_shares(seen, 10)
    assert shares.sum() == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(shares, 0.1, atol=0.01)
    for level in (0.5, 0.9):
        if counts:
            assert coverage(seen, level) >= level - 0.01
        else:
            assert coverage(seen, level) == pytest.approx(level, abs=0.015)


def test_ranks_show_intervals_that_are_too_narrow():
    seen, y = _right()
    bold = seen_by_gaussian(seen.mean, 0.25, y, counts=False)
    shares = rank_shares(bold, 10)
    assert min(shares[0], shares[-1]) > 2 * shares[4:6].mean()
    assert coverage(bold, 0.95) < 0.75
