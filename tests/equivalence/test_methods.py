"""Where two methods must agree, and where truth is known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import multivariate_normal

from fewknots import GPClassifier, GPRegressor
from fewknots.fitting.settings import CLASSIFICATION
from fewknots.inference.method import Budget
from fewknots.inference.sites import Rows
from fewknots.kernels import RBF
from fewknots.likelihoods import Bernoulli, Gaussian

from ..reference import rbf, titsias_bound

RNG = np.random.default_rng(3)
X = RNG.normal(size=(24, 2))
SIGNS = np.where(np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.3 * RNG.normal(size=24) > 0, 1, -1)
Z = RNG.normal(size=(5, 2))
NEW = RNG.normal(size=(9, 2))
KERNEL = RBF([0.8, 1.3], 3.0)
SPARSE = ("sparse_kl", "fitc_ep", "sparse_mean_field", "two_stage")
ANY_WEIGHTS = ("sparse_kl", "two_stage", "full_kl", "laplace")
FIXED = {"learn_kernel": False, "learn_inducing": False, "standardize": False}


def fitted(method, points=None, kernel=KERNEL, X=X, y=SIGNS, sample_weight=None, **arguments):
    clf = GPClassifier(kernel, method=method, inducing_points=points, **(FIXED | arguments))
    return clf.fit(X, y, sample_weight)


def assert_same(a, b, tolerance):
    assert a.log_evidence_ == pytest.approx(b.log_evidence_, abs=tolerance)
    for ours, theirs in zip(a.predict_latent(NEW), b.predict_latent(NEW), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=tolerance)


# --- a sparse method with Z = X is its full counterpart -------------------------------------------


@pytest.mark.parametrize(
    ("sparse", "full"),
    [("sparse_kl", "full_kl"), ("fitc_ep", "ep"), ("sparse_mean_field", "mean_field")],
)
def test_with_z_at_the_rows(sparse, full):
    assert_same(fitted(sparse, X, jitter=1e-10), fitted(full), 1e-6)


def test_two_stage_with_z_at_the_rows_is_the_map_with_a_fixed_covariance():
    """Section 3.2: the mean is the MAP point, and S⁻¹ = K⁻¹ + I."""
    K = rbf(X, X, np.array([0.8, 1.3]), 3.0)
    mode, _ = fitted("laplace").predict_latent(X)
    mean, variance = fitted("two_stage", X, jitter=1e-10).predict_latent(X)
    np.testing.assert_allclose(mean, mode, atol=1e-6)
    S = K - K @ np.linalg.solve(K + np.eye(24), K)
    np.testing.assert_allclose(variance, np.diagonal(S), atol=1e-6)


def test_an_ivm_with_every_row_active_is_ep():
    assert_same(fitted("ivm", n_inducing=24), fitted("ep"), 1e-8)


# --- one fixed point, however it is reached -------------------------------------------------------


@pytest.mark.parametrize("method", ["ep", "fitc_ep"])
@pytest.mark.parametrize("link", ["probit", "logit"])
def test_sequential_and_parallel_sweeps_end_alike(method, link):
    points = Z if method == "fitc_ep" else None
    one, other = (
        fitted(method, points, likelihood=link, method_options={"sweeps": sweeps})
        for sweeps in ("parallel", "sequential")
    )
    assert_same(one, other, 1e-7)


@pytest.mark.parametrize("method", [*ANY_WEIGHTS, "ep", "fitc_ep", "mean_field"])
def test_a_weight_is_a_number_of_copies(method):
    points = Z if method in SPARSE else None
    counts = 1 + np.arange(24) % 3
    weighted = fitted(method, points, sample_weight=counts.astype(float))
    # Rows apart by less than rounding: equal to every kernel, but too different to be merged.
    X_repeated = np.repeat(X, counts, axis=0)
    X_repeated = X_repeated * (1.0 + 1e-12 * np.arange(len(X_repeated))[:, None])
    repeated = fitted(method, points, X=X_repeated, y=np.repeat(SIGNS, counts))
    assert_same(weighted, repeated, 1e-6)


# --- Gaussian noise: every rule gives the exact answer --------------------------------------------


@pytest.mark.parametrize("method", ["full_kl", "ep", "laplace", "fitc_ep"])
def test_with_gaussian_noise_every_rule_is_exact(float64, method):
    y = RNG.normal(size=24)
    K = rbf(X, X, np.array([0.8, 1.3]), 3.0)
    chosen = CLASSIFICATION[method]()
    rows = Rows(jnp.asarray(X), jnp.asarray(y), jnp.ones(24))
    kernel = RBF(jnp.array([0.8, 1.3]), jnp.asarray(3.0))
    found = jax.jit(
        lambda memory: chosen.evaluate(
            kernel, jnp.asarray(Z), Gaussian(0.3), rows, memory, jnp.asarray(1e-10),
            Budget(jnp.asarray(0.0), 50),
        ).evidence
    )(chosen.start(rows))  # fmt: skip
    if method == "fitc_ep":
        Knm, Kmm = rbf(X, Z, np.array([0.8, 1.3]), 3.0), rbf(Z, Z, np.array([0.8, 1.3]), 3.0)
        Q = Knm @ np.linalg.solve(Kmm, Knm.T)
        K = Q + np.diag(np.diagonal(K - Q))
    want = multivariate_normal(np.zeros(24), K + 0.3 * np.eye(24)).logpdf(y)
    assert float(found) == pytest.approx(want, rel=1e-6)


def test_regression_limits():
    """Titsias' bound by its formula; "svi" at its optimum equals it; with Z = X it is exact."""
    y = np.sin(X[:, 0]) + 0.3 * RNG.normal(size=24)
    fixed = FIXED | {"learn_noise": False, "noise": 0.2}
    bound = GPRegressor(KERNEL, method="titsias", inducing_points=Z, **fixed).fit(X, y)
    Kmm, Knm = rbf(Z, Z, np.array([0.8, 1.3]), 3.0), rbf(X, Z, np.array([0.8, 1.3]), 3.0)
    want = titsias_bound(Kmm + 3e-6 * np.eye(5), Knm, np.full(24, 3.0), y, 0.2)
    assert bound.log_evidence_ == pytest.approx(want, rel=1e-9)
    searched = GPRegressor(
        KERNEL, method="svi", inducing_points=Z, max_iter=3000, tol=1e-13, **fixed
    ).fit(X, y)
    assert searched.log_evidence_ == pytest.approx(want, abs=1e-6)
    exact = GPRegressor(KERNEL, method="exact", **fixed).fit(X, y)
    K = rbf(X, X, np.array([0.8, 1.3]), 3.0)
    truth = multivariate_normal(np.zeros(24), K + 0.2 * np.eye(24)).logpdf(y)
    assert exact.log_evidence_ == pytest.approx(truth, rel=1e-10)
    all_rows = GPRegressor(
        KERNEL, method="titsias", inducing_points=X, **(fixed | {"jitter": 1e-10})
    ).fit(X, y)
    assert all_rows.log_evidence_ == pytest.approx(truth, rel=1e-6)
    assert not exact.evidence_is_bound_
    assert bound.evidence_is_bound_


# --- the truth ------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [2, 3])
def test_bounds_are_below_the_evidence_and_ep_is_close(rows):
    """With the probit the evidence of two or three rows is an orthant probability."""
    X_few, y_few = X[:rows], np.array([1, -1, 1])[:rows]
    K = rbf(X_few, X_few, np.array([0.8, 1.3]), 3.0)
    flip = np.outer(y_few, y_few)
    cdf = multivariate_normal.cdf(
        np.zeros(rows), cov=flip * (K + np.eye(rows)), abseps=1e-10, releps=1e-10, maxpts=2_000_000
    )
    evidence = np.log(cdf)
    for method, cls in CLASSIFICATION.items():
        points = X_few[:1] if method in SPARSE else None
        clf = fitted(method, points, X=X_few, y=y_few)
        assert clf.evidence_is_bound_ == cls().is_bound
        if clf.evidence_is_bound_:
            assert clf.log_evidence_ < evidence + 1e-9, method
    assert fitted("ep", X=X_few, y=y_few).log_evidence_ == pytest.approx(evidence, abs=1e-3)
    assert fitted("full_kl", X=X_few, y=y_few).log_evidence_ == pytest.approx(evidence, abs=0.05)


# --- derivatives ----------------------------------------------------------------------------------


# ivm jumps with its choice; local's gradient is of batches, and tested in tests/local
@pytest.mark.parametrize("method", sorted(CLASSIFICATION.keys() - {"ivm", "local"}))
def test_gradients_against_differences(method):
    """Of every evidence, for kernel parameters and (where there are any) inducing points."""
    points = Z if method in SPARSE else None
    found = fitted(method, points).evidence_gradient_
    h = 1e-5

    def difference(change_kernel=None, change_points=None):
        ends = []
        for sign in (1, -1):
            kernel = change_kernel(sign * h) if change_kernel else KERNEL
            moved = change_points(sign * h) if change_points else points
            ends.append(fitted(method, moved, kernel=kernel).log_evidence_)
        return (ends[0] - ends[1]) / (2 * h)

    want = difference(lambda s: RBF([0.8 * np.exp(s), 1.3], 3.0))
    assert float(found.kernel.lengthscale[0]) == pytest.approx(want, rel=1e-5, abs=1e-6)
    want = difference(lambda s: RBF([0.8, 1.3], 3.0 * np.exp(s)))
    assert float(found.kernel.variance) == pytest.approx(want, rel=1e-5, abs=1e-6)
    if points is not None:
        step = np.zeros_like(Z)
        step[2, 1] = 1.0
        want = difference(change_points=lambda s: Z + s * step)
        assert found.inducing_points[2, 1] == pytest.approx(want, rel=1e-5, abs=1e-6)


# --- cost -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", SPARSE)
def test_a_sparse_method_never_makes_an_n_by_n_array(float64, method):
    n = 1000
    rows = Rows(jnp.zeros((n, 2)), jnp.ones(n), jnp.ones(n))
    chosen = CLASSIFICATION[method]()
    program = jax.make_jaxpr(
        lambda kernel, Z, memory: chosen.evaluate(
            kernel, Z, Bernoulli(), rows, memory, jnp.asarray(1e-6), Budget(jnp.asarray(0.0), 9)
        )
    )(RBF(jnp.ones(2), jnp.asarray(1.0)), jnp.zeros((5, 2)), chosen.start(rows))

    def walk(jaxpr):
        most = 0
        for equation in jaxpr.eqns:
            most = max([most, *(int(np.prod(v.aval.shape)) for v in equation.outvars)])
            for value in equation.params.values():
                for sub in jax.tree.leaves(value, is_leaf=lambda leaf: hasattr(leaf, "eqns")):
                    sub = getattr(sub, "jaxpr", sub)
                    if hasattr(sub, "eqns"):
                        most = max(most, walk(sub))
        return most

    assert 0 < walk(program.jaxpr) <= 40 * n


# --- hard cases -----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", CLASSIFICATION)
@pytest.mark.parametrize("variance", [1e-3, 1e5])
def test_extreme_variances_give_finite_answers(method, variance):
    points = Z if method in SPARSE else None
    clf = fitted(method, points, kernel=RBF([0.8, 1.3], variance))
    assert np.isfinite(clf.log_evidence_)
    p = clf.predict_log_proba(NEW)
    assert np.all(np.isfinite(p))
    np.testing.assert_allclose(np.exp(p).sum(axis=1), 1.0, rtol=1e-9)


@pytest.mark.parametrize(
    ("method", "link"),
    [*((method, "probit") for method in CLASSIFICATION), ("ep", "logit"), ("full_kl", "logit")],
)
def test_confidently_wrong_rows(method, link):
    """One label against two hundred equal neighbours: log Φ is far in its tail."""
    X_tight = np.vstack([1e-3 * RNG.normal(size=(200, 2)), np.zeros((1, 2))])
    y = np.append(np.ones(200, int), -1)
    points = X_tight[:5] + 0.1 * RNG.normal(size=(5, 2)) if method in SPARSE else None
    clf = fitted(method, points, kernel=RBF([1.0, 1.0], 100.0), X=X_tight, y=y, likelihood=link)
    assert np.isfinite(clf.log_evidence_)
    mean, variance = clf.predict_latent(np.zeros((1, 2)))
    assert mean[0] > 0
    assert 0 < variance[0] < 100.0


@pytest.mark.parametrize("method", SPARSE)
def test_nearly_equal_inducing_points(method):
    points = np.vstack([Z, Z[:2] + 1e-9])
    clf, alone = fitted(method, points), fitted(method, Z)
    assert clf.log_evidence_ == pytest.approx(alone.log_evidence_, abs=1e-3)
