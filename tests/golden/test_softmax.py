"""Numbers of an independent program for the softmax: expectations on a grid of three dimensions."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

from fewknots import GPClassifier
from fewknots.kernels import KERNELS

REFERENCE = json.loads((Path(__file__).parent / "numbers" / "softmax.json").read_text())


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    order = np.random.default_rng(0).permutation(len(X))
    test, train = order[:50], order[50:]
    return X[train], y[train], X[test], y[test]


@pytest.mark.parametrize("want", REFERENCE, ids=lambda want: want["kernel"])
def test_equal_to_an_independent_program(want, iris):
    X, y, X_test, y_test = iris
    kernel = KERNELS[want["kernel"]](want["lengthscale"], want["variance"], ard=False)
    clf = GPClassifier(
        kernel, inducing_points=X[: want["M"]], learn_kernel=False, learn_inducing=False,
        standardize=False, jitter=want["jitter"], tol=1e-12,
    ).fit(X, y)  # fmt: skip
    assert clf.log_evidence_ == pytest.approx(want["bound"], rel=1e-7)
    log_p = clf.predict_log_proba(X_test)
    found = log_p[np.arange(len(y_test)), y_test].mean()
    assert found == pytest.approx(want["test_log_prob"], abs=1e-7)
    np.testing.assert_allclose(np.exp(log_p[:5]), want["probabilities_first5"], atol=1e-6)
    mean, variance = clf.predict_latent(X_test[:3])
    np.testing.assert_allclose(mean, want["latent_mean_first3"], atol=2e-5)
    np.testing.assert_allclose(variance, want["latent_var_first3"], atol=1e-5)
