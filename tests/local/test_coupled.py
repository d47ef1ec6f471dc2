"""Any number of classes among neighbours: the coupled Laplace approximation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.special import logsumexp
from scipy.optimize import minimize

from fewknots.inference.sites import Rows
from fewknots.kernels import Matern32
from fewknots.likelihoods import Bernoulli, Softmax
from fewknots.local import coupled
from fewknots.local.model import LocalModel, gathered, latent, score

pytestmark = pytest.mark.usefixtures("float64")
RNG = np.random.default_rng(3)
N, D = 14, 2
X = RNG.normal(size=(N, D))
QUERIES = Rows(RNG.normal(size=(3, D)), np.array([0.0, 2.0, 1.0]), np.array([1.0, 0.5, 2.0]))
ALL = np.tile(np.arange(N), (3, 1))


def rows(n_classes, weights=None, seed=0):
    y = np.random.default_rng(seed).integers(n_classes, size=N).astype(float)
    y[:n_classes] = np.arange(n_classes)
    return Rows(X, y, np.ones(N) if weights is None else weights)


def model(mean, variance=3.0):
    kernel = Matern32(lengthscale=np.array([0.8, 1.5]), variance=np.asarray(variance))
    return LocalModel(kernel, np.asarray(mean, float), np.asarray(1.3))


@jax.jit
def objective(f, Y, weights, inverse, mean):
    """The negative log of the posterior of all latent values, but for a constant."""
    f = f.reshape(Y.shape)
    log_prob = jnp.sum(weights * (jnp.sum(Y * f, axis=1) - logsumexp(f, axis=1)))
    u = f - mean
    return -log_prob + 0.5 * jnp.sum(u * (inverse @ u))


slope_of, curvature_of = jax.jit(jax.grad(objective)), jax.jit(jax.hessian(objective))


def brute_force(of, held, x):
    """Mode, covariance of f at a query: dense matrices of all rows and classes."""
    C = len(of.mean)
    K = np.asarray(of.kernel(held.X, held.X))
    k = np.asarray(of.kernel(x[None], held.X))[0]
    inverse = np.linalg.inv(K + 1e-12 * np.eye(N))
    Y = np.eye(C)[held.y.astype(int)]

    given = Y, held.weights, inverse, of.mean
    f = minimize(objective, np.tile(of.mean, N), given, jac=slope_of, tol=1e-12).x
    for _ in range(5):
        f = f - np.linalg.solve(curvature_of(f, *given), slope_of(f, *given))
    cross = np.kron(k[:, None], np.eye(C))  # (row, class) to class
    prior = np.kron(K, np.eye(C))
    W = np.asarray(curvature_of(f, *given)) - np.kron(inverse, np.eye(C))
    reach = np.linalg.solve(np.eye(N * C) + W @ prior, W @ cross)
    own = float(of.kernel.diagonal(x[None])[0])
    slope = inverse @ (f.reshape(N, C) - of.mean)
    return of.mean + k @ slope, own * np.eye(C) - cross.T @ reach


def spread(covariance):
    """The variances of differences."""
    d = np.diag(covariance)
    return d[:, None] + d[None] - 2 * covariance


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_mode_and_variances_are_those_of_dense_matrices(n_classes):
    weights = RNG.uniform(0.3, 2.0, size=N)
    held, of = rows(n_classes, weights), model(np.linspace(-0.5, 0.7, n_classes))
    mean, variance = latent("laplace", Softmax(n_classes), of, held, QUERIES.X, ALL, n_classes)
    for q, x in enumerate(QUERIES.X):
        exact_mean, covariance = brute_force(of, held, x)
        np.testing.assert_allclose(mean[:, q], of.sharpness * exact_mean, atol=1e-6)
        exact = spread(covariance)[np.triu_indices(n_classes, 1)]
        found = (variance[:, q][:, None] + variance[:, q])[np.triu_indices(n_classes, 1)]
        # independent functions have these differences exactly if there are at most three
        np.testing.assert_allclose(found, exact, rtol=1e-6 if n_classes < 4 else 0.05)
        if n_classes > 3:
            np.testing.assert_allclose(found.mean(), exact.mean(), rtol=1e-7)


def test_two_classes_are_the_logit_with_twice_the_variance():
    held = rows(2)
    signs = held._replace(y=2 * held.y - 1)
    mean, variance = latent("laplace", Softmax(2), model([0.0, 0.0]), held, QUERIES.X, ALL, 2)
    one = latent("laplace", Bernoulli("logit"), model(0.0, 6.0), signs, QUERIES.X, ALL)
    np.testing.assert_allclose(mean[1] - mean[0], one[0][0], atol=1e-6)
    np.testing.assert_allclose(variance[0] + variance[1], one[1][0], atol=1e-6)


def test_classes_that_are_not_there_need_no_slots_of_their_own():
    held = rows(3)
    mean = np.array([0.3, 0.1, -0.2, -0.4, -0.4, -0.4, -0.4])
    every = latent("laplace", Softmax(7), model(mean), held, QUERIES.X, ALL, 7)
    few = latent("laplace", Softmax(7), model(mean), held, QUERIES.X, ALL, 4)
    np.testing.assert_allclose(few[0], every[0], atol=1e-6)
    np.testing.assert_allclose(few[1][:3], every[1][:3], rtol=2e-2)
    np.testing.assert_allclose(few[1][3:], every[1][3:], rtol=0.1)


@pytest.mark.parametrize("n_slots", [5, 3])
def test_the_gradient_is_the_derivative(n_slots):
    held, of = rows(5, RNG.uniform(0.3, 2.0, size=N)), model([0.5, 0.1, -0.2, -0.3, 0.2])
    leaves, structure = jax.tree.flatten(of)

    @jax.jit
    def scored(leaves, queries):
        now = jax.tree.unflatten(structure, leaves)
        return score("laplace", Softmax(5), now, held, queries, ALL, n_slots)

    found = jax.tree.leaves(scored(leaves, QUERIES).gradient)
    for i, leaf in enumerate(leaves):
        for j in range(leaf.size):
            step = np.zeros(leaf.size)
            step[j] = 1e-5
            above, below = (
                scored([*leaves[:i], leaf + by.reshape(leaf.shape), *leaves[i + 1 :]], QUERIES)
                for by in (step, -step)
            )
            difference = float(above.log_prob - below.log_prob) / 2e-5
            assert float(np.ravel(found[i])[j]) == pytest.approx(difference, rel=1e-4, abs=1e-7)


def test_a_neighbour_that_is_not_there_says_nothing():
    held, of = rows(3), model([0.2, 0.0, -0.2])
    padded = np.where(np.arange(N) < 9, ALL, -1)
    plain = latent("laplace", Softmax(3), of, held, QUERIES.X, ALL[:, :9], 3)
    filled = latent("laplace", Softmax(3), of, held, QUERIES.X, padded, 3)
    np.testing.assert_allclose(filled, plain, atol=1e-7)


def test_slots_are_given_to_the_classes_of_the_neighbours():
    near = np.tile([0, 1, 2, 2, 1, 1], (2, 1))
    held = Rows(np.zeros((3, 1)), np.array([4.0, 1.0, 6.0]), np.ones(3))
    _, labels = gathered(held, near)
    found = coupled.slots(labels, 8, 3)
    assert found.sizes.tolist() == [1, 1, 6]
    assert found.of_class[0].tolist() == [2, 0, 2, 2, 2, 2, 1, 2]
    assert coupled.slots_for(np.array([[0, 0, 0], [1, 1, 2]]), 8) == 3
    assert coupled.slots_for(np.array([[0, 1, 2], [3, 4, 5]]), 3) == 3


def test_far_from_all_rows_there_is_the_prior():
    far = QUERIES.X + 1e3
    mean, variance = latent("laplace", Softmax(3), model([0.2, 0.0, -0.2]), rows(3), far, ALL, 3)
    np.testing.assert_allclose(mean, 1.3 * np.array([[0.2], [0.0], [-0.2]]) * np.ones(3))
    np.testing.assert_allclose(variance, 3.0)
