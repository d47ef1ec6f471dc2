"""The tighter bound against the evidence itself, against regression's formula, and differences."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import norm

from fewknots import GPClassifier, GPRegressor
from fewknots.inference import sparse_kl
from fewknots.inference.features import project, whiten
from fewknots.inference.method import Budget
from fewknots.inference.regression import Titsias
from fewknots.inference.sites import Rows, prior_sites
from fewknots.inference.sparse_kl import SparseKL
from fewknots.inference.tight import ShrinkingPrior
from fewknots.kernels import RBF, Fixed
from fewknots.likelihoods import Bernoulli, Gaussian, Poisson, Softmax
from fewknots.training.row_sums import model_gradient, row_sums

from ..reference import rbf

RNG = np.random.default_rng(3)
N, M = 12, 4
X, Z = RNG.normal(size=(N, 2)), RNG.normal(size=(M, 2))
y = np.where(X[:, 0] + 0.3 * RNG.normal(size=N) > 0, 1.0, -1.0)
w = RNG.uniform(0.5, 2.0, size=N)
JITTER = 1e-8


def kernel(variance=2.5):
    return RBF(jnp.full(2, 0.9), jnp.asarray(variance))


def tight_of(likelihood, rows, variance=2.5, points=Z, bound="tight"):
    """At the solution, as well as rounding allows."""
    method = SparseKL(bound)
    start = prior_sites(len(rows.y), np.dtype(float), likelihood.n_latent)
    budget = Budget(jnp.asarray(1e-12), 2000)
    arguments = kernel(variance), jnp.asarray(points), likelihood, rows, start, jnp.asarray(JITTER)
    return jax.jit(lambda *a: method.evaluate(*a, budget))(*arguments)


# --- the evidence, by brute force -----------------------------------------------------------------

TWO = np.array([[0.0, 0.0], [0.7, -0.3]])  # rows: an integral over two functions' values


def log_evidence(log_p, variance):
    """Log ∫ p(y|f) N(f|0, K) df, by a product of Gauss-Hermite rules."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(150)
    lower = np.linalg.cholesky(rbf(TWO, TWO, 0.9, variance))
    grid = np.stack(np.meshgrid(nodes, nodes, indexing="ij")).reshape(2, -1)
    weight = np.outer(weights, weights).ravel() / (2.0 * np.pi)
    return np.log(weight @ np.exp(log_p(lower @ grid).sum(axis=0)))


@pytest.mark.parametrize("variance", [0.5, 4.0])
@pytest.mark.parametrize("name", ["probit", "poisson"])
def test_lies_between_the_standard_bound_and_the_evidence(name, variance, float64):
    if name == "probit":
        likelihood, targets = Bernoulli("probit"), np.array([1.0, -1.0])
        truth = log_evidence(lambda f: norm.logcdf(targets[:, None] * f), variance)
    else:
        likelihood, targets = Poisson(jnp.asarray(1.0)), np.array([2.0, 0.0])
        t = targets[:, None]
        truth = log_evidence(lambda f: t * f - np.exp(f) - gammaln(t + 1.0), variance)
    rows, far = Rows(TWO, targets, np.ones(2)), np.array([[1.5, 1.5]])
    plain = tight_of(likelihood, rows, variance, far, "standard").evidence
    tight = tight_of(likelihood, rows, variance, far).evidence
    assert plain + 0.01 < tight < truth


def test_several_functions_have_a_share_each(float64):
    rows = Rows(X, np.arange(N) % 3.0, w)
    plain, tight = (tight_of(Softmax(3), rows, bound=bound) for bound in ("standard", "tight"))
    assert tight.evidence > plain.evidence + 0.01
    assert tight.held.q.shrink.shape == (3, 1)


# --- regression -----------------------------------------------------------------------------------


def test_regression_has_the_logarithm_in_place_of_the_trace(float64):
    noise = 0.3
    Kxz, Kzz = rbf(X, Z, 0.9, 2.5), rbf(Z, Z, 0.9, 2.5) + JITTER * 2.5 * np.eye(M)
    Q = Kxz @ np.linalg.solve(Kzz, Kxz.T)
    covariance, kappa = Q + np.diag(noise / w), 2.5 - np.diag(Q)
    want = -0.5 * (
        y @ np.linalg.solve(covariance, y)
        + np.linalg.slogdet(covariance)[1]
        + np.sum(np.log1p(w * kappa / noise))
        + np.sum((w - 1.0) * np.log(2.0 * np.pi * noise) + np.log(w) + np.log(2.0 * np.pi))
    )
    likelihood = Gaussian(jnp.asarray(noise))
    arguments = kernel(), jnp.asarray(Z), likelihood, Rows(X, y, w), None, jnp.asarray(JITTER)
    found = Titsias("tight").evaluate(*arguments, Budget(jnp.asarray(0.0), 1))
    np.testing.assert_allclose(found.evidence, want, rtol=1e-9)
    by_solver = tight_of(likelihood, Rows(X, y, w)).evidence
    np.testing.assert_allclose(by_solver, want, rtol=1e-9)


def test_svi_reaches_the_same_bound():
    given = {
        "inducing_points": Z[:, :1],
        "learn_inducing": False,
        "method_options": {"bound": "tight"},
    }
    fits = [
        GPRegressor("rbf", method=m, warp=None, tol=1e-9, **given).fit(X[:, :1], X[:, 0] ** 2)
        for m in ("titsias", "svi")
    ]
    one, other = (fit.log_evidence_ for fit in fits)
    np.testing.assert_allclose(one, other, atol=1e-3)


# --- the share, and derivatives -------------------------------------------------------------------


def test_share_is_the_best_one(float64):
    found = tight_of(Bernoulli("probit"), Rows(X, y, w))
    q = found.held.q
    values = [float(bound_at(q._replace(shrink=q.shrink * s))) for s in (0.99, 1.0, 1.01)]
    np.testing.assert_allclose(values[1], found.evidence, rtol=1e-10)
    assert max(values) == values[1]
    assert values[1] - min(values) < 1e-3


def bound_at(q, likelihood=None, points=Z, k=None):
    features, _ = project(k or kernel(), jnp.asarray(points), X, jnp.asarray(JITTER))
    terms = sparse_kl.look(features, q, likelihood or Bernoulli("probit"), Rows(X, y, w)).terms
    return jnp.sum(terms.log_prob) - sparse_kl.divergence(q)


@pytest.mark.parametrize(
    "likelihood", [Bernoulli("probit"), Gaussian(0.3)], ids=["probit", "gauss"]
)
def test_derivatives_against_differences(likelihood, float64):
    """At the best q and v, for every coordinate of Z and the kernel's variance."""
    found = tight_of(likelihood, Rows(X, y, w))
    q = found.held.q
    bound = partial(bound_at, q, likelihood)
    h = 1e-5
    for i, d in np.ndindex(M, 2):
        step = np.zeros_like(Z)
        step[i, d] = h
        want = (bound(Z + step) - bound(Z - step)) / (2 * h)
        np.testing.assert_allclose(found.d_points[i, d], want, rtol=1e-5, atol=1e-6)
    want = (bound(Z, kernel(2.5 + h)) - bound(Z, kernel(2.5 - h))) / (2 * h)
    np.testing.assert_allclose(found.d_kernel.variance, want, rtol=1e-5)


def test_damping_knows_that_the_share_moves(float64):
    """`response` is minus the sum of ∂σ²_n/∂b_m · change_m."""
    features, _ = project(kernel(), jnp.asarray(Z), X, jnp.asarray(JITTER))
    prior = ShrinkingPrior(features, jnp.asarray(w) > 0, False)
    sites = prior_sites(N, np.dtype(float))
    sites = sites._replace(precision=jnp.asarray(w)[None])
    change, h = jnp.asarray(RNG.normal(size=(1, N))), 1e-6

    def variance(s):
        return prior.belief(sites._replace(precision=sites.precision + s * change)).variance

    want = -(variance(h) - variance(-h)) / (2 * h)
    np.testing.assert_allclose(prior.response(prior.belief(sites), change), want, rtol=1e-6)


def test_rows_without_weight_cost_nothing(float64):
    masked = Rows(X, y, np.where(np.arange(N) < 4, w, 0.0))
    few = jax.tree.map(lambda part: part[:4], masked)
    one, other = (tight_of(Bernoulli("probit"), rows).evidence for rows in (masked, few))
    np.testing.assert_allclose(one, other, rtol=1e-9)


def test_inducing_points_on_all_rows_leave_nothing_to_shrink(float64):
    rows = Rows(X, y, w)
    plain, tight = (
        tight_of(Bernoulli("probit"), rows, 2.5, X, bound).evidence
        for bound in ("standard", "tight")
    )
    np.testing.assert_allclose(tight, plain, atol=1e-6)


# --- whole fits -----------------------------------------------------------------------------------


def banana(n):
    angle = RNG.uniform(0, np.pi, size=n)
    code = np.arange(n) % 2
    points = np.stack([np.cos(angle) + code, np.sin(angle) * (1 - 2 * code)], axis=1)
    return points + 0.3 * RNG.normal(size=(n, 2)), code


@pytest.mark.parametrize("optimizer", ["collapsed", "natural_gradient"])
def test_fits_end_higher(optimizer):
    X, codes = banana(300)
    given = {"method": "sparse_kl", "n_inducing": 6, "optimizer": optimizer, "random_state": 0}
    given |= {"warp": None, "max_iter": 200 if optimizer == "natural_gradient" else None}
    kernel = RBF(Fixed(0.5), 4.0)
    plain = GPClassifier(kernel, **given).fit(X, codes)
    tight = GPClassifier(kernel, method_options={"bound": "tight"}, **given).fit(X, codes)
    assert tight.evidence_is_bound_
    assert tight.log_evidence_ > plain.log_evidence_ + 0.1


@pytest.mark.parametrize("number", [False, True], ids=["one share", "one for each row"])
def test_minibatches_arrive_at_the_bound_of_the_full_batch(number):
    X, y = banana(300)
    given = {"method": "sparse_kl", "inducing_points": X[:6], "learn_inducing": False}
    given |= {"learn_kernel": False, "method_options": {"bound": "tight"}, "dtype": "float64"}
    given |= {"standardize": False, "warp": None, "random_state": 0}
    given |= {"noise": 0.1, "learn_noise": False} if number else {}
    cls, kernel = GPRegressor if number else GPClassifier, RBF(0.7, 2.0)
    whole = cls(kernel, optimizer="collapsed", **given).fit(X, y)
    steps = cls(kernel, optimizer="natural_gradient", batch_size=300, max_iter=100, **given)
    np.testing.assert_allclose(steps.fit(X, y).log_evidence_, whole.log_evidence_, atol=1e-2)


@pytest.mark.parametrize(
    "likelihood", [Bernoulli("probit"), Gaussian(0.3)], ids=["probit", "gauss"]
)
def test_gradient_from_sums_is_that_of_all_rows_at_once(likelihood, float64):
    found = tight_of(likelihood, Rows(X, y, w))
    q, whitening = found.held.q, whiten(kernel(), jnp.asarray(Z), jnp.asarray(JITTER))
    q = q._replace(shrink=q.shrink[:, :1])  # what minibatches hold
    parts = [
        row_sums(
            whitening,
            likelihood,
            q,
            jax.tree.map(lambda a, s=s: a[s : s + 6], Rows(X, y, w)),
            float,
            False,
        )
        for s in (0, 6)
    ]
    sums = jax.tree.map(jnp.add, *parts)
    d_kernel, d_points = model_gradient(whitening, q, sums)
    np.testing.assert_allclose(sums.log_prob - sparse_kl.divergence(q), found.evidence, rtol=1e-8)
    np.testing.assert_allclose(d_points, found.d_points, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(d_kernel.variance, found.d_kernel.variance, rtol=1e-6)


@pytest.mark.parametrize("optimizer", ["rounds", "lbfgs", "adam"])
def test_refuses_ways_that_do_not_know_it(optimizer):
    clf = GPClassifier(method="sparse_kl", optimizer=optimizer, method_options={"bound": "tight"})
    with pytest.raises(ValueError, match="bound='tight' is trained in full batch"):
        clf.fit(*banana(40))


def test_unknown_bound_is_refused():
    with pytest.raises(ValueError, match="'bound' of method='sparse_kl' must be"):
        GPClassifier(method="sparse_kl", method_options={"bound": "best"}).fit(*banana(40))
