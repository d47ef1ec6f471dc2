"""Numbers from GPflow on data that comes with scikit-learn: bound, gradients, predictions."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from fewknots import GPClassifier
from fewknots.kernels import KERNELS, Linear

REFERENCE = json.loads((Path(__file__).parent / "numbers" / "gpflow.json").read_text())
LENGTHSCALES = [1.5, 2.0, 2.5, 3.0]


@pytest.fixture(scope="module")
def data():
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:300, :4]
    X = (X - X[:200].mean(axis=0)) / X[:200].std(axis=0)
    return X[:200], y[:200], X[200:], y[200:300]


@pytest.mark.parametrize("want", REFERENCE["results"], ids=lambda want: want["kernel"])
def test_equal_to_gpflow(want, data):
    X, y, X_test, y_test = data
    name = want["kernel"].lower()
    kernel = KERNELS[name.split(" + ")[0]](LENGTHSCALES, 6.0 if name == "matern32" else 2.0)
    if "linear" in name:
        kernel = kernel + Linear(0.5)
    clf = GPClassifier(
        kernel, inducing_points=X[:12], learn_kernel=False, learn_inducing=False,
        standardize=False, jitter=1e-9,
    ).fit(X, y)  # fmt: skip
    assert clf.log_evidence_ == pytest.approx(want["log_evidence"], abs=1e-6)
    log_prob = clf.predict_log_proba(X_test)[np.arange(100), y_test].mean()
    assert log_prob == pytest.approx(want["test_log_prob"], abs=1e-6)
    mean, variance = clf.predict_latent(X_test[:3])
    np.testing.assert_allclose(mean, want["latent_mean"], atol=1e-5)
    np.testing.assert_allclose(variance, want["latent_variance"], atol=1e-5)
    gradient = clf.evidence_gradient_
    part = gradient.kernel.k1 if "linear" in name else gradient.kernel
    np.testing.assert_allclose(part.lengthscale, want["d_log_lengthscale"], atol=1e-5)
    np.testing.assert_allclose(part.variance, want["d_log_variance"], atol=1e-5)
    np.testing.assert_allclose(gradient.inducing_points[:2], want["d_Z_first_two_rows"], atol=1e-5)
    if "linear" in name:
        got = gradient.kernel.k2.variance
        np.testing.assert_allclose(got, want["d_log_linear_variance"], atol=1e-5)
