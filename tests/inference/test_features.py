"""The projection on inducing points, and its pullback against autodiff of the plain formula."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fewknots.inference.features import FeatureCotangents, project
from fewknots.kernels import RBF, Linear, Matern32

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(9, 2)), RNG.normal(size=(4, 2))
KERNELS = [RBF(0.8, 2.0), Matern32(1.2) + Linear(0.7)]


def plain(kernel, Z, jitter):
    Kmm = kernel(Z, Z)
    Kmm = Kmm + jitter * jnp.mean(jnp.diagonal(Kmm)) * jnp.eye(len(Z))
    A = jax.scipy.linalg.solve_triangular(jnp.linalg.cholesky(Kmm), kernel(Z, X), lower=True).T
    return A, kernel.diagonal(jnp.asarray(X)) - jnp.sum(A**2, axis=1)


@jax.jit
def ours(kernel, Z, jitter, dA, dk):
    features, pullback = project(kernel, Z, jnp.asarray(X), jitter)
    return features.explained, features.unexplained, pullback(FeatureCotangents(dA, dk))


@jax.jit
def autodiff(kernel, Z, jitter, dA, dk):
    (A, residual), pullback = jax.vjp(lambda k, z: plain(k, z, jitter), kernel, Z)
    return A, residual, pullback((dA, dk))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("jitter", [1e-6, 1e-2])
def test_features_and_pullback(kernel, jitter, float64):
    kernel = kernel.prepared(np.ones(2))
    dA, dk = RNG.normal(size=(9, 4)), RNG.normal(size=9)
    got = jax.tree.leaves(ours(kernel, Z, jitter, dA, dk))
    want = jax.tree.leaves(autodiff(kernel, Z, jitter, dA, dk))
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-9)


def test_at_an_inducing_point_nothing_is_left_unexplained(float64):
    kernel = RBF(1.0, 3.0).prepared(np.ones(2))
    features, _ = project(kernel, jnp.asarray(X), jnp.asarray(X), jnp.asarray(1e-10))
    assert np.all(np.asarray(features.unexplained) >= 0)
    np.testing.assert_allclose(features.unexplained, 0.0, atol=1e-8)
