"""Likelihoods of numbers by their names: fits, predictions in the units of y, files, errors."""

import numpy as np
import pytest
from sklearn.base import clone

from fewknots import DataError, GPRegressor, load
from fewknots.likelihoods import LIKELIHOODS

RNG = np.random.RandomState(3)
X = RNG.uniform(-2.0, 2.0, size=(200, 1))
F = np.sin(2.0 * X[:, 0])
TARGETS = {
    "poisson": RNG.poisson(5.0 * np.exp(F)).astype(float),
    "negative_binomial": RNG.poisson(5.0 * np.exp(F) * RNG.gamma(2.5, 0.4, size=200)).astype(float),
    "heteroscedastic": 100.0 + 20.0 * (F + np.exp(X[:, 0] - 1.5) * RNG.normal(size=200)),
    "laplace": 100.0 + 20.0 * (F + RNG.laplace(scale=0.2, size=200)),
    "gamma": 5.0 * np.exp(F) * RNG.gamma(4.0, 0.25, size=200),
    "beta": RNG.beta(8.0 / (1.0 + np.exp(-F)), 8.0 / (1.0 + np.exp(F))),
    "student_t": 100.0 + 20.0 * (F + 0.2 * RNG.standard_t(2.2, size=200)),
}
TRUTH = {  # the mean of y, and how far off it may be on average
    "poisson": (5.0 * np.exp(F), 1.0),
    "negative_binomial": (5.0 * np.exp(F), 2.0),
    "heteroscedastic": (100.0 + 20.0 * F, 2.5),
    "laplace": (100.0 + 20.0 * F, 1.5),
    "gamma": (5.0 * np.exp(F), 1.2),
    "beta": (1.0 / (1.0 + np.exp(-F)), 0.05),
    "student_t": (100.0 + 20.0 * F, 1.5),
}
SETTINGS = {"kernel": "rbf", "n_inducing": 10, "warp": None, "random_state": 0, "tol": 1e-4}
each_likelihood = pytest.mark.parametrize("name", TARGETS)


@pytest.fixture(scope="module")
def fitted():
    """By name, each fitted once."""
    known = {}

    def of(name):
        if name not in known:
            known[name] = GPRegressor(likelihood=name, **SETTINGS).fit(X, TARGETS[name])
        return known[name]

    return of


@each_likelihood
def test_predictions(name, fitted):
    reg, y = fitted(name), TARGETS[name]
    mean, std = reg.predict(X, return_std=True)
    truth, tolerance = TRUTH[name]
    assert np.mean(np.abs(mean - truth)) < tolerance
    assert np.all(std > 0)
    some = slice(None, None, 5)
    low, high = reg.predict_interval(X[some], 0.8).T
    assert 0.6 < np.mean((low <= y[some]) & (y[some] <= high)) < 1.0
    np.testing.assert_array_equal(reg.predict_quantiles(X[some], [0.1, 0.9]), np.c_[low, high])
    drawn = reg.sample_y(X[some], 400, random_state=0)
    assert drawn.shape == (40, 400)
    inside = (low[:, None] <= drawn) & (drawn <= high[:, None])
    assert 0.78 < inside.mean() < (0.93 if reg.likelihood_.support == "counts" else 0.82)


@each_likelihood
def test_a_file_holds_it(name, fitted, tmp_path):
    reg = fitted(name)
    reg.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(
        again.predict(X, return_std=True), reg.predict(X, return_std=True)
    )
    assert repr(again.likelihood_) == repr(reg.likelihood_)
    assert again.get_params()["likelihood"] == name


@each_likelihood
def test_by_instance_and_clone(name, fitted):
    cls = LIKELIHOODS[name]
    reg = clone(GPRegressor(likelihood=cls(), learn_kernel=False, **SETTINGS))
    assert repr(cls()) in repr(reg)
    reg.set_params(learn_inducing=False).fit(X, TARGETS[name])
    assert type(reg.likelihood_) is cls is type(fitted(name).likelihood_)


@pytest.mark.parametrize(
    ("name", "optimizer"),
    [
        ("negative_binomial", "lbfgs"),
        ("student_t", "lbfgs"),
        ("beta", "natural_gradient"),
        ("heteroscedastic", "natural_gradient"),
        ("laplace", "natural_gradient"),
    ],
)
def test_other_trainers_end_near_the_full_batch(name, optimizer, fitted):
    more = {"dtype": "float64", "max_iter": 600 if optimizer != "lbfgs" else 300, "tol": 1e-5}
    reg = GPRegressor(likelihood=name, optimizer=optimizer, **SETTINGS | more)
    reg.fit(X, TARGETS[name])
    full = fitted(name).log_evidence_
    assert full - 6.0 < reg.log_evidence_ < full + 2.0


@pytest.mark.parametrize("name", ["poisson", "student_t"])
def test_a_stream(name):
    """It learns, in the units of y."""
    reg = GPRegressor(likelihood=name, max_iter=150, **SETTINGS).fit_stream(X, TARGETS[name])
    truth, tolerance = TRUTH[name]
    assert np.mean(np.abs(reg.predict(X) - truth)) < 2.0 * tolerance


@pytest.mark.parametrize(
    ("name", "bad", "says"),
    [
        ("poisson", -1.0, "row 7 of y is -1, which is no count"),
        ("poisson", 2.5, "row 7 of y is 2.5, which is no count"),
        ("negative_binomial", -1.0, "row 7 of y is -1, which is no count"),
        ("gamma", 0.0, "row 7 of y is 0, which is not above zero"),
        ("beta", 1.0, "row 7 of y is 1, which is not between 0 and 1"),
    ],
)
def test_targets_without_a_probability(name, bad, says):
    y = TARGETS[name].copy()
    y[7] = bad
    with pytest.raises(ValueError, match=says):
        GPRegressor(likelihood=name, **SETTINGS).fit(X, y)
    with pytest.raises(DataError, match=says):
        GPRegressor(likelihood=name, **SETTINGS).fit_stream(X, y)


@pytest.mark.parametrize("coverage", [0.0, 1.0, "most"])
def test_a_coverage_that_is_none(coverage, fitted):
    with pytest.raises(ValueError, match="coverage must be"):
        fitted("poisson").predict_interval(X, coverage)
