"""Several latent functions: against two fits of one, brute force and finite differences."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fewknots.inference.ep import EP
from fewknots.inference.fitc_ep import FitcEP
from fewknots.inference.full_kl import FullKL
from fewknots.inference.ivm import IVM
from fewknots.inference.laplace import Laplace
from fewknots.inference.mean_field import MeanField
from fewknots.inference.method import Budget, check_latent
from fewknots.inference.regression import SVI, Exact, Titsias
from fewknots.inference.sites import Rows
from fewknots.inference.sparse_kl import SparseKL
from fewknots.inference.sparse_mean_field import SparseMeanField
from fewknots.inference.two_stage import TwoStage
from fewknots.kernels import RBF
from fewknots.likelihoods import Bernoulli, Gaussian

from ..likelihoods.two_latent import Heteroscedastic, Pair
from ..reference import gaussian_expectation, rbf

pytestmark = pytest.mark.usefixtures("float64")

RNG = np.random.default_rng(11)
N, M = 30, 6
X = RNG.normal(size=(N, 2))
Z = RNG.normal(size=(M, 2))
SIGNS = np.sign(X[:, 0] + 0.5 * RNG.normal(size=N))
NUMBERS = np.sin(2.0 * X[:, 0]) + 0.3 * np.exp(X[:, 1]) * RNG.normal(size=N)
WEIGHTS = RNG.uniform(0.3, 2.0, size=N)
KERNEL = RBF(np.array([1.5, 1.8]), np.array(0.5))
JITTER = 1e-8


@partial(jax.jit, static_argnums=0)
def evaluated(method, kernel, points, likelihood, y):
    rows = Rows(jnp.asarray(X), y, jnp.asarray(WEIGHTS))
    start = method.start(rows, likelihood.n_latent)
    budget = Budget(jnp.asarray(0.0), 500)
    points = points if method.sparse else None
    return method.evaluate(kernel, points, likelihood, rows, start, jnp.asarray(JITTER), budget)


def marginals(method, found, where):
    rows = Rows(X, NUMBERS, WEIGHTS)
    held = jax.tree.map(np.asarray, found.held)
    return method.posterior(KERNEL, Z if method.sparse else None, rows, held).marginals(where)


@pytest.mark.parametrize("method", [SparseKL(), FullKL()], ids=repr)
def test_two_independent_likelihoods_are_two_fits(method):
    parts = Bernoulli(), Gaussian(0.3)
    both = evaluated(method, KERNEL, Z, Pair(*parts), SIGNS)
    alone = [evaluated(method, KERNEL, Z, part, SIGNS) for part in parts]
    assert float(both.evidence) == pytest.approx(sum(float(a.evidence) for a in alone), rel=1e-10)
    for name in ("d_kernel", "d_points"):
        wanted = jax.tree.map(jnp.add, *(getattr(a, name) for a in alone))
        for found, want in zip(
            jax.tree.leaves(getattr(both, name)), jax.tree.leaves(wanted), strict=True
        ):
            np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-5)
    (noise,) = jax.tree.leaves(both.d_likelihood)
    np.testing.assert_allclose(noise, alone[1].d_likelihood.noise, rtol=1e-5)
    where = RNG.normal(size=(7, 2))
    separate = [marginals(method, a, where) for a in alone]
    for found, want in zip(
        marginals(method, both, where), zip(*separate, strict=True), strict=True
    ):
        np.testing.assert_allclose(found, np.concatenate(want), rtol=1e-5, atol=1e-6)


def expected_log_prob(mean, variance, scale):
    """E[log p(y|f, g)] by two quadratures, one inside the other."""

    def given(g):
        def log_p(f):
            total = scale * np.exp(g)
            return -0.5 * (np.log(2.0 * np.pi * total) + (NUMBERS - f) ** 2 / total)

        return gaussian_expectation(log_p, mean[0], variance[0], n=401)

    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    each = [given(mean[1] + np.sqrt(variance[1]) * node) for node in nodes]
    return WEIGHTS @ (np.array(each).T @ (weights / weights.sum()))


@pytest.mark.parametrize("method", [SparseKL(), FullKL()], ids=repr)
def test_the_bound_is_the_one_written_out(method):
    """Eq. (klsparse) for each function, from the posterior at the rows alone."""
    scale = 0.9
    found = evaluated(method, KERNEL, Z, Heteroscedastic(jnp.asarray(scale)), NUMBERS)
    at = Z if method.sparse else X
    K = rbf(at, at, KERNEL.lengthscale, 0.5) + JITTER * 0.5 * np.eye(len(at))
    divergence = 0.0
    if method.sparse:
        L, (m, factor) = np.linalg.cholesky(K), map(np.asarray, found.held.q[:2])
        means, covariances = m @ L.T, L @ (factor.mT @ factor) @ L.T
    else:
        b = np.asarray(found.memory.precision)
        covariances = np.array([np.linalg.inv(np.linalg.inv(K) + np.diag(row)) for row in b])
        means = (covariances @ np.asarray(found.memory.linear)[..., None])[..., 0]
    for mean, S in zip(means, covariances, strict=True):
        ratio = np.linalg.solve(K, S)
        divergence += 0.5 * (np.trace(ratio) + mean @ np.linalg.solve(K, mean) - len(K))
        divergence -= 0.5 * np.linalg.slogdet(ratio)[1]
    mean, variance = marginals(method, found, X)
    bound = expected_log_prob(mean, variance, scale) - divergence
    assert float(found.evidence) == pytest.approx(bound, rel=1e-4)


@pytest.mark.parametrize("method", [SparseKL(), FullKL()], ids=repr)
def test_derivatives_against_differences(method):
    def at(step, name):
        kernel = RBF(KERNEL.lengthscale + step * (name == "kernel"), KERNEL.variance)
        points = Z + step * np.eye(M, 2) * (name == "points")
        scale = jnp.asarray(0.9 + step * (name == "likelihood"))
        return evaluated(method, kernel, points, Heteroscedastic(scale), NUMBERS)

    h, here = 1e-4, at(0.0, "none")
    wanted = {"kernel": jnp.sum(here.d_kernel.lengthscale), "likelihood": here.d_likelihood.scale}
    if method.sparse:
        wanted["points"] = jnp.trace(here.d_points[:2])
    for name, derivative in wanted.items():
        difference = float(at(h, name).evidence - at(-h, name).evidence) / (2.0 * h)
        assert float(derivative) == pytest.approx(difference, rel=1e-4, abs=1e-4), name


ONE_ONLY = (EP, FitcEP, IVM, Laplace, MeanField, SparseMeanField, TwoStage, Exact, Titsias)


@pytest.mark.parametrize("method", [cls() for cls in ONE_ONLY], ids=repr)
def test_methods_for_one_function_say_so(method):
    with pytest.raises(ValueError, match="derived for one latent function, and the likelihood Het"):
        check_latent(method.name, method.several_latent, Heteroscedastic())


def test_the_others_take_several():
    for method in (SparseKL(), FullKL(), SVI()):
        check_latent(method.name, method.several_latent, Heteroscedastic())
