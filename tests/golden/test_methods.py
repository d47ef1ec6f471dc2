"""EP, KL, Laplace and FITC-EP against programs that share nothing with fewknots.

GPML's numbers are of the IDA benchmarks, and compared where those files are at hand. Those of the
plain program (which equals GPML on IDA) are of data that comes with scikit-learn: always compared.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessClassifier, kernels

from fewknots import GPClassifier
from fewknots.kernels import RBF

from ..ida import ida_split
from .plain_methods import rows

NUMBERS = Path(__file__).parent / "numbers"
GPML = json.loads((NUMBERS / "methods.json").read_text())
PLAIN = json.loads((NUMBERS / "plain.json").read_text())


@pytest.mark.parametrize(
    "want",
    GPML["results"],
    ids=lambda w: f"{w['method']}-{w['dataset']}-{w['setting']}-{w['M']}",
)
def test_equal_to_gpml(want):
    X, y, X_test, y_test = ida_split(want["dataset"])
    mean, scale = X.mean(axis=0), X.std(axis=0)
    assert_equal((X - mean) / scale, y, (X_test - mean) / scale, y_test, want)


@pytest.mark.parametrize(
    "want", PLAIN["results"], ids=lambda w: f"{w['method']}-{w['variance']:g}-{w['M']}"
)
def test_equal_to_the_plain_program(want):
    X, signs, X_test, signs_test = rows()
    assert_equal(X, (signs > 0).astype(int), X_test, (signs_test > 0).astype(int), want)


def assert_equal(X, y, X_test, y_test, want):
    clf = GPClassifier(
        RBF(want["lengthscales"], want["variance"]),
        method=want["method"],
        inducing_points=X[: want["M"]] if want["M"] else None,
        learn_kernel=False,
        learn_inducing=False,
        standardize=False,
        jitter=1e-6,
    ).fit(X, y)
    assert clf.log_evidence_ == pytest.approx(-want["nlZ"], rel=1e-8)
    gradient = clf.evidence_gradient_
    np.testing.assert_allclose(
        gradient.kernel.lengthscale, -np.array(want["d_log_lengthscales"]), atol=1e-6
    )
    np.testing.assert_allclose(gradient.kernel.variance, -want["d_log_variance"], atol=1e-6)
    if want["M"]:
        np.testing.assert_allclose(gradient.inducing_points, -np.array(want["d_Z"]), atol=1e-6)
    log_prob = clf.predict_log_proba(X_test)[np.arange(len(y_test)), y_test].mean()
    assert log_prob == pytest.approx(want["test_mean_log_prob"], abs=1e-8)
    mean, variance = clf.predict_latent(X_test[:10])
    np.testing.assert_allclose(mean, want["test_latent_mean_first10"], atol=1e-6)
    np.testing.assert_allclose(variance, want["test_latent_var_first10"], atol=1e-6)


def test_laplace_equals_scikit_learns(moons):
    """scikit-learn's classifier is Laplace's approximation with the logit."""
    X, y = moons
    theirs = GaussianProcessClassifier(
        kernels.ConstantKernel(3.0) * kernels.RBF([1.0, 2.0, 0.5]),
        optimizer=None,
        max_iter_predict=200,
    ).fit(X, y)
    value, gradient = theirs.log_marginal_likelihood(
        theirs.kernel_.theta, eval_gradient=True, clone_kernel=False
    )
    ours = GPClassifier(
        RBF([1.0, 2.0, 0.5], 3.0),
        method="laplace",
        likelihood="logit",
        learn_kernel=False,
        standardize=False,
    ).fit(X, y)
    # Theirs stops Newton's method at 1e-10 of its objective.
    assert ours.log_evidence_ == pytest.approx(value, abs=1e-6)
    found = ours.evidence_gradient_.kernel
    np.testing.assert_allclose(found.variance, gradient[0], atol=1e-4)
    np.testing.assert_allclose(found.lengthscale, gradient[1:], atol=1e-4)
    mean, variance = theirs.base_estimator_.latent_mean_and_variance(X[:7] + 0.3)
    our_mean, our_variance = ours.predict_latent(X[:7] + 0.3)
    np.testing.assert_allclose(our_mean, mean, atol=1e-5)
    np.testing.assert_allclose(our_variance, variance, atol=1e-5)
