"""Every plot with three classes."""

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")
from matplotlib import pyplot

from fewknots import plots
from fewknots.explain.colours import colour_of, red_green_blue

NAMES = np.array(["ant", "bee", "cat"])


@pytest.fixture(autouse=True)
def _closed():
    yield
    pyplot.close("all")


def test_regions_have_the_colour_and_the_name_of_the_most_probable_class(three_classes):
    classifier, X, y = three_classes
    display = plots.DecisionBoundaryDisplay.from_estimator(
        classifier, X, y, features=(0, 1), grid=15
    )
    ax, found = display.ax_, display.surface
    assert found.probability.shape == (15, 15, 3)
    row = np.array([found.across[11], found.up[3], np.median(X[:, 2])])
    p = classifier.predict_proba([row])[0]
    np.testing.assert_allclose(found.probability[3, 11], p, atol=1e-9)
    pixel = display.surface_.get_array()[3, 11]
    np.testing.assert_allclose(pixel[:3] * 255, red_green_blue(colour_of(int(p.argmax()))))
    assert pixel[3] == pytest.approx(0.75 * (p.max() - 1 / 3) * 1.5)
    named = {text.get_text(): text.get_position() for text in ax.texts}
    assert set(named) == set(NAMES)
    for name, place in named.items():
        assert classifier.predict([[*place, row[2]]]) == [name]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list(NAMES)
    display.figure_.canvas.draw()


def test_effects_have_a_curve_for_each_class(three_classes):
    classifier, X, _ = three_classes
    display = plots.EffectDisplay.from_estimator(classifier, X, 0)
    curves = {line.get_label(): line.get_ydata() for line in display.ax_.lines}
    assert list(curves) == list(NAMES)
    np.testing.assert_allclose(sum(curves.values()), 1.0, atol=1e-9)
    few = X.copy()
    few[:, 1] = np.sign(few[:, 1])
    assert plots.plot_effects(classifier, few, 1).get_xticks().tolist() == [-1.0, 1.0]


def test_reliability_of_all_classes_and_of_one(three_classes):
    classifier, X, y = three_classes
    together = plots.ReliabilityDisplay.from_estimator(classifier, X, y)
    assert sum(one.count for one in together.bins) == 450
    assert together.ax_.get_xlabel() == "predicted probability of each class"
    bee = plots.ReliabilityDisplay.from_estimator(classifier, X, y, label="bee")
    assert sum(one.count * one.observed for one in bee.bins) == pytest.approx(np.sum(y == "bee"))
    assert bee.ax_.get_xlabel() == "predicted probability of bee"
    with pytest.raises(ValueError, match="no class 'owl'; the classes are"):
        plots.plot_reliability(classifier, X, y, label="owl")


def test_relevance_and_history(three_classes):
    classifier, X, _ = three_classes
    assert len(plots.plot_relevance(classifier, X, most=2).get_yticklabels()) == 2
    assert plots.plot_history(classifier).get_xlabel() == "seconds"
