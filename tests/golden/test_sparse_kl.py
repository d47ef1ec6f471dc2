"""Numbers from an independent program on the IDA benchmarks, where their files are at hand."""

import json
from pathlib import Path

import numpy as np
import pytest

from fewknots import GPClassifier
from fewknots.kernels import RBF

from ..ida import ida_split

REFERENCE = json.loads((Path(__file__).parent / "numbers" / "sparse_kl.json").read_text())


@pytest.mark.parametrize(
    "want", REFERENCE["results"], ids=lambda w: f"{w['dataset']}-{w['setting']}-{w['M']}"
)
def test_equal_to_the_reference(want):
    X, y, X_test, y_test = ida_split(want["dataset"])
    mean, scale = X.mean(axis=0), X.std(axis=0)
    X, X_test = (X - mean) / scale, (X_test - mean) / scale
    clf = GPClassifier(
        RBF(want["lengthscales"], want["variance"]), inducing_points=X[: want["M"]],
        learn_kernel=False, learn_inducing=False, standardize=False, jitter=1e-6,
    ).fit(X, y)  # fmt: skip
    assert clf.log_evidence_ == pytest.approx(-want["neg_elbo"], abs=1e-6)
    log_prob = clf.predict_log_proba(X_test)[np.arange(len(y_test)), y_test].mean()
    assert log_prob == pytest.approx(want["test_mean_log_prob"], abs=1e-6)
    mean, variance = clf.predict_latent(X_test[:10])
    np.testing.assert_allclose(mean, want["test_latent_mean_first10"], atol=1e-6)
    np.testing.assert_allclose(variance, want["test_latent_var_first10"], atol=1e-6)
    gradient = clf.evidence_gradient_
    np.testing.assert_allclose(
        gradient.kernel.lengthscale, -np.array(want["d_neg_elbo_d_log_lengthscales"]), atol=1e-5
    )
    np.testing.assert_allclose(
        gradient.kernel.variance, -want["d_neg_elbo_d_log_variance"], atol=1e-5
    )
    np.testing.assert_allclose(
        gradient.inducing_points, -np.array(want["d_neg_elbo_dZ"]), atol=1e-5
    )
