"""Laplace's method with the softmax: written out densely, in its limits, and by differences."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from fewknots.inference.laplace import Laplace
from fewknots.inference.method import Budget
from fewknots.inference.sites import Rows
from fewknots.kernels import RBF
from fewknots.likelihoods import Bernoulli, Softmax

from ..likelihoods.tempered import Tempered
from ..reference import rbf

pytestmark = pytest.mark.usefixtures("float64")

RNG = np.random.default_rng(5)
N, C = 14, 4
X = RNG.normal(size=(N, 2))
CODES = (np.arange(N) % C).astype(float)
WEIGHTS = RNG.uniform(0.3, 2.0, size=N)
WEIGHTS[3] = 0.0  # a row that only fills up the block
REAL = np.flatnonzero(WEIGHTS)
KERNEL = RBF(np.array([0.8, 1.5]), np.array(3.0))
WHERE = np.concatenate([RNG.normal(size=(6, 2)), X[:2], [[30.0, 30.0]]])


@jax.jit
def evaluated(kernel, likelihood, y, weights=WEIGHTS):
    rows = Rows(jnp.asarray(X), y, jnp.asarray(weights))
    start = Laplace().start(rows, likelihood.n_latent)
    budget = Budget(jnp.asarray(0.0), 300)
    return Laplace().evaluate(kernel, None, likelihood, rows, start, jnp.asarray(0.0), budget)


@jax.jit
def log_probabilities(likelihood, mean, spread):
    return likelihood.log_probabilities(mean, spread)


def posterior(found, kernel=KERNEL, weights=WEIGHTS):
    rows = Rows(X, CODES, weights)
    return Laplace().posterior(kernel, None, rows, jax.tree.map(np.asarray, found.held))


def with_covariance(mean, covariance):
    return mean, covariance


class Dense:
    """Mode, Hessian and evidence from one NC×NC matrix."""

    def __init__(self, rows=REAL):
        x, w, n = X[rows], WEIGHTS[rows], len(rows)
        own = np.eye(C)[CODES[rows].astype(int)].T
        self.k = partial(rbf, lengthscale=KERNEL.lengthscale, variance=3.0)
        self.x, K = x, np.kron(np.eye(C), self.k(x, x))
        inverse = np.linalg.inv(K)

        def loss(f):
            F = f.reshape(C, n)
            value = 0.5 * f @ inverse @ f - w @ np.sum(own * log_softmax(F, axis=0), axis=0)
            return value, inverse @ f - (w * (own - softmax(F, axis=0))).ravel()

        best = minimize(loss, np.zeros(C * n), jac=True, method="BFGS", options={"gtol": 1e-9})
        self.f = best.x
        p = softmax(best.x.reshape(C, n), axis=0)
        W = np.zeros((C, n, C, n))
        for i in range(n):
            W[:, i, :, i] = w[i] * (np.diag(p[:, i]) - np.outer(p[:, i], p[:, i]))
        W = W.reshape(C * n, C * n)
        self.evidence = -best.fun - 0.5 * np.linalg.slogdet(np.eye(C * n) + K @ W)[1]
        self.alpha, self.inner = inverse @ best.x, np.linalg.inv(np.eye(C * n) + W @ K) @ W

    def at(self, where):
        """Mean and covariance of all functions at new rows."""
        means, covariances = [], []
        for row in where[:, None]:
            cross = np.kron(np.eye(C), self.k(row, self.x))
            means.append(cross @ self.alpha)
            covariances.append(3.0 * np.eye(C) - cross @ self.inner @ cross.T)
        return np.array(means).T, np.moveaxis(covariances, 0, -1)


def test_against_dense_matrices():
    found, dense = evaluated(KERNEL, Softmax(C), CODES), Dense()
    assert float(found.evidence) == pytest.approx(dense.evidence, abs=1e-8)
    mean, covariance = posterior(found).mapped(with_covariance, WHERE)
    wanted_mean, wanted_covariance = dense.at(WHERE)
    np.testing.assert_allclose(mean, wanted_mean, atol=1e-6)
    np.testing.assert_allclose(covariance, wanted_covariance, atol=1e-6)
    np.testing.assert_allclose(
        posterior(found).marginals(WHERE)[1], np.diagonal(wanted_covariance).T, atol=1e-6
    )


@pytest.mark.parametrize("name", ["lengthscale", "variance", "temperature"])
def test_derivatives_against_differences(name):
    def at(step):
        kernel = RBF(
            KERNEL.lengthscale + np.array([step * (name == "lengthscale"), 0.0]),
            KERNEL.variance + step * (name == "variance"),
        )
        temperature = jnp.asarray(1.4 + step * (name == "temperature"))
        return evaluated(kernel, Tempered(temperature, C), CODES)

    h, here = 1e-4, at(0.0)
    difference = float(at(h).evidence - at(-h).evidence) / (2.0 * h)
    derivative = {
        "lengthscale": here.d_kernel.lengthscale[0],
        "variance": here.d_kernel.variance,
        "temperature": here.d_likelihood.temperature,
    }[name]
    assert float(derivative) == pytest.approx(difference, rel=1e-6, abs=1e-7)


def test_two_classes_are_the_logit_of_twice_the_variance():
    """The difference of two functions."""
    doubled = RBF(KERNEL.lengthscale, 2.0 * KERNEL.variance)
    y = CODES % 2
    both, one = evaluated(KERNEL, Softmax(2), y), evaluated(doubled, Bernoulli("logit"), 2 * y - 1)
    assert float(both.evidence) == pytest.approx(float(one.evidence), abs=1e-10)
    for name, factor in (("lengthscale", 1.0), ("variance", 2.0)):
        np.testing.assert_allclose(
            getattr(both.d_kernel, name), factor * getattr(one.d_kernel, name), atol=1e-8
        )
    mean, covariance = posterior(both).mapped(with_covariance, WHERE)
    difference, variance = posterior(one, doubled).marginals(WHERE)
    np.testing.assert_allclose(mean[1] - mean[0], difference[0], atol=1e-8)
    spread = covariance[0, 0] + covariance[1, 1] - 2.0 * covariance[0, 1]
    np.testing.assert_allclose(spread, variance[0], atol=1e-8)
    np.testing.assert_allclose(
        log_probabilities(Softmax(2), mean, covariance),
        log_probabilities(Bernoulli("logit"), difference, variance),
        atol=1e-8,
    )


def test_without_information_all_classes_are_equal():
    flat = RBF(KERNEL.lengthscale, np.array(1e-12))
    found = evaluated(flat, Softmax(C), CODES)
    assert float(found.evidence) == pytest.approx(-WEIGHTS.sum() * np.log(C), abs=1e-8)
    log_p = log_probabilities(Softmax(C), *posterior(found, flat).mapped(with_covariance, WHERE))
    np.testing.assert_allclose(log_p, -np.log(C), atol=1e-8)
