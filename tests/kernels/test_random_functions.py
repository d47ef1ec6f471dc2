"""Random functions of kernels have the kernel as their covariance."""

import jax.numpy as jnp
import numpy as np
import pytest

from fewknots.kernels import (
    RBF,
    Constant,
    Hyperbolic,
    Kernel,
    Linear,
    Matern12,
    Matern32,
    Matern52,
    PerClass,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Warp,
)

X = np.random.default_rng(3).normal(size=(6, 3))
SCALES = [0.5, 1.0, 2.5]
KERNELS = [
    RBF(SCALES, 2.0),
    Matern12(1.3),
    Matern32(SCALES, 0.3, columns=[2, 0, 1]),
    Matern52(0.7, columns=[1]),
    RationalQuadratic(SCALES, 2.0, alpha=0.6),
    Hyperbolic(SCALES, 2.0, corner=0.7),
    Periodic(period=[1.0, 2.0, 3.0], lengthscale=SCALES, variance=2.0),
    Linear([0.5, 2.0], columns=[0, 2]),
    Constant(0.7),
    Polynomial(0.5, offset=0.5, degree=3),
    RBF(1.5) * Linear(1.0) + 2.0,
    (Matern32(1.0) + 1.0) * Periodic(2.0, 0.8, columns=[0]) * RBF(2.0),
    Warp(RBF(1.0) + Linear(1.0), 0.5, 2.0, columns=[0, 2]),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_their_covariance_is_the_kernel(kernel, float64):
    kernel = kernel.prepared(np.ones(3))
    numbers = kernel.randomness(np.random.RandomState(0), 3, 40_000)
    phi = np.asarray(kernel.random_functions(jnp.asarray(X), numbers))
    products = phi[:, None] * phi[None]
    error = products.std(axis=2) / 200.0
    assert np.all(np.abs(phi.mean(axis=1)) < 5.0 * phi.std(axis=1) / 200.0)
    covariance = np.asarray(kernel(jnp.asarray(X), jnp.asarray(X)))
    assert np.all(np.abs(products.mean(axis=2) - covariance) < 5.0 * error)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_a_polynomial_is_one_with_normal_coefficients(float64, degree):
    """Its draws are polynomials: the next difference along any line is zero."""
    kernel = Polynomial(0.5, offset=0.5, degree=degree).prepared(np.ones(2))
    assert kernel.n_functions(2, 100) == 1
    numbers = kernel.randomness(np.random.RandomState(0), 2, 3)
    line = jnp.linspace(-1.0, 1.0, 9)[:, None] * jnp.array([1.0, -2.0]) + 0.3
    values = np.asarray(kernel.random_functions(line, numbers))
    assert np.abs(np.diff(values, degree, axis=0)).max() > 1e-3
    np.testing.assert_allclose(np.diff(values, degree + 1, axis=0), 0.0, atol=1e-12)


def test_a_polynomial_of_many_inputs_has_no_tensor(float64):
    kernel = Polynomial(1e-2, offset=0.5, degree=3).prepared(np.ones(120))
    assert kernel.n_functions(120, 100) == 100
    rows = np.random.default_rng(0).normal(size=(3, 120))
    numbers = kernel.randomness(np.random.RandomState(0), 120, 20_000)
    phi = np.asarray(kernel.random_functions(jnp.asarray(rows), numbers))
    products = phi[:, None] * phi[None]
    covariance = np.asarray(kernel(jnp.asarray(rows), jnp.asarray(rows)))
    assert np.all(np.abs(products.mean(2) - covariance) < 5.0 * products.std(2) / 20_000**0.5)


def test_the_kernel_of_each_latent_function(float64):
    common, one, two = RBF(1.3), Linear(1.0), Matern32(0.7)
    stacked = Warp(common * PerClass(PerClass(one, two), common), 0.5, 0.8).prepared(np.ones(3))
    rows = jnp.asarray(X)
    stack = stacked(rows, rows)
    for number in range(3):
        np.testing.assert_allclose(stacked.of_latent(number)(rows, rows), stack[number], rtol=1e-12)
    assert stacked.kernel.k1.of_latent(2) is stacked.kernel.k1


def test_a_kernel_without_them_is_named():
    class Lonely(Kernel):
        def diagonal(self, A):
            return jnp.ones(len(A))

    message = "cannot draw functions with the kernel Lonely: the class has no method `randomness`"
    with pytest.raises(TypeError, match=message):
        (RBF() + Lonely()).randomness(np.random.RandomState(0), 2, 5)
