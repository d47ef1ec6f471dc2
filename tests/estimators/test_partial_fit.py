"""Rows in instalments: what they teach together they teach one after another."""

import numpy as np
import pytest

from fewknots import GPClassifier, load

RNG = np.random.default_rng(5)
X = RNG.normal(size=(1200, 2))
y = np.where(np.sin(2.0 * X[:, 0]) + X[:, 1] ** 2 + 0.4 * RNG.normal(size=1200) > 1, "on", "off")
FIRST, REST = slice(0, 600), [slice(600, 900), slice(900, 1200)]


def nlp(clf, rows=slice(None)):
    log_p = clf.predict_log_proba(X[rows])
    return -np.mean(log_p[np.arange(len(log_p)), (y[rows] == "on").astype(int)])


@pytest.fixture(scope="module")
def first():
    return GPClassifier(n_inducing=25, random_state=0).fit(X[FIRST], y[FIRST])


def test_in_instalments_as_together(first, tmp_path):
    """Same kernel and inducing points, all rows at once: the posterior to agree with."""
    held = {"learn_kernel": False, "learn_inducing": False}
    scaled = (X - first._standardiser.mean) / first._standardiser.scale
    points = (first.inducing_points_ - first._standardiser.mean) / first._standardiser.scale
    at_once = GPClassifier(first.kernel_, inducing_points=points, standardize=False, **held)
    at_once.fit(scaled, y)
    first.save(tmp_path / "first.fewknots")
    clf = load(tmp_path / "first.fewknots")  # a model from a file goes on as well
    for part in REST:
        clf.partial_fit(X[part], y[part])
    one, other = clf.predict_proba(X)[:, 1], at_once.predict_proba(scaled)[:, 1]
    assert np.max(np.abs(one - other)) < 0.03
    assert np.mean(np.abs(one - other)) < 0.005
    assert clf.log_evidence_ == pytest.approx(at_once.log_evidence_, rel=0.01)
    assert not clf.evidence_is_bound_
    # and more rows taught it something
    assert np.mean(clf.predict_latent(X)[1]) < np.mean(first.predict_latent(X)[1])


def test_the_first_call_fits():
    clf = GPClassifier(n_inducing=25, random_state=0)
    with pytest.raises(ValueError, match="first call of partial_fit needs the argument"):
        clf.partial_fit(X[FIRST], y[FIRST])
    clf.partial_fit(X[FIRST], y[FIRST], classes=["on", "off"])
    again = GPClassifier(n_inducing=25, random_state=0).fit(X[FIRST], y[FIRST])
    np.testing.assert_array_equal(clf.predict_proba(X), again.predict_proba(X))
    np.testing.assert_array_equal(clf.classes_, ["off", "on"])


def test_a_first_call_may_see_one_class_alone():
    only = y == "on"
    clf = GPClassifier(n_inducing=10, random_state=0)
    clf.partial_fit(X[only][:100], y[only][:100], classes=["on", "off"])
    assert np.all(clf.predict(X[only][:20]) == "on")
    # a kernel learned from one class knows no border; what follows still moves the probabilities
    before = clf.predict_proba(X)[:, 1]
    after = clf.partial_fit(X[~only][:100], y[~only][:100]).predict_proba(X)[:, 1]
    assert np.all(np.isfinite(after))
    assert after.mean() < before.mean() - 0.2


def test_weights_count(first):
    import copy

    part = REST[0]
    twice = copy.deepcopy(first).partial_fit(np.repeat(X[part], 2, axis=0), np.repeat(y[part], 2))
    weighted = copy.deepcopy(first).partial_fit(X[part], y[part], sample_weight=np.full(300, 2.0))
    np.testing.assert_allclose(twice.predict_proba(X), weighted.predict_proba(X), atol=1e-4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((X[:5], ["on", "off", "on", "half", "on"]), "row 3 of y is .*half.*not one of"),
        ((X[:5, :1], y[:5]), "1 feature"),
        ((X[:5], y[:5], ["on", "of"]), "in the first call it was"),
    ],
)
def test_bad_rows_leave_the_model_alone(arguments, message, first):
    before = first.posterior_
    with pytest.raises(ValueError, match=message):
        first.partial_fit(*arguments)
    assert first.posterior_ is before
