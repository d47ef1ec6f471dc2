"""Scores against scikit-learn's, intervals against what theory says they cover."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

from fewknots.scoring import (
    MANY_CLASSES_SCORES,
    SCORES,
    difference_interval,
    intervals,
    reliability,
    row_nlp,
    scores,
    wilson,
)


def _calibrated(n=500, seed=0, digits=None):
    rng = np.random.default_rng(seed)
    p = rng.beta(1.0, 1.5, size=n)
    p = p if digits is None else np.round(p, digits)
    return p, (rng.random(n) < p).astype(int)


@pytest.mark.parametrize("digits", [None, 1])
def test_scores_are_those_of_scikit_learn(digits):
    p, y = _calibrated(digits=digits)
    p = np.clip(p, 0.01, 0.99)
    found = scores(p, y)
    assert tuple(found) == SCORES
    assert found["nlp"] == pytest.approx(log_loss(y, p), rel=1e-12)
    assert found["brier"] == pytest.approx(brier_score_loss(y, p), rel=1e-12)
    assert found["auc"] == pytest.approx(roc_auc_score(y, p), rel=1e-12)
    assert found["error"] == np.mean((p > 0.5) != y)


def test_calibration_error_by_hand():
    p = np.array([0.12, 0.18, 0.81, 0.83, 0.86])
    y = np.array([0, 1, 1, 1, 0])
    by_hand = (abs(0.30 - 1) + abs(2.50 - 2)) / 5
    assert scores(p, y)["ece"] == pytest.approx(by_hand)


def test_one_class_has_no_auc():
    found = scores([0.2, 0.7], [1, 1])
    assert found["auc"] is None
    assert found["error"] == 0.5
    assert intervals([0.2, 0.7], [1, 1])["auc"] is None


def test_certain_and_wrong_is_finite_and_exact_with_log_probabilities():
    rounded = scores([1.0, 0.0], [0, 1])
    assert 37 < rounded["nlp"] < 746
    log_p = np.array([[-800.0, 0.0], [0.0, -900.0]])
    assert scores([1.0, 0.0], [0, 1], log_p=log_p)["nlp"] == 850.0
    assert scores([1.0, 0.0], [1, 0])["nlp"] == 0.0


@given(st.integers(0, 10_000), st.integers(2, 60))
@settings(max_examples=50, deadline=None)
def test_scores_do_not_depend_on_the_order_of_rows(seed, n):
    p, y = _calibrated(n, seed, digits=2)
    order = np.random.default_rng(seed).permutation(n)
    for name, value in scores(p, y).items():
        again = scores(p[order], y[order])[name]
        assert value == again or value == pytest.approx(again, rel=1e-9)


def test_intervals_hold_the_score_and_shrink_with_the_rows():
    few, many = _calibrated(100), _calibrated(10_000)
    for name in ("nlp", "brier", "error", "auc"):
        low, high = intervals(*few)[name]
        assert low < scores(*few)[name] < high
        assert np.diff(intervals(*many)[name]) < 0.2 * (high - low)
    assert intervals(*few) == intervals(*few)  # the seed decides
    assert intervals(*few, level=0.5)["nlp"][0] > intervals(*few)["nlp"][0]


def test_interval_covers_as_often_as_it_says():
    expected = 1.5 / (2.5 * 3.5)  # E p(1-p) of the Beta(1, 1.5) that _calibrated draws from
    covered = 0
    for seed in range(100):
        low, high = intervals(*_calibrated(200, seed), resamples=100)["brier"]
        covered += low <= expected <= high
    assert covered >= 88


def test_reliability_bins_count_every_row_once():
    p, y = _calibrated(1000)
    p[:3] = [0.0, 1.0, 1.0]
    bins = reliability(p, y)
    assert sum(b.count for b in bins) == 1000
    assert sum(b.count * b.observed for b in bins) == pytest.approx(y.sum())
    assert all(0 <= b.low <= b.observed <= b.high <= 1 for b in bins)
    assert [b.predicted for b in bins] == sorted(b.predicted for b in bins)
    assert len(reliability(np.full(5, 0.34), [0, 1, 0, 0, 1])) == 1


def test_wilson_interval_is_the_textbook_one():
    assert wilson(0.0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert wilson(0.5, 100) == pytest.approx((0.4038, 0.5962), abs=1e-4)


@pytest.mark.parametrize(
    ("p", "y", "said"),
    [
        ([0.5, 1.2], [0, 1], "p\\[1\\] is 1.2"),
        ([0.5, np.nan], [0, 1], "p\\[1\\] is nan"),
        ([0.5], [2], "y\\[0\\] is 2"),
        ([[0.5, 0.5]], [1], "predict_proba"),
        ([], [], "no rows"),
    ],
)
def test_errors_say_what_is_wrong(p, y, said):
    with pytest.raises(ValueError, match=said):
        scores(p, y)


def test_log_probabilities_of_another_shape():
    with pytest.raises(ValueError, match="log_p must have the shape"):
        scores([0.5], [1], log_p=[[0.0]])


def test_the_nlp_is_the_mean_of_the_rows():
    p, y = _calibrated()
    assert np.mean(row_nlp(p, y)) == pytest.approx(scores(p, y)["nlp"], rel=1e-12)
    log_p = np.array([[-800.0, 0.0], [0.0, -900.0]])
    np.testing.assert_array_equal(row_nlp([1.0, 0.0], [0, 1], log_p), [800.0, 900.0])


def test_an_interval_of_differences_is_that_of_the_normal_approximation():
    rng = np.random.default_rng(3)
    hard = rng.exponential(size=4000)  # what is hard about a row is hard for both
    a, b = hard + 0.02 + 0.1 * rng.normal(size=4000), hard
    low, high = difference_interval(a, b)
    width = 1.96 * np.std(a - b) / np.sqrt(4000)
    assert low == pytest.approx(np.mean(a - b) - width, abs=0.1 * width)
    assert high == pytest.approx(np.mean(a - b) + width, abs=0.1 * width)
    assert low > 0  # paired: apart, each is known to 0.03 only
    assert difference_interval(a, b) == (low, high)
    assert difference_interval(b, a, seed=5)[1] < 0


def test_an_interval_of_differences_covers_the_truth():
    rng = np.random.default_rng(0)
    held = []
    for _ in range(200):
        low, high = difference_interval(rng.normal(size=60), np.zeros(60))
        held.append(low < 0 < high)
    assert 0.88 < np.mean(held) < 0.99


@pytest.mark.parametrize(("a", "b"), [([], []), (np.zeros((2, 2)), np.zeros((2, 2)))])
def test_differences_of_no_rows_are_refused(a, b):
    with pytest.raises(ValueError, match="vectors of one length"):
        difference_interval(a, b)


# --- many classes ---------------------------------------------------------------------------------


def _of_many_classes(n=600, n_classes=5, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(n_classes, 0.7), size=n)
    return p, np.array([rng.choice(n_classes, p=row) for row in p])


def test_scores_of_many_classes_are_those_of_scikit_learn():
    p, y = _of_many_classes()
    found = scores(p, y)
    assert tuple(found) == MANY_CLASSES_SCORES
    assert found["nlp"] == pytest.approx(log_loss(y, np.maximum(p, 1e-300)), rel=1e-9)
    one_hot = np.eye(5)[y]
    assert found["brier"] == pytest.approx(np.mean(np.sum((p - one_hot) ** 2, axis=1)), rel=1e-12)
    assert found["error"] == np.mean(np.argmax(p, axis=1) != y)
    by_class = [scores(p[:, c], y == c)["ece"] for c in range(5)]
    assert found["ece"] == pytest.approx(np.mean(by_class), rel=1e-12)
    np.testing.assert_allclose(np.mean(row_nlp(p, y)), found["nlp"], rtol=1e-12)


def test_permuted_classes_have_the_same_scores():
    p, y = _of_many_classes()
    order = np.array([3, 0, 4, 1, 2])
    assert scores(p[:, order], np.argsort(order)[y]) == pytest.approx(scores(p, y), rel=1e-12)


def test_a_class_without_rows_and_one_that_was_thought_impossible():
    p = np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]])
    assert scores(p, [0, 1])["error"] == 0.5  # equal probabilities: the first, as in `predict`
    assert 100 < scores(p, [1, 1])["nlp"] < 746
    log_p = np.array([[0.0, -900.0, -1000.0], [np.log(0.5), np.log(0.5), -1000.0]])
    np.testing.assert_array_equal(row_nlp(p, [1, 2], log_p), [900.0, 1000.0])


def test_intervals_of_many_classes():
    few, many = _of_many_classes(100), _of_many_classes(10_000)
    for name in MANY_CLASSES_SCORES:
        low, high = intervals(*few)[name]
        assert low < scores(*few)[name] < high
        assert np.diff(intervals(*many, resamples=50)[name]) < 0.25 * (high - low)


@pytest.mark.parametrize(
    ("p", "y", "said"),
    [
        ([[0.2, 0.3, 0.4]], [1], r"the sum of p\[0\] is 0.9, but"),
        ([[0.2, 0.3, 0.5], [-0.1, 0.6, 0.5]], [0, 1], r"p\[1, 0\] is -0.1, not a prob"),
        ([[0.2, 0.3, 0.5]], [3], r"y\[0\] is 3; y must be the number of a class"),
        ([[0.2, 0.3, 0.5]], [0.5], r"y\[0\] is 0.5"),
        ([[0.2, 0.3, 0.5]], [0, 1], "of one length"),
    ],
)
def test_errors_about_many_classes(p, y, said):
    with pytest.raises(ValueError, match=said):
        scores(p, y)


def test_log_probabilities_of_many_classes_of_another_shape():
    with pytest.raises(ValueError, match=r"log_p must have the shape \(1, 3\)"):
        scores([[0.2, 0.3, 0.5]], [1], log_p=[[0.0, 0.0]])
