"""scikit-learn's own checks, and the tools people combine estimators with."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from fewknots import GPClassifier
from fewknots.kernels import RBF, Linear, Matern32


def quick(**arguments):
    return GPClassifier(n_inducing=8, max_iter=200, tol=1e-3, random_state=0, **arguments)


@parametrize_with_checks([GPClassifier()])
def test_scikit_learns_checks(estimator, check):
    name = getattr(check, "func", check).__name__
    if name == "check_classifiers_train" and check.keywords.get("readonly_memmap"):
        # The fits of the check before, from memory that cannot be written to: to learn the kernel
        # of three classes a second and a third time takes most of all checks' time.
        estimator = clone(estimator).set_params(learn_kernel=False)  # other checks share it
    check(estimator)


def test_pipeline_and_cross_validation(moons):
    X, y = moons
    scores = cross_val_score(make_pipeline(MinMaxScaler(), quick()), X, y, cv=4)
    assert scores.mean() > 0.75


def test_grid_search_reaches_into_the_kernel(moons):
    X, y = moons
    search = GridSearchCV(
        quick(kernel=RBF() + Linear(), learn_kernel=False, learn_inducing=False),
        {"kernel__k1__lengthscale": [0.01, 1.5], "kernel__k2__variance": [0.1]},
        scoring="neg_log_loss",
        cv=3,
    ).fit(X, y)
    assert search.best_params_["kernel__k1__lengthscale"] == 1.5
    np.testing.assert_allclose(search.best_estimator_.kernel_.k1.lengthscale, 1.5)


def test_calibration(moons):
    X, y = moons
    calibrated = CalibratedClassifierCV(quick(), cv=2).fit(X, y)
    np.testing.assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1.0)


def test_pickle_and_clone(moons):
    X, y = moons
    clf = quick(kernel=Matern32(lengthscale=2.0)).fit(X, y)
    again = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
    fresh = clone(clf)
    assert not hasattr(fresh, "classes_")
    assert fresh.kernel is not clf.kernel
    assert fresh.kernel.lengthscale == 2.0


def test_fitting_leaves_arguments_untouched(moons):
    X, y = moons
    kernel = RBF(lengthscale=2.0) + Linear()
    clf = quick(kernel=kernel)
    before = {name: repr(value) for name, value in clf.get_params().items()}
    clf.fit(X, y)
    assert {name: repr(value) for name, value in clf.get_params().items()} == before
    assert clf.kernel is kernel


def test_same_seed_same_model(moons):
    X, y = moons
    first, second = quick().fit(X, y), quick().fit(X, y)
    np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))


@pytest.mark.parametrize("scoring", ["roc_auc", "neg_log_loss", "neg_brier_score"])
def test_scorers(moons, scoring):
    from sklearn.metrics import get_scorer

    X, y = moons
    assert np.isfinite(get_scorer(scoring)(quick().fit(X, y), X, y))
