"""Every kernel against scikit-learn's, and the algebra of sums and products."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax
from jax.flatten_util import ravel_pytree
from sklearn.gaussian_process import kernels as sk

from fewknots.kernels import (
    RBF,
    Constant,
    Hyperbolic,
    Linear,
    Matern12,
    Matern32,
    Matern52,
    Periodic,
    Polynomial,
    Product,
    RationalQuadratic,
    Sum,
    as_kernel,
)
from fewknots.kernels.stationary import squared_distance
from fewknots.numerics.precision import computing_in

RNG = np.random.default_rng(3)
A, B = RNG.normal(size=(7, 3)), RNG.normal(size=(5, 3))
SCALES = np.array([0.5, 1.0, 2.5])

PAIRS = [
    (RBF(SCALES, 2.0), 2.0 * sk.RBF(SCALES)),
    (Matern12(SCALES, 2.0), 2.0 * sk.Matern(SCALES, nu=0.5)),
    (Matern32(SCALES, 0.3), 0.3 * sk.Matern(SCALES, nu=1.5)),
    (Matern52(SCALES, 2.0), 2.0 * sk.Matern(SCALES, nu=2.5)),
    (RBF(1.3), sk.RBF(1.3)),
    (Linear(2.0), 2.0 * sk.DotProduct(sigma_0=0.0)),
    (Constant(0.7), sk.ConstantKernel(0.7)),
    (Matern32(1.5) + Linear(1.0), sk.Matern(1.5, nu=1.5) + sk.DotProduct(sigma_0=0.0)),
    (RBF(1.5) * Linear(1.0) + 2.0, sk.RBF(1.5) * sk.DotProduct(sigma_0=0.0) + 2.0),
    (RationalQuadratic(0.8, 2.0, alpha=0.6), 2.0 * sk.RationalQuadratic(0.8, alpha=0.6)),
    (Polynomial(1.0, offset=0.49, degree=3), sk.DotProduct(sigma_0=0.7) ** 3),
    (
        RationalQuadratic(2.0, alpha=3.0) * Polynomial(1.0, offset=1.0),
        sk.RationalQuadratic(2.0, alpha=3.0) * sk.DotProduct(sigma_0=1.0) ** 2,
    ),
]
# scikit-learn has no counterpart of these over several inputs, or over some
BRUTE_FORCE = [
    (
        Periodic(period=[1.0, 2.0, 3.0], lengthscale=SCALES, variance=2.0),
        lambda a, b: (
            2.0 * np.exp(-2.0 * np.sum((np.sin(np.pi * (a - b) / [1.0, 2.0, 3.0]) / SCALES) ** 2))
        ),
    ),
    (
        RationalQuadratic(SCALES, 0.7, alpha=1.7),
        lambda a, b: 0.7 * (1.0 + np.sum(((a - b) / SCALES) ** 2) / 3.4) ** -1.7,
    ),
    (
        Hyperbolic(SCALES, 0.7, corner=0.4),
        lambda a, b: 0.7 * np.exp(-1.4 * (np.sqrt(0.16 + np.sum(((a - b) / SCALES) ** 2)) - 0.4)),
    ),
    (
        Polynomial(SCALES, offset=0.5, degree=2),
        lambda a, b: (np.sum(SCALES * a * b) + 0.5) ** 2,
    ),
    (
        RBF([0.5, 2.0], columns=[2, 0]) * Linear(3.0, columns=(1,)) + Periodic(columns=[1]),
        lambda a, b: (
            np.exp(-0.5 * (((a[2] - b[2]) / 0.5) ** 2 + ((a[0] - b[0]) / 2.0) ** 2))
            * 3.0
            * (a[1] * b[1])
            + np.exp(-2.0 * np.sin(np.pi * (a[1] - b[1]) / 2.0) ** 2)
        ),
    ),
    (Matern32(1.5, columns=np.array([1])), lambda a, b: sk.Matern(1.5, nu=1.5)([[a[1]]], [[b[1]]])),
    (
        Polynomial(2.0, offset=1.0, columns=[0]) + 0.5,
        lambda a, b: (2.0 * a[0] * b[0] + 1.0) ** 2 + 0.5,
    ),
]
KERNELS = [pair[0] for pair in PAIRS + BRUTE_FORCE]
ids = [repr(kernel) for kernel in KERNELS]


@jax.jit
def matrix_and_diagonal(kernel, X, Z):
    return kernel(X, Z), kernel.diagonal(X)


@pytest.mark.parametrize(("ours", "theirs"), PAIRS, ids=ids[: len(PAIRS)])
def test_matrix_and_diagonal_equal_scikit_learns(ours, theirs, float64):
    matrix, diagonal = matrix_and_diagonal(ours, A, B)
    np.testing.assert_allclose(matrix, theirs(A, B), rtol=1e-13)
    np.testing.assert_allclose(diagonal, theirs.diag(A), rtol=1e-13)


@pytest.mark.parametrize(("ours", "formula"), BRUTE_FORCE, ids=ids[len(PAIRS) :])
def test_matrix_and_diagonal_equal_the_formula(ours, formula, float64):
    matrix, diagonal = matrix_and_diagonal(ours, A, B)
    want = [[float(np.squeeze(formula(a, b))) for b in B] for a in A]
    np.testing.assert_allclose(matrix, want, rtol=1e-12)
    want = [float(np.squeeze(formula(a, a))) for a in A]
    np.testing.assert_allclose(diagonal, want, rtol=1e-12)


def test_periodic_equals_scikit_learns_along_one_input(float64):
    ours = Periodic(period=0.7, lengthscale=1.3)
    theirs = sk.ExpSineSquared(length_scale=1.3, periodicity=0.7)
    want = theirs(A[:, :1], B[:, :1])
    np.testing.assert_allclose(ours(jnp.asarray(A[:, :1]), jnp.asarray(B[:, :1])), want, rtol=1e-12)
    one_of_three = Periodic(period=0.7, lengthscale=1.3, columns=[0])
    np.testing.assert_allclose(one_of_three(jnp.asarray(A), jnp.asarray(B)), want, rtol=1e-12)
    whole_periods = jnp.asarray(A[:, :1] + 0.7 * np.arange(7)[:, None])
    np.testing.assert_allclose(ours(whole_periods, jnp.asarray(B[:, :1])), want, rtol=1e-12)


@pytest.mark.parametrize(
    ("kernel", "limit"),
    [
        (RationalQuadratic(SCALES, 2.0, alpha=1e9), RBF(SCALES, 2.0)),
        (Hyperbolic(SCALES, 2.0, corner=1e9), RBF(SCALES, 2.0)),
        (Hyperbolic(SCALES, 2.0, corner=1e-9), Matern12(SCALES, 2.0)),
        (Polynomial(SCALES, offset=0.3, degree=1), Linear(SCALES) + 0.3),
        (Polynomial(SCALES, offset=1e-12, degree=1), Linear(SCALES)),
        # a period much longer than the rows spread: sin x = x
        (Periodic(period=1e5, lengthscale=2e-5 * np.pi * SCALES), RBF(SCALES)),
    ],
    ids=repr,
)
def test_limits(kernel, limit, float64):
    (got, _), (want, _) = (matrix_and_diagonal(k, A, B) for k in (kernel, limit))
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-11)


@pytest.mark.parametrize("kernel", KERNELS, ids=ids)
def test_gradients_against_finite_differences(kernel, float64):
    kernel = jax.tree.map(jnp.asarray, kernel.prepared(np.ones(3)))
    G = jnp.asarray(RNG.normal(size=(7, 5)))

    @jax.jit
    def scalar(kernel, X, Z):
        return jnp.sum(G * kernel(X, Z)) + jnp.sum(kernel.diagonal(X))

    arguments = (kernel, jnp.asarray(A), jnp.asarray(B))
    flat, unflatten = ravel_pytree(arguments)
    gradient, _ = ravel_pytree(jax.jit(jax.grad(scalar, (0, 1, 2)))(*arguments))
    h = 1e-6
    for i in range(len(flat)):
        step = jnp.zeros_like(flat).at[i].set(h)
        difference = scalar(*unflatten(flat + step)) - scalar(*unflatten(flat - step))
        np.testing.assert_allclose(gradient[i], difference / (2 * h), rtol=2e-6, atol=2e-8)


@pytest.mark.parametrize("kernel", KERNELS, ids=ids)
def test_gradients_are_finite_at_coincident_points(kernel, float64):
    kernel = jax.tree.map(jnp.asarray, kernel.prepared(np.ones(3)))
    Z = jnp.asarray(np.vstack([A[:3], A[:1]]))

    def total(kernel, Z):
        return jnp.sum(kernel(Z, Z))

    for leaf in jax.tree.leaves(jax.jit(jax.grad(total, (0, 1)))(kernel, Z)):
        assert np.all(np.isfinite(leaf))


@pytest.mark.parametrize("kernel", KERNELS[:4], ids=ids[:4])
def test_rounding_between_equal_points_does_not_reach_the_gradient(kernel, float64):
    """k(z, z) is constant, but in compiled code z/ℓ - z/ℓ may come out as 1e-17 instead of 0."""
    kernel = kernel.prepared(np.ones(3))
    Z = jnp.asarray(A)
    nearly = Z * (1 + 1e-16 * RNG.choice([-1, 0, 1], size=Z.shape))

    def diagonal_sum(kernel, Z):
        return jnp.trace(kernel(Z, lax.stop_gradient(nearly - Z) + Z))

    d_kernel, dZ = jax.jit(jax.grad(diagonal_sum, (0, 1)))(kernel, Z)
    np.testing.assert_allclose(d_kernel.lengthscale, 0.0, atol=1e-12)
    np.testing.assert_allclose(dZ, 0.0, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 1000),
    kernel=st.sampled_from(KERNELS[:4] + KERNELS[5:]),
    scale=st.floats(1e-3, 1e3),
)
def test_matrices_are_symmetric_and_positive(seed, kernel, scale):
    X = np.random.default_rng(seed).normal(size=(6, 3)) * scale
    with computing_in(np.dtype(np.float64)):
        K = np.asarray(matrix_and_diagonal(kernel, X, X)[0])
    np.testing.assert_allclose(K, K.T, rtol=1e-12)
    assert np.min(np.linalg.eigvalsh(K)) > -1e-9 * np.max(np.diagonal(K))


@pytest.mark.parametrize("inputs", [2, 40])
def test_squared_distance_in_both_forms(inputs, float64):
    X, Z = RNG.normal(size=(6, inputs)) + 100.0, RNG.normal(size=(4, inputs)) + 100.0
    scale = RNG.uniform(0.5, 2.0, size=inputs)
    apart = (X[:, None] - Z[None]) / scale
    arguments = jax.tree.map(jnp.asarray, (X, Z, scale))
    found, pullback = jax.vjp(squared_distance, *arguments)
    np.testing.assert_allclose(found, np.sum(apart**2, axis=-1), rtol=1e-11)
    G = jnp.asarray(RNG.normal(size=(6, 4)))
    dX, dZ, d_scale = pullback(G)
    np.testing.assert_allclose(dX, 2 * np.einsum("nm,nmd->nd", G, apart) / scale, atol=1e-10)
    np.testing.assert_allclose(dZ, -2 * np.einsum("nm,nmd->md", G, apart) / scale, atol=1e-10)
    want = -2 * np.einsum("nm,nmd->d", G, apart**2) / scale
    np.testing.assert_allclose(d_scale, want, atol=1e-10)
    # one scale for all: the sum of the derivatives at equal scales
    one = jax.vjp(squared_distance, *arguments[:2], jnp.asarray(0.7))[1](G)[2]
    each = jax.vjp(squared_distance, *arguments[:2], jnp.full(inputs, 0.7))[1](G)[2]
    np.testing.assert_allclose(one, jnp.sum(each), rtol=1e-10)


def test_names_mean_kernels():
    kernel = as_kernel("matern32 + linear * RBF")
    assert isinstance(kernel, Sum)
    assert isinstance(kernel.k1, Matern32)
    assert isinstance(kernel.k2, Product)
    kernel = as_kernel("rational_quadratic + periodic * polynomial")
    assert [type(part) for part in kernel.parts()] == [RationalQuadratic, Periodic, Polynomial]
    with pytest.raises(ValueError, match="unknown kernel 'spline' in 'rbf \\+ spline'"):
        as_kernel("rbf + spline")
    with pytest.raises(TypeError, match="a kernel must be a fewknots kernel"):
        as_kernel(None)
