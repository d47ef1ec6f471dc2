"""Mean field of several classes: against the one of two, a plain program and differences."""

import itertools
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fewknots.inference.mean_field import MeanField, cut_off, solve_mean_field
from fewknots.inference.method import Budget, check_latent
from fewknots.inference.noisy_prior import DenseNoisyPrior
from fewknots.inference.sites import Rows
from fewknots.inference.sparse_mean_field import SparseMeanField
from fewknots.inference.truncated_cone import Cones
from fewknots.kernels import RBF
from fewknots.likelihoods import Bernoulli, MultinomialProbit, Softmax

from ..reference import rbf

pytestmark = pytest.mark.usefixtures("float64")

RNG = np.random.default_rng(5)
N, M = 30, 8
X = RNG.normal(size=(N, 2))
Z = RNG.normal(size=(M, 2))
ANGLE = np.arctan2(X[:, 1], X[:, 0]) + 0.4 * RNG.normal(size=N)
CODES = (((ANGLE + np.pi) // (2.0 * np.pi / 3.0)) % 3).astype(float)
BOTH = pytest.mark.parametrize("method", [MeanField(), SparseMeanField()], ids=repr)


def kernel_of(variance=6.0, lengthscale=1.2):
    return RBF(np.array([lengthscale, 1.5]), np.array(variance))


@partial(jax.jit, static_argnums=0)
def evaluated(method, kernel, points, likelihood, y, inputs):
    rows = Rows(inputs, y, jnp.ones(len(y)))
    start = method.start(rows, likelihood.n_latent)
    budget = Budget(jnp.asarray(0.0), 500)
    points = points if method.sparse else None
    return method.evaluate(kernel, points, likelihood, rows, start, jnp.asarray(1e-9), budget)


def of_three(method, kernel, points=Z):
    return evaluated(method, kernel, points, MultinomialProbit(3), CODES, X)


@BOTH
@pytest.mark.parametrize("variance", [0.05, 6.0, 500.0])
def test_two_classes_are_the_probit_with_the_same_kernel(method, variance):
    """The difference of two functions has twice the variance, and twice the noise."""
    kernel, first = kernel_of(variance), CODES == 0.0
    two = evaluated(method, kernel, Z, MultinomialProbit(2), first.astype(float), X)
    one = evaluated(method, kernel, Z, Bernoulli("probit"), 2.0 * first - 1.0, X)
    assert float(two.evidence) == pytest.approx(float(one.evidence), rel=1e-9)
    for name in ("d_kernel", "d_points"):
        pairs = zip(
            jax.tree.leaves(getattr(two, name)), jax.tree.leaves(getattr(one, name)), strict=True
        )
        for found, wanted in pairs:
            np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)


def of_the_plain_program(K, codes, n_classes=3):
    """(cone) by coordinate ascent, each q(g_n) on a grid of the differences u_j = g_y - g_j > 0.

    The differences of class y's row have the covariance (K + I) ⊗ (I + 11ᵀ). Everything is about
    them alone: entropy and E log N are added up as they stand.
    """
    nodes, weights = np.polynomial.legendre.leggauss(60)
    nodes, weights = 8.0 * (nodes + 1.0), 8.0 * weights
    pairs = list(itertools.product(range(60), repeat=n_classes - 1))
    u = nodes[np.array(pairs)]
    weight = weights[np.array(pairs)].prod(axis=1)
    C, size = np.linalg.inv(K + np.eye(len(K))), n_classes - 1
    # to the differences with class 0, the same for all rows, from those with the row's own class
    to_common = []
    for y in codes:
        D = np.zeros((size, size))
        for row, c in enumerate(range(1, n_classes)):
            own = [j for j in range(n_classes) if j != y]
            if c != y:
                D[row, own.index(c)] -= 1.0
            if y != 0:
                D[row, own.index(0)] += 1.0
        to_common.append(D)
    inner = np.linalg.inv(np.eye(size) + 1.0)  # of differences with class 0
    means = [D @ np.ones(size) for D in to_common]
    for _ in range(400):
        entropy, covariances = 0.0, []
        for n, D in enumerate(to_common):
            pull = sum(C[n, m] * means[m] for m in range(len(codes)) if m != n)
            d = u @ D.T
            log_q = -0.5 * C[n, n] * np.einsum("si,ij,sj->s", d, inner, d) - d @ inner @ pull
            q = np.exp(log_q - log_q.max())
            log_total = np.log(q @ weight) + log_q.max()
            q = q / (q @ weight)
            means[n] = (q * weight) @ d
            covariances.append(np.einsum("s,si,sj->ij", q * weight, d, d))
            entropy -= (q * weight) @ (log_q - log_total)  # |det D| = 1
    second = sum(
        C[n, m] * np.trace(inner @ (covariances[n] if n == m else np.outer(means[n], means[m])))
        for n in range(len(codes))
        for m in range(len(codes))
    )
    log_det = size * np.linalg.slogdet(K + np.eye(len(K)))[1]
    log_det += len(codes) * np.linalg.slogdet(np.eye(size) + 1.0)[1]
    return entropy - 0.5 * (second + log_det + len(codes) * size * np.log(2.0 * np.pi))


def test_the_bound_of_the_plain_program():
    rows, codes = X[:4], np.array([0, 1, 2, 1])
    wanted = of_the_plain_program(rbf(rows, rows, np.array([1.2, 1.5]), 2.0), codes)
    kernel = kernel_of(2.0)
    found = evaluated(MeanField(), kernel, None, MultinomialProbit(3), codes.astype(float), rows)
    assert float(found.evidence) == pytest.approx(wanted, abs=1e-6)


def test_it_is_below_the_evidence():
    """log p(y), by samples of g."""
    rows, codes = X[:4], np.array([0, 1, 2, 1])
    kernel = kernel_of(2.0)
    found = evaluated(MeanField(), kernel, None, MultinomialProbit(3), codes.astype(float), rows)
    K = rbf(rows, rows, np.array([1.2, 1.5]), 2.0) + np.eye(4)
    g = RNG.normal(size=(400_000, 3, 4)) @ np.linalg.cholesky(K).T
    evidence = np.log(np.mean((g.argmax(axis=1) == codes).all(axis=1)))
    assert evidence - 0.5 < float(found.evidence) < evidence


@pytest.mark.parametrize("n_classes", [3, 10])
def test_rows_that_say_nothing_of_each_other(n_classes):
    """q is the posterior, and the bound the evidence: -N log C."""
    far = 1e3 * np.arange(5.0)[:, None] * np.ones(2)
    codes = np.arange(5.0)
    likelihood = MultinomialProbit(max(n_classes, 5))
    found = evaluated(MeanField(), kernel_of(), None, likelihood, codes % n_classes, far)
    assert float(found.evidence) == pytest.approx(-5.0 * np.log(likelihood.n_classes), abs=1e-8)


@BOTH
def test_derivatives_against_differences(method):
    def at(step, name):
        kernel = RBF(np.array([1.2 + step * (name == "kernel"), 1.5]), np.array(6.0))
        return of_three(method, kernel, Z + step * np.eye(M, 2) * (name == "points"))

    h, here = 1e-4, at(0.0, "none")
    wanted = {"kernel": here.d_kernel.lengthscale[0]}
    if method.sparse:
        wanted["points"] = jnp.trace(here.d_points[:2])
    for name, derivative in wanted.items():
        difference = float(at(h, name).evidence - at(-h, name).evidence) / (2.0 * h)
        assert float(derivative) == pytest.approx(difference, rel=1e-4, abs=1e-4), name


def test_with_inducing_points_at_the_rows_it_is_the_full_method():
    sparse = of_three(SparseMeanField(), kernel_of(), X)
    full = of_three(MeanField(), kernel_of())
    assert float(sparse.evidence) == pytest.approx(float(full.evidence), abs=1e-5)


def test_newtons_method_ends_from_anywhere():
    """Large variances, and centres that deny every label."""
    prior = DenseNoisyPrior.of(jnp.asarray(rbf(X, X, np.array([1.2, 1.5]), 1000.0)))
    cut = cut_off(MultinomialProbit(3), jnp.asarray(CODES))
    starts = np.zeros((3, N)), np.where(np.arange(3)[:, None] == CODES, -30.0, 30.0)
    ends = [
        solve_mean_field(prior, cut, jnp.asarray(start), jnp.asarray(0.0), 200) for start in starts
    ]
    assert all(bool(end.solved) for end in ends)
    assert float(ends[0].bound) == pytest.approx(float(ends[1].bound), abs=1e-7)
    np.testing.assert_allclose(ends[0].mean, ends[1].mean, atol=1e-4)
    np.testing.assert_allclose(ends[0].mean.sum(axis=0), 0.0, atol=1e-6)


def test_samples_are_those_of_the_cones():
    """Moments of 400 samples, and every one of them in its cone."""
    prior = DenseNoisyPrior.of(jnp.asarray(rbf(X, X, np.array([1.2, 1.5]), 6.0)))
    cut = cut_off(MultinomialProbit(3), jnp.asarray(CODES))
    found = solve_mean_field(prior, cut, jnp.zeros((3, N)), jnp.asarray(0.0), 200)
    sigma = 1.0 / jnp.sqrt(prior.own_precision)
    g = Cones(found.centre, sigma, cut.member, jnp.eye(N)).sampled_means()
    assert g.shape == (400, 3, N)
    np.testing.assert_array_equal(g.argmax(axis=1), np.tile(CODES.astype(int), (400, 1)))
    np.testing.assert_allclose(g.mean(axis=0), found.mean, atol=0.35)
    np.testing.assert_allclose(np.mean(g.mean(axis=0) - found.mean), 0.0, atol=0.02)
    np.testing.assert_allclose(np.mean(g.var(axis=0) / found.variance), 1.0, atol=0.03)


@BOTH
def test_it_is_for_the_largest_of_noisy_functions(method):
    check_latent(method.name, method.several_latent, MultinomialProbit(3))
    with pytest.raises(ValueError, match="derived for one latent function"):
        check_latent(method.name, method.several_latent, Softmax(3))
