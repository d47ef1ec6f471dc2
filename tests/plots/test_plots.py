"""Every picture draws into the ax it is given, or its own, and shows the right numbers."""

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")
from matplotlib import pyplot

from fewknots import GPClassifier, plots


@pytest.fixture(scope="module")
def fitted(moons):
    pd = pytest.importorskip("pandas")
    X, y = moons
    frame = pd.DataFrame(X, columns=["bent", "straight", "noise"])
    classifier = GPClassifier(n_inducing=8, max_iter=15, tol=0.1, random_state=0).fit(frame, y)
    return classifier, frame, y


@pytest.fixture(autouse=True)
def _closed():
    yield
    pyplot.close("all")


def _pictures(classifier, X, y):
    return {
        "reliability": lambda ax: plots.plot_reliability(classifier, X, y, ax=ax),
        "decision_boundary": lambda ax: plots.plot_decision_boundary(
            classifier, X, y, grid=9, ax=ax
        ),
        "relevance": lambda ax: plots.plot_relevance(classifier, X, ax=ax),
        "effects": lambda ax: plots.plot_effects(classifier, X, ax=ax),
        "history": lambda ax: plots.plot_history(classifier, ax=ax),
    }


@pytest.mark.parametrize(
    "name", ["reliability", "decision_boundary", "relevance", "effects", "history"]
)
def test_draws_into_the_ax_given_and_into_a_new_one(fitted, name):
    draw = _pictures(*fitted)[name]
    ax = pyplot.figure().add_subplot()
    assert draw(ax) is ax
    assert ax.get_xlabel()
    new = draw(None)
    assert new is not ax
    new.figure.canvas.draw()


def test_reliability_shows_the_bins(fitted):
    display = plots.ReliabilityDisplay.from_estimator(*fitted, bins=4)
    drawn = display.ax_.collections[-1].get_offsets()
    assert np.allclose(drawn, [[b.predicted, b.observed] for b in display.bins])
    assert display.figure_ is display.ax_.figure
    again = plots.ReliabilityDisplay(display.bins).plot()
    assert np.allclose(again.ax_.collections[-1].get_offsets(), drawn)


def test_effects_by_name_number_and_few_values(fitted, moons):
    classifier, X, _ = fitted
    assert plots.plot_effects(classifier, X, "straight").get_xlabel() == "straight"
    assert plots.EffectDisplay.from_estimator(classifier, X, 2).effect.name == "noise"
    rounded = X.assign(bent=np.sign(X["bent"]))
    assert plots.plot_effects(classifier, rounded, "bent").get_xticks().tolist() == [-1.0, 1.0]


def test_decision_boundary_of_two_chosen_inputs(fitted):
    classifier, X, _ = fitted
    ax = plots.plot_decision_boundary(classifier, X, features=("noise", 0), grid=9)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("noise", "bent")


def test_relevance_shows_the_most_relevant_on_top(fitted):
    classifier, X, _ = fitted
    names = [
        label.get_text() for label in plots.plot_relevance(classifier, X, most=2).get_yticklabels()
    ]
    assert len(names) == 2
    assert "noise" not in names


def test_history_with_a_held_out_score(fitted):
    from copy import copy

    classifier = copy(fitted[0])
    classifier.history_ = classifier.history_ | {
        "held_out_nlp": np.full(len(classifier.history_["bound"]), 0.5)
    }
    ax = plots.plot_history(classifier)
    assert len(ax.figure.axes) == 2
    classifier.history_ = {}
    with pytest.raises(ValueError, match="no history"):
        plots.plot_history(classifier)


def test_one_input_has_no_boundary(moons):
    X, y = moons
    classifier = GPClassifier(method="laplace", learn_kernel=False).fit(X[:, :1], y)
    with pytest.raises(ValueError, match="needs two inputs"):
        plots.plot_decision_boundary(classifier, X[:, :1])
