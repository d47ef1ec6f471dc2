"""float32 against float64: one model, two precisions."""

import numpy as np
import pytest

from fewknots import GPClassifier
from fewknots.kernels import RBF


def test_fixed_parameters(moons):
    X, y = moons
    arguments = {
        "n_inducing": 10,
        "random_state": 0,
        "learn_kernel": False,
        "learn_inducing": False,
    }
    double = GPClassifier(RBF(1.5, 2.0), dtype="float64", **arguments).fit(X, y)
    single = GPClassifier(RBF(1.5, 2.0), dtype="float32", jitter=1e-5, **arguments).fit(X, y)
    assert single.posterior_.points.dtype == np.float32
    assert single.log_evidence_ == pytest.approx(double.log_evidence_, rel=1e-4)
    np.testing.assert_allclose(single.predict_proba(X), double.predict_proba(X), atol=1e-3)


@pytest.mark.filterwarnings("ignore::fewknots.NumericalWarning")
def test_learned_parameters(moons):
    X, y = moons
    arguments = {"n_inducing": 10, "random_state": 0}
    double = GPClassifier(dtype="float64", **arguments).fit(X, y)
    single = GPClassifier(dtype="float32", **arguments).fit(X, y)
    assert single.log_evidence_ == pytest.approx(double.log_evidence_, abs=0.1)


@pytest.mark.parametrize("method", ["full_kl", "ep", "fitc_ep", "mean_field"])
def test_every_kind_of_method_in_float32(moons, method):
    X, y = moons
    points = {"inducing_points": X[:8]} if method == "fitc_ep" else {}
    single, double = (
        GPClassifier(
            RBF(1.5, 10.0),
            method=method,
            dtype=dtype,
            learn_kernel=False,
            learn_inducing=False,
            **points,
        ).fit(X, y)
        for dtype in ("float32", "float64")
    )
    assert single.posterior_.points.dtype == np.float32
    assert single.log_evidence_ == pytest.approx(double.log_evidence_, abs=1e-2)
    np.testing.assert_allclose(single.predict_proba(X), double.predict_proba(X), atol=2e-3)
