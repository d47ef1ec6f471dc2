"""What is explained of a classifier with three classes, against what it predicts."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import expit, ndtr, softmax

from fewknots.explain import (
    effect,
    importance,
    inputs_of,
    kernel_relevance,
    strongest,
    without_names,
)
from fewknots.explain import surface as surface_of
from fewknots.explain.log_odds import deviation_of_probability, log_odds, probits
from fewknots.numerics.largest import log_largest


def test_probits_against_samples(float64):
    rng = np.random.default_rng(0)
    mean, variance = rng.normal(size=(3, 4)), rng.uniform(0.05, 0.3, size=(3, 4))
    number = np.array([3, 0, 2])
    g, spread = probits(mean, variance, number)
    f = (mean + np.sqrt(variance) * rng.normal(size=(4000, 3, 4))).reshape(-1, 4)
    log_p = np.asarray(log_largest(jnp.asarray(f.T), jnp.ones((4, len(f))))).T
    p = np.exp(log_p.reshape(4000, 3, 4)[:, np.arange(3), number])
    low, high = np.quantile(p, [0.025, 0.975], axis=0)
    np.testing.assert_allclose(ndtr(g - 1.96 * np.sqrt(spread)), low, atol=0.03)
    np.testing.assert_allclose(ndtr(g + 1.96 * np.sqrt(spread)), high, atol=0.03)
    deviation = deviation_of_probability(mean, variance, number, probit=True)
    np.testing.assert_allclose(deviation, p.std(axis=0), atol=0.015)
    # exact for two classes, far from one half too
    far = np.array([[6.0, 0.0], [-20.0, 10.0]])
    g, spread = probits(far, np.ones((2, 2)), np.array([0, 0]))
    np.testing.assert_allclose(g, (far[:, 0] - far[:, 1]) / np.sqrt(2.0), rtol=1e-8)
    np.testing.assert_allclose(spread, 1.0, rtol=1e-5)


@pytest.fixture(scope="module")
def rows(three_classes):
    classifier, X, _ = three_classes
    return without_names(classifier, X, ["across", "up", "noise"])


def test_effect_is_the_mean_of_each_class_inside_its_band(rows):
    found = effect(rows, 0)
    assert found.probability.shape == found.low.shape == (40, 3)
    np.testing.assert_allclose(found.probability.sum(axis=1), 1.0, atol=1e-9)
    assert np.all((found.low <= found.probability) & (found.probability <= found.high))
    few = rows._replace(X=rows.X[:100])  # all of them are averaged
    found = effect(few, 0)
    everywhere = few.X.copy()
    everywhere[:, 0] = found.values[7]
    mean = rows.classifier.predict_proba(everywhere).mean(axis=0)
    np.testing.assert_allclose(found.probability[7], mean, rtol=1e-9)
    assert found.span > effect(few, 2).span
    assert found.classes_to_show() == [0, 1, 2]
    (most,) = found.classes_to_show(1)
    assert np.ptp(found.probability[:, most]) == found.span


def test_log_odds_against_samples():
    """Exact for two classes; close for more, as long as the functions are not wide."""
    rng = np.random.default_rng(0)
    mean, variance = rng.normal(size=(3, 4)), rng.uniform(0.05, 0.3, size=(3, 4))
    number = np.array([1, 0, 1])
    g, spread = log_odds(mean[:, :2], variance[:, :2], number)
    np.testing.assert_allclose(g, (mean[:, 1] - mean[:, 0]) * [1, -1, 1])
    np.testing.assert_allclose(spread, variance[:, :2].sum(axis=1))
    number = np.array([3, 0, 2])
    g, spread = log_odds(mean, variance, number)
    f = mean + np.sqrt(variance) * rng.normal(size=(40_000, 3, 4))
    p = softmax(f, axis=-1)[:, np.arange(3), number]
    low, high = np.quantile(p, [0.025, 0.975], axis=0)
    np.testing.assert_allclose(expit(g - 1.96 * np.sqrt(spread)), low, atol=0.03)
    np.testing.assert_allclose(expit(g + 1.96 * np.sqrt(spread)), high, atol=0.03)
    deviation = deviation_of_probability(mean, variance, number)
    np.testing.assert_allclose(deviation, p.std(axis=0), atol=0.01)


def test_importance_and_relevance_find_the_column_that_says_nothing(rows, three_classes):
    found = importance(rows, three_classes[2], inputs_of(rows))
    assert found.order[-1] == 2
    assert found.low[found.order[0]] > 0
    assert strongest(kernel_relevance(rows))[-1] == 2


def test_surface_has_a_region_for_each_class(rows):
    found = surface_of(rows, (0, 1), grid=25)
    assert found.probability.shape == (25, 25, 3)
    np.testing.assert_array_equal(np.unique(found.answer), [0, 1, 2])
    for number in range(3):
        np.testing.assert_array_equal(found.lead(number) > 0, found.answer == number)
    assert found.certainty.min() > 0
    assert found.certainty.max() < 1
    for number, place in found.places_for_names().items():
        row = np.array([*place, np.median(rows.X[:, 2])])
        assert rows.classifier.predict_proba([row])[0].argmax() == number


def test_many_classes_cost_fewer_rows(rows):
    class Many:
        classes_ = np.arange(26)

    assert rows.price == 1
    assert rows._replace(classifier=Many()).price == 3
