"""The clock of a fit counts training and nothing else."""

import time

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from fewknots import GPClassifier
from fewknots.paper.timed_fits import followed_fit, hold_out_scores, timed_fit

RNG = np.random.default_rng(3)
X = RNG.normal(size=(150, 2))
y = (X[:, 0] + np.sin(3 * X[:, 1]) + 0.3 * RNG.normal(size=150) > 0).astype(int)


def classifier(**arguments):
    return GPClassifier(method="sparse_kl", n_inducing=6, random_state=0, **arguments)


def test_looking_and_compiling_do_not_count():
    seen = []

    def slow_look(now, seconds):
        seen.append(seconds)
        time.sleep(0.05)

    clf = classifier(jitter=3e-6, max_iter=20)
    begun = time.perf_counter()
    with pytest.warns(ConvergenceWarning):
        timed = timed_fit(clf, X, y, slow_look)
    whole = time.perf_counter() - begun
    assert len(seen) == clf.n_iter_ == 20
    assert np.all(np.diff(seen) >= 0)
    assert seen[-1] <= timed.seconds
    assert timed.seconds + timed.start_seconds < whole - 20 * 0.05
    assert timed.seconds + timed.start_seconds + timed.compile_seconds <= whole - 20 * 0.05
    assert clf.callback is None


def test_a_followed_fit_ends_where_a_plain_one_does():
    plain = classifier().fit(X, y)
    held_out = (X[::2], y[::2])
    told = followed_fit(clf := classifier(), X, y, held_out)
    assert clf.log_evidence_ == plain.log_evidence_
    curve = told["curve"]
    assert told["converged"]
    assert curve["iteration"][-1] == told["iterations"] == plain.n_iter_
    assert curve["nlp"][-1] == hold_out_scores(plain, *held_out)["nlp"]
    assert curve["nlp"][0] > curve["nlp"][-1]
    assert curve["bound"][0] < curve["bound"][-1]
    assert curve["seconds"][-1] == told["seconds"]
    assert len({len(column) for column in curve.values()}) == 1


def test_all_but_the_seconds_of_a_followed_fit_is_the_same_again():
    first, second = (followed_fit(classifier(), X, y, (X, y))["curve"] for _ in range(2))
    for name in ("iteration", "bound", "nlp", "error"):
        assert first[name] == second[name]
    assert first["iteration"][:3] == [1, 2, 3]


def test_scores_by_hand():
    class Known:
        classes_ = np.array(["a", "b"])

        def predict_log_proba(self, X):
            return np.log([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]])

    scores = hold_out_scores(Known(), np.zeros((3, 1)), np.array(["a", "a", "b"]))
    assert scores["error"] == pytest.approx(1 / 3)
    assert scores["nlp"] == pytest.approx(-np.mean(np.log([0.9, 0.4, 0.8])))
