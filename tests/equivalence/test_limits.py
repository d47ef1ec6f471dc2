"""Limiting cases of the sparse bound (paper, section 4, "Limiting cases")."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

from fewknots import GPClassifier
from fewknots.inference.features import project
from fewknots.inference.natural_gradient import solve_sites
from fewknots.inference.priors import SparsePrior
from fewknots.inference.rules import Variational
from fewknots.inference.sites import Rows, prior_sites
from fewknots.kernels import RBF
from fewknots.likelihoods import Gaussian

from ..reference import LOG_LINKS, gaussian_expectation, rbf, titsias_bound

RNG = np.random.default_rng(11)
X = RNG.normal(size=(20, 2))
LENGTHSCALE, VARIANCE = 0.8, 2.0
K = rbf(X, X, LENGTHSCALE, VARIANCE)


@pytest.mark.parametrize("link", ["probit", "logit"])
def test_with_z_at_the_rows_it_is_the_full_kl_method(link):
    """Opper & Archambeau's 2N parameters, optimised by brute force: the same bound, mean, var."""
    y = np.where(np.sin(3 * X[:, 0]) + X[:, 1] > 0, 1, -1)

    def expected(mean, variance):
        return gaussian_expectation(
            lambda f: LOG_LINKS[link](y * f), mean, variance, n=201, reach=8.0
        )

    def negative_bound(parameters):
        # m = Kν, S = (K⁻¹ + diag λ)⁻¹ (Opper & Archambeau 2009, eq. 10)
        nu, lam = parameters[:20], np.exp(parameters[20:])
        root = np.sqrt(lam)
        B = np.eye(20) + root[:, None] * K * root
        S = K - (K * root) @ np.linalg.solve(B, root[:, None] * K)
        mean, variance = K @ nu, np.diagonal(S)
        divergence = 0.5 * (np.trace(np.linalg.inv(B)) + nu @ K @ nu - 20 + np.linalg.slogdet(B)[1])
        # Row i of the expectations depends on m_i and v_i alone: one difference serves all rows.
        h = 1e-5
        by_mean = (expected(mean + h, variance) - expected(mean - h, variance)) / (2 * h)
        log_v = np.log(variance)
        up, down = (expected(mean, np.exp(log_v + d)) for d in (h, -h))
        by_variance = (up - down) / (2 * h * variance)
        # ∂v_i/∂λ_j = -S_ij², and of the divergence ½ Σ_k S_jk² λ_k is left
        by_lam = 0.5 * np.square(S) @ lam + np.square(S) @ by_variance
        slope = np.concatenate([K @ (nu - by_mean), by_lam * lam])
        return divergence - expected(mean, variance).sum(), slope

    start = np.concatenate([np.zeros(20), np.full(20, -1.0)])
    best = minimize(
        negative_bound, start, jac=True, method="L-BFGS-B",
        options={"maxiter": 2000, "ftol": 1e-14, "gtol": 1e-7},
    )  # fmt: skip
    clf = GPClassifier(
        RBF(LENGTHSCALE, VARIANCE), likelihood=link, inducing_points=X, jitter=1e-10,
        learn_kernel=False, learn_inducing=False, standardize=False,
    ).fit(X, y)  # fmt: skip
    assert clf.log_evidence_ == pytest.approx(-best.fun, abs=1e-5)
    assert clf.log_evidence_ > -best.fun - 1e-7
    mean, _ = clf.predict_latent(X)
    np.testing.assert_allclose(mean, K @ best.x[:20], atol=2e-3)


def gaussian_bound(Z, noise, y, jitter=1e-10):
    @jax.jit
    def solve():
        kernel = RBF(jnp.full(2, LENGTHSCALE), jnp.asarray(VARIANCE))
        features, _ = project(kernel, jnp.asarray(Z), jnp.asarray(X), jnp.asarray(jitter))
        rows = Rows(jnp.asarray(X), jnp.asarray(y), jnp.ones(20))
        start = prior_sites(20, np.float64)
        prior, rule = SparsePrior(features), Variational(Gaussian(noise))
        return solve_sites(prior, rule, rows, start, jnp.asarray(0.0), 10).objective

    return float(solve())


def test_with_gaussian_noise_it_is_titsias_bound(float64):
    y, Z = RNG.normal(size=20), RNG.normal(size=(6, 2))
    Kmm, Knm = rbf(Z, Z, LENGTHSCALE, VARIANCE), rbf(X, Z, LENGTHSCALE, VARIANCE)
    want = titsias_bound(Kmm + 1e-10 * VARIANCE * np.eye(6), Knm, np.full(20, VARIANCE), y, 0.3)
    assert gaussian_bound(Z, 0.3, y) == pytest.approx(want, rel=1e-7)


def test_with_both_it_is_the_exact_gaussian_process(float64):
    y = RNG.normal(size=20)
    exact = multivariate_normal(np.zeros(20), K + 0.3 * np.eye(20)).logpdf(y)
    assert gaussian_bound(X, 0.3, y) == pytest.approx(exact, rel=1e-6)


def test_a_bound_is_below_the_evidence():
    """Two rows: the evidence is a bivariate normal orthant probability (exact for the probit)."""
    X2, y2 = np.array([[0.0], [0.7]]), np.array([1, -1])
    k = rbf(X2, X2, 1.0, 3.0)
    # p(y) = P(y₁g₁ > 0, y₂g₂ > 0), g ~ N(0, K + I): Φ is a step smoothed by unit noise.
    flip = np.outer(y2, y2)
    evidence = np.log(multivariate_normal(np.zeros(2), flip * (k + np.eye(2))).cdf(np.zeros(2)))
    clf = GPClassifier(
        RBF(1.0, 3.0), inducing_points=X2, jitter=1e-10,
        learn_kernel=False, learn_inducing=False, standardize=False,
    ).fit(X2, y2)  # fmt: skip
    assert clf.log_evidence_ < evidence
    assert clf.log_evidence_ == pytest.approx(evidence, abs=0.05)
    fewer = GPClassifier(
        RBF(1.0, 3.0), inducing_points=X2[:1], jitter=1e-10,
        learn_kernel=False, learn_inducing=False, standardize=False,
    ).fit(X2, y2)  # fmt: skip
    assert fewer.log_evidence_ < clf.log_evidence_
