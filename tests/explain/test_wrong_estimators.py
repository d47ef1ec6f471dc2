"""Every public function of explain, plots, report and scoring, given what it cannot use.

In a process of its own: there annotations are not checked, as with users.
"""

import json
import subprocess
import sys

import pytest

SCRIPT = """
import json, sys
import matplotlib
matplotlib.use("agg")
import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from fewknots import GPClassifier, GPRegressor, explain, plots, report, scoring

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
y = (X[:, 0] > 0).astype(int)
quick = {"max_iter": 3}
estimators = {
    "classifier": GPClassifier(**quick).fit(X, y),
    "regressor": GPRegressor(**quick).fit(X, X[:, 0]),
    "unfitted": GPClassifier(),
    "pipeline": make_pipeline(StandardScaler(), GPClassifier(**quick)).fit(X, y),
    "forest": RandomForestClassifier(5, random_state=0).fit(X, y),
    "svc": LinearSVC(random_state=0).fit(X, y),
    "line": LinearRegression().fit(X, y),
    "text": "clf",
    "none": None,
}
together = lambda f, *more: lambda m: f(explain.without_names(m, X), *more)
important = lambda rows: explain.importance(rows, y.astype(int), explain.inputs_of(rows))
functions = {
    "without_names": lambda m: explain.without_names(m, X),
    "kernel_relevance": together(explain.kernel_relevance),
    "importance": lambda m: important(explain.without_names(m, X)),
    "effect": together(explain.effect, 0),
    "surface": together(explain.surface, (0, 1), 5),
    "two_to_show": together(explain.two_to_show, [0, 1, 2]),
    "distance_to_points": lambda m: explain.distance_to_points(m, X),
    "kernel_relevance alone": lambda m: explain.kernel_relevance(m),
    "importance alone": lambda m: explain.importance(m, y.astype(int), ()),
    "effect alone": lambda m: explain.effect(m, 0),
    "surface alone": lambda m: explain.surface(m, (0, 1)),
    "two_to_show alone": lambda m: explain.two_to_show(m, [0, 1]),
    "plot_decision_boundary": lambda m: plots.plot_decision_boundary(m, X, y, grid=5),
    "plot_effects": lambda m: plots.plot_effects(m, X),
    "plot_history": lambda m: plots.plot_history(m),
    "plot_relevance": lambda m: plots.plot_relevance(m, X),
    "plot_reliability": lambda m: plots.plot_reliability(m, X, y),
    "write_report": lambda m: report.write_report(sys.argv[1] + "/report.html", m, X, y),
    "scores": lambda m: scoring.scores(m, y),
    "intervals": lambda m: scoring.intervals(m, y),
    "reliability": lambda m: scoring.reliability(m, y),
    "scores of text": lambda m: scoring.scores(np.full(2, 0.5), ["a", "b"]),
}
found = {}
for name, function in functions.items():
    for kind, estimator in estimators.items():
        try:
            function(estimator)
            found[f"{name} / {kind}"] = None
        except Exception as error:
            found[f"{name} / {kind}"] = [type(error).__name__, str(error)]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT, str(folder)],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def test_each_works_or_says_what_it_takes(found):
    said = ("TypeError", "ValueError", "NotFittedError")
    strange = {what: how for what, how in found.items() if how is not None and how[0] not in said}
    assert not strange
    for how in filter(None, found.values()):
        assert "object has no attribute" not in how[1]


def test_a_fitted_classifier_is_taken_by_all(found):
    refused = [what for what, how in found.items() if what.endswith("/ classifier") and how]
    alone = [f"{name} alone / classifier" for name in _TOGETHER]
    scores = [f"{name} / classifier" for name in ("scores", "intervals", "reliability")]
    assert refused == [*alone, *scores, "scores of text / classifier"]


_TOGETHER = ("kernel_relevance", "importance", "effect", "surface", "two_to_show")


@pytest.mark.parametrize(
    ("what", "kind", "message"),
    [
        (
            "kernel_relevance alone / classifier",
            "TypeError",
            "explain.without_names(classifier, X)",
        ),
        (
            "plot_effects / regressor",
            "TypeError",
            "GPClassifier of fewknots is needed, got a GPReg",
        ),
        (
            "surface / regressor",
            "TypeError",
            "GPClassifier of fewknots is needed, got a GPRegressor",
        ),
        ("write_report / pipeline", "TypeError", "pipeline[-1] and pipeline[:-1].transform(X)"),
        ("plot_effects / forest", "TypeError", "got a RandomForestClassifier"),
        ("write_report / unfitted", "NotFittedError", "not fitted yet"),
        ("plot_reliability / regressor", "TypeError", "with predict_proba is needed, got a GPReg"),
        ("plot_reliability / svc", "TypeError", "with predict_proba is needed, got a LinearSVC"),
        ("scores / classifier", "TypeError", "p must hold numbers"),
        ("scores of text / classifier", "TypeError", "y must hold numbers, got ['a', 'b']"),
    ],
)
def test_what_they_say(found, what, kind, message):
    assert found[what] is not None
    assert found[what][0] == kind
    assert message in found[what][1]


@pytest.mark.parametrize(
    "what",
    [
        "kernel_relevance / regressor",
        "importance / regressor",
        "effect / regressor",
        "write_report / regressor",
        "distance_to_points / regressor",
        "plot_history / regressor",
        "plot_relevance / regressor",
        "plot_reliability / forest",
        "plot_reliability / pipeline",
    ],
)
def test_what_works_for_others_too(found, what):
    assert found[what] is None
