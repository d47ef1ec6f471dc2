"""GPRegressor: the Gaussian limiting cases as a scikit-learn regressor."""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor, kernels
from sklearn.utils.estimator_checks import parametrize_with_checks

from fewknots import GPRegressor, load
from fewknots.kernels import RBF

RNG = np.random.default_rng(4)
X = RNG.normal(size=(80, 2)) * [1.0, 30.0] + [0.0, 500.0]
y = 200.0 + 30.0 * np.sin(2.0 * X[:, 0]) + 0.3 * (X[:, 1] - 500.0) + 3.0 * RNG.normal(size=80)
INDUCING = {"exact": "auto", "titsias": 20, "svi": 20}


@parametrize_with_checks([GPRegressor(max_iter=200)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_equal_to_scikit_learn_at_fixed_parameters():
    theirs = GaussianProcessRegressor(
        kernels.ConstantKernel(900.0) * kernels.RBF([0.8, 40.0]), alpha=9.0, optimizer=None
    ).fit(X, y)
    ours = GPRegressor(
        RBF([0.8, 40.0], 900.0),
        noise=9.0,
        learn_kernel=False,
        learn_noise=False,
        standardize=False,
    ).fit(X, y)
    value, gradient = theirs.log_marginal_likelihood(theirs.kernel_.theta, eval_gradient=True)
    assert ours.log_evidence_ == pytest.approx(value, rel=1e-10)
    found = ours.evidence_gradient_.kernel
    np.testing.assert_allclose(found.variance, gradient[0], rtol=1e-6)
    np.testing.assert_allclose(found.lengthscale, gradient[1:], rtol=1e-6)
    mean, std = theirs.predict(X[:9] + 0.1, return_std=True)
    our_mean, our_variance = ours.predict_latent(X[:9] + 0.1)
    np.testing.assert_allclose(our_mean, mean, rtol=1e-9)
    np.testing.assert_allclose(our_variance, std**2, rtol=1e-7)
    np.testing.assert_allclose(ours.predict(X[:9] + 0.1, return_std=True)[1] ** 2, std**2 + 9.0)


@pytest.mark.parametrize("method", INDUCING)
def test_learns_kernel_and_noise(tmp_path, method):
    reg = GPRegressor(
        method=method, n_inducing=INDUCING[method], max_iter=5000, random_state=0
    ).fit(X, y)
    assert reg.method_ == method
    assert reg.converged_
    assert reg.score(X, y) > 0.97
    assert 2.0**2 < reg.noise_ < 4.0**2  # the truth is 3²
    mean, std = reg.predict(X, return_std=True)
    z = (y - mean) / std
    assert 0.7 < z.std() < 1.2
    reg.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X, return_std=True), (mean, std))
    assert again.noise_ == reg.noise_
    assert again.log_evidence_ == reg.log_evidence_


def test_the_evidence_does_not_depend_on_standardizing():
    """Same model in other units: equal density of y in the user's units."""
    scale = y.std()
    reg = GPRegressor(RBF(1.0, 1.0), noise=0.1 * scale**2, learn_kernel=False, learn_noise=False)
    reg.fit(X, y)
    by_hand = GPRegressor(
        RBF(X.std(axis=0), scale**2),
        noise=0.1 * scale**2,
        learn_kernel=False,
        learn_noise=False,
        standardize=False,
    ).fit(X, y - y.mean())
    assert reg.log_evidence_ == pytest.approx(by_hand.log_evidence_, rel=1e-9)


def test_the_noise_gradient_is_zero_where_it_was_learned():
    reg = GPRegressor(learn_kernel=False, tol=1e-10).fit(X, y)
    ends = [
        GPRegressor(learn_kernel=False, learn_noise=False, noise=reg.noise_ * factor)
        .fit(X, y)
        .log_evidence_
        for factor in (0.99, 1.0, 1.01)
    ]
    assert ends[1] > max(ends[0], ends[2])
    assert ends[1] == pytest.approx(reg.log_evidence_, rel=1e-9)


def test_a_weight_of_two_is_a_row_given_twice():
    weights = np.where(np.arange(80) < 20, 2.0, 1.0)
    weighted = GPRegressor(learn_kernel=False).fit(X, y, weights)
    repeated = GPRegressor(learn_kernel=False).fit(np.vstack([X, X[:20]]), np.append(y, y[:20]))
    assert weighted.log_evidence_ == pytest.approx(repeated.log_evidence_, rel=1e-12)


def test_auto_goes_sparse_when_asked_for_inducing_points():
    fixed = {"learn_kernel": False, "learn_noise": False, "learn_inducing": False}
    assert GPRegressor(**fixed).fit(X, y).method_ == "exact"
    assert GPRegressor(n_inducing=5, random_state=0, **fixed).fit(X, y).method_ == "titsias"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"noise": 0.0}, "noise must be a positive number"),
        ({"learn_noise": 1}, "learn_noise must be True or False"),
        ({"method": "ep"}, "method must be one of 'auto', 'exact', 'titsias', 'svi'"),
        ({"method": "exact", "n_inducing": 5}, "has no inducing points"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        GPRegressor(**arguments).fit(X, y)


def test_targets_too_large():
    with pytest.raises(ValueError, match="y holds 1e\\+200, which is too large"):
        GPRegressor().fit(X, np.where(np.arange(80) == 3, 1e200, y))
