"""The full posterior of sites of any sign, and `full_kl` for likelihoods that are not concave."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fewknots import GPRegressor, load
from fewknots.inference.method import HeldByRows
from fewknots.inference.priors import FullPrior
from fewknots.inference.signed_sites import SignedPrior
from fewknots.inference.sites import Rows, Sites
from fewknots.kernels import RBF
from fewknots.likelihoods import Beta, Laplace, Likelihood, StudentT

from ..reference import rbf

RNG = np.random.RandomState(7)
X = RNG.uniform(-2.0, 2.0, size=(40, 1))
NEW = np.linspace(-3.0, 3.0, 25)[:, None]
F = np.sin(2.0 * X[:, 0])
OUTLYING = F + 0.1 * RNG.normal(size=40) + np.where(np.arange(40) % 5 == 0, 3.0, 0.0)
SHARES = np.where(np.arange(40) % 5 == 0, 1e-3, 1.0 / (1.0 + np.exp(-F)))
FIXED = {
    "learn_kernel": False, "learn_noise": False, "learn_inducing": False, "standardize": False,
    "warp": None, "tol": 1e-13,
}  # fmt: skip
CASES: dict[str, tuple[Likelihood, np.ndarray, float]] = {
    "student_t": (StudentT(0.1, 1.0), OUTLYING, 1.0),
    "student_t, hard": (StudentT(0.02, 0.1), OUTLYING, 400.0),
    "beta": (Beta(1.0, 30.0), SHARES, 1.0),
    "laplace": (Laplace(0.02), OUTLYING, 1.0),
}


@pytest.fixture(scope="module", params=CASES)
def case(request):
    """Likelihood, targets, the kernel's variance, and the fit."""
    likelihood, y, variance = CASES[request.param]
    reg = GPRegressor(RBF(0.7, variance), likelihood=likelihood, method="full_kl", **FIXED)
    return likelihood, y, variance, reg.fit(X, y)


def sparse(likelihood, y, variance, points):
    return GPRegressor(
        RBF(0.7, variance), likelihood=likelihood, method="sparse_kl", inducing_points=points,
        jitter=1e-11, **FIXED,
    ).fit(X, y)  # fmt: skip


def test_it_is_the_sparse_method_with_points_at_the_rows(case):
    """The best bound that any number of inducing points has."""
    likelihood, y, variance, reg = case
    other = sparse(likelihood, y, variance, X)
    assert reg.log_evidence_ == pytest.approx(other.log_evidence_, abs=1e-4)
    wide = variance**0.5
    (mean, spread), (want, wanted) = (each.predict_latent(NEW) for each in (reg, other))
    np.testing.assert_allclose(mean, want, atol=1e-3 * wide)
    np.testing.assert_allclose(spread, wanted, atol=1e-3 * variance)
    assert sparse(likelihood, y, variance, X[:6]).log_evidence_ < reg.log_evidence_


def test_some_rows_widen_the_posterior(case):
    """So the test above sees negative precisions; of Laplace's distribution, zeros."""
    likelihood, _, _, reg = case
    assert reg.posterior_.shrink.min() < (0.5 if likelihood.log_concave else -1e-3)


def test_consumers_of_the_posterior(case, tmp_path):
    """Joint covariances, function draws, leave-one-out densities and files."""
    _, y, variance, reg = case
    mean, spread = reg.predict_latent(NEW)
    joint = reg.predict_latent(NEW, return_cov=True)[1]
    np.testing.assert_allclose(np.diagonal(joint), spread, rtol=1e-6, atol=1e-9 * variance)
    draws = reg.sample_functions(3000, n_features=64, random_state=0)(NEW)
    error = np.sqrt(spread / 3000)
    assert np.all(np.abs(draws.mean(axis=1) - mean) < 5.0 * error + 1e-6)
    np.testing.assert_allclose(draws.var(axis=1), spread, rtol=0.2)
    assert np.all(np.isfinite(reg.leave_one_out(X, y)))
    reg.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(NEW), reg.predict(NEW))


def test_derivatives_of_the_evidence(case):
    likelihood, y, variance, reg = case

    def evidence(lengthscale, variance):
        kernel = RBF(lengthscale, variance)
        again = GPRegressor(kernel, likelihood=likelihood, method="full_kl", **FIXED)
        return again.fit(X, y).log_evidence_

    h = 1e-3  # evidences are found to about 1e-6: a smaller h would show that
    up, down = (evidence(0.7, variance * np.exp(s * h)) for s in (1, -1))
    found = reg.evidence_gradient_.kernel
    assert float(found.variance) == pytest.approx((up - down) / (2 * h), rel=1e-3, abs=1e-3)
    up, down = (evidence(0.7 * np.exp(s * h), variance) for s in (1, -1))
    assert float(found.lengthscale[0]) == pytest.approx((up - down) / (2 * h), rel=1e-3, abs=1e-3)


def test_a_row_without_weight_is_none():
    likelihood, y, variance = CASES["student_t"]
    settings = {"likelihood": likelihood, "method": "full_kl", **FIXED}
    few = GPRegressor(RBF(0.7, variance), **settings).fit(X[5:], y[5:])
    weights = np.where(np.arange(40) < 5, 0.0, 1.0)
    same = GPRegressor(RBF(0.7, variance), **settings).fit(X, y, weights)
    assert same.log_evidence_ == pytest.approx(few.log_evidence_, abs=1e-7)
    np.testing.assert_allclose(same.predict_latent(NEW), few.predict_latent(NEW), atol=1e-6)


@pytest.mark.parametrize("likelihood", ["student_t", "laplace"])
def test_it_learns_kernel_and_noise(likelihood):
    """As well as inducing points do, or better: it is the same bound without them."""
    settings = {"kernel": "rbf", "likelihood": likelihood, "warp": None, "random_state": 0}
    full, some = (
        GPRegressor(method=method, **settings).fit(X, OUTLYING)
        for method in ("full_kl", "sparse_kl")
    )
    assert full.converged_
    assert full.log_evidence_ > some.log_evidence_ - 0.05
    assert np.mean(np.abs(full.predict_latent(X)[0] - F)) < 0.15


@pytest.fixture
def sites():
    precision, linear = RNG.uniform(0.2, 5.0, size=(1, 40)), RNG.normal(size=(1, 40))
    return Sites(precision, linear)


def beliefs(prior, sites):
    belief = jax.jit(prior.belief)(sites)
    rows = Rows(X, F, np.ones(40))
    posterior = HeldByRows.of(belief.gaussian).posterior(RBF(np.array([0.7]), np.array(1.0)), rows)
    return belief, posterior.marginals(NEW), prior.cotangent(belief, sites)


def test_positive_sites_are_those_of_the_concave(float64, sites):
    K = jnp.asarray(rbf(X, X, 0.7, 1.0))
    (one, *found), (other, *want) = (beliefs(kind(K), sites) for kind in (SignedPrior, FullPrior))
    for ours, theirs in zip((*one[:4], *found), (*other[:4], *want), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


def test_sites_of_any_sign_by_brute_force(float64, sites):
    """Σ = (K⁻¹ + diag b)⁻¹, one b zero with a slope all the same; and no Gaussian is NaN."""
    K = rbf(X, X, 0.7, 1.0) + 1e-3 * np.eye(40)
    precision = sites.precision * np.where(np.arange(40) % 7 == 3, -0.05, 1.0)
    precision[0, 5] = 0.0
    belief = SignedPrior(jnp.asarray(K)).belief(Sites(precision, sites.linear))
    whole = np.linalg.inv(K) + np.diag(precision[0])
    assert np.linalg.eigvalsh(whole).min() > 0.0
    covariance = np.linalg.inv(whole)
    np.testing.assert_allclose(belief.variance[0], np.diagonal(covariance), rtol=1e-8)
    np.testing.assert_allclose(belief.mean[0], covariance @ sites.linear[0], rtol=1e-7)
    log_det = np.linalg.slogdet(np.eye(40) + K * precision)[1]
    assert float(belief.log_det) == pytest.approx(log_det, rel=1e-9)
    prior = SignedPrior(jnp.asarray(K))
    np.testing.assert_allclose(prior.posterior_covariance(belief)[0], covariance, atol=1e-9)
    none = prior.belief(Sites(-9.0 * np.abs(sites.precision), sites.linear))
    assert np.isnan(float(none.log_det))
