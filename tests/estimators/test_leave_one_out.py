"""Leave-one-out densities against fits without each row, kernel and inducing points unmoved."""

import numpy as np
import pytest
from scipy.stats import norm

from fewknots import DataError, GPClassifier, GPRegressor
from fewknots.kernels import RBF

RNG = np.random.default_rng(5)
X = RNG.uniform(0.0, 6.0, size=(12, 1))
y = 50.0 + 10.0 * np.sin(X[:, 0]) + RNG.normal(size=12)
Z = np.linspace(0.5, 5.5, 4)[:, None]
FIXED = {"learn_kernel": False, "warp": None, "standardize": False}


@pytest.mark.parametrize("method", ["exact", "titsias"])
def test_gaussian_noise_is_exact(method):
    points = {} if method == "exact" else {"inducing_points": Z, "learn_inducing": False}
    model = GPRegressor(
        RBF(1.0, 100.0), method=method, noise=1.0, learn_noise=False, **points, **FIXED
    )
    found = model.fit(X, y).leave_one_out(X, y)
    for n in range(12):
        others = np.arange(12) != n
        mean, std = model.fit(X[others], y[others]).predict(X[[n]], return_std=True)
        assert found[n] == pytest.approx(norm.logpdf(y[n], mean[0], std[0]), rel=1e-6)


def test_it_is_in_the_units_of_y():
    model = GPRegressor(RBF(1.0), noise=1.0, learn_kernel=False, tol=1e-9, warp=None)
    found = model.fit(X, y).leave_one_out(X, y)
    scaled = model.set_params(noise=1e6).fit(X, 1000.0 * y).leave_one_out(X, 1000.0 * y)
    np.testing.assert_allclose(scaled, found - np.log(1000.0), rtol=1e-5)


LABELS = (y > 50.0).astype(int)


@pytest.mark.parametrize(
    ("method", "off"), [("full_kl", 0.05), ("sparse_kl", 0.05), ("laplace", 0.1), ("ep", 0.02)]
)
def test_classes_are_close_to_new_fits(method, off):
    """Better than the densities of rows that were learned from, by far."""
    points = {"inducing_points": Z, "learn_inducing": False} if method == "sparse_kl" else {}
    model = GPClassifier(RBF(1.0, 4.0), method=method, tol=1e-9, **points, **FIXED).fit(X, LABELS)
    found = model.leave_one_out(X, LABELS)
    seen = model.predict_log_proba(X)[np.arange(12), LABELS]
    want = []
    for n in range(12):
        others = np.arange(12) != n
        log_p = model.fit(X[others], LABELS[others]).predict_log_proba(X[[n]])
        want.append(log_p[0, LABELS[n]])
    assert np.abs(seen - want).max() > 3.0 * off
    np.testing.assert_allclose(found, want, atol=off)


def test_a_weight_counts_as_so_many_rows_that_are_all_left_out():
    weights = np.where(np.arange(12) == 3, 2.0, 1.0)
    model = GPRegressor(RBF(1.0, 100.0), noise=1.0, learn_noise=False, **FIXED)
    found = model.fit(X, y, weights).leave_one_out(X, y, weights)
    others = np.arange(12) != 3
    mean, std = model.fit(X[others], y[others]).predict(X[[3]], return_std=True)
    assert found[3] == pytest.approx(norm.logpdf(y[3], mean[0], std[0]), rel=1e-6)


@pytest.mark.parametrize("likelihood", ["gaussian", "poisson"])
def test_neighbourhoods_are_predicted_without_the_row(likelihood):
    """As new fits with the same kernel do; weighted, its sum is the evidence."""
    targets = y if likelihood == "gaussian" else np.round(y - 35.0)
    model = GPRegressor(
        RBF(1.0, 1.0), likelihood=likelihood, method="local", n_neighbors=6, learn_noise=False,
        noise=4.0 if likelihood == "gaussian" else None, **FIXED,
    )  # fmt: skip
    weights = np.where(np.arange(12) < 4, 2.0, 1.0)
    found = model.fit(X, targets, weights).leave_one_out(X, targets, weights)
    assert found @ weights == pytest.approx(model.log_evidence_, rel=1e-9)
    order = RNG.permutation(12)
    other = model.leave_one_out(X[order], targets[order], weights[order])
    np.testing.assert_allclose(other, found[order], rtol=1e-9)
    if likelihood == "poisson":  # its level is that of all rows
        return
    for n in range(3):
        others = np.arange(12) != n
        model.fit(X[others], targets[others], weights[others])
        want = model.predict_log_density(X[[n]], targets[[n]])[0]
        assert found[n] == pytest.approx(want, rel=1e-6)


def test_classes_among_neighbours():
    model = GPClassifier("rbf", method="local", n_neighbors=6, learn_kernel=False).fit(X, LABELS)
    found = model.leave_one_out(X, LABELS)
    assert np.sum(found) == pytest.approx(model.log_evidence_, rel=1e-6)
    assert np.all(found < 0.0)
    with pytest.raises(DataError, match="these 5 rows are not those that the model holds"):
        model.leave_one_out(X[:5], LABELS[:5])
    with pytest.raises(DataError, match="row 2 has weight 0, and the fit has forgotten it"):
        model.leave_one_out(X, LABELS, np.where(np.arange(12) == 2, 0.0, 1.0))


def test_what_has_no_sites():
    model = GPClassifier("rbf", method="mean_field", learn_kernel=False).fit(X, LABELS)
    with pytest.raises(ValueError, match=r"a Gaussian site for each row.*has no such sites"):
        model.leave_one_out(X, LABELS)


def test_rows_that_were_not_learned_from():
    model = GPRegressor(RBF(1.0, 100.0), noise=1.0, learn_noise=False, **FIXED).fit(X, y)
    with pytest.raises(DataError, match="row 0 of X and y does not match the posterior"):
        model.leave_one_out(X + 50.0, y)
