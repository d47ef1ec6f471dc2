"""A kernel for each class: against the shared kernel, finite differences and permuted classes."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fewknots.inference.full_kl import FullKL
from fewknots.inference.method import Budget
from fewknots.inference.sites import Rows
from fewknots.inference.sparse_kl import SparseKL
from fewknots.kernels import RBF, Constant, Matern32, as_kernels
from fewknots.likelihoods import Softmax

pytestmark = pytest.mark.usefixtures("float64")

RNG = np.random.default_rng(4)
N, M, C = 24, 5, 3
X = RNG.normal(size=(N, 2))
Z = RNG.normal(size=(M, 2))
Y = np.argmax(X @ RNG.normal(size=(2, C)) + 0.5 * RNG.normal(size=(N, C)), axis=1) * 1.0
WEIGHTS = RNG.uniform(0.3, 2.0, size=N)
ONE = RBF(np.array([1.5, 1.8]), np.array(0.5))
KERNELS = [
    RBF(np.array([1.5, 1.8]), np.array(0.5)),
    Matern32(np.array([0.9, 2.5]), np.array(2.0)),
    RBF(np.array([0.7, 0.6]), np.array(1.0)) + Constant(np.array(0.3)),
]
METHODS = pytest.mark.parametrize("method", [SparseKL(), FullKL()], ids=repr)


@partial(jax.jit, static_argnums=0)
def evaluated(method, kernel, points, y):
    rows = Rows(jnp.asarray(X), y, jnp.asarray(WEIGHTS))
    budget = Budget(jnp.asarray(0.0), 500)
    points = points if method.sparse else None
    start, jitter = method.start(rows, C), jnp.asarray(1e-8)
    return method.evaluate(kernel, points, Softmax(C), rows, start, jitter, budget)


def marginals(method, kernel, found):
    held = jax.tree.map(np.asarray, found.held)
    posterior = method.posterior(kernel, Z if method.sparse else None, Rows(X, Y, WEIGHTS), held)
    return posterior.marginals(np.random.default_rng(0).normal(size=(7, 2)))


@METHODS
def test_equal_kernels_are_the_shared_one(method):
    shared, each = ONE, as_kernels([ONE] * C)
    one, other = evaluated(method, shared, Z, Y), evaluated(method, each, Z, Y)
    assert float(other.evidence) == pytest.approx(float(one.evidence), abs=1e-10)
    own = (other.d_kernel.k1.k1, other.d_kernel.k1.k2, other.d_kernel.k2)
    total = jax.tree.map(lambda *parts: sum(parts), *own)
    for found, want in zip(jax.tree.leaves(total), jax.tree.leaves(one.d_kernel), strict=True):
        np.testing.assert_allclose(found, want, atol=1e-6)
    if method.sparse:
        np.testing.assert_allclose(other.d_points, one.d_points, atol=1e-6)
    wanted = marginals(method, shared, one)
    for found, want in zip(marginals(method, each, other), wanted, strict=True):
        np.testing.assert_allclose(found, want, atol=1e-6)


@METHODS
def test_derivatives_against_differences(method):
    kernel = as_kernels(KERNELS)
    leaves, structure = jax.tree.flatten(kernel)
    found = evaluated(method, kernel, Z, Y)
    step = 1e-5

    def evidence(i, place, change, points=Z):
        moved = [np.array(leaf) for leaf in leaves]
        moved[i][place] += change
        return float(evaluated(method, jax.tree.unflatten(structure, moved), points, Y).evidence)

    for i, slope in enumerate(jax.tree.leaves(found.d_kernel)):
        place = (0,) if np.ndim(leaves[i]) else ()
        difference = (evidence(i, place, step) - evidence(i, place, -step)) / (2.0 * step)
        assert float(slope[place]) == pytest.approx(difference, rel=1e-4, abs=1e-5)
    if method.sparse:
        shift = step * np.eye(M, 2)
        difference = (evidence(0, (0,), 0.0, Z + shift) - evidence(0, (0,), 0.0, Z - shift)) / (
            2.0 * step
        )
        assert np.vdot(found.d_points, shift) / step == pytest.approx(difference, rel=1e-4)


@METHODS
def test_permuted_classes_permute_answers(method):
    order = [2, 0, 1]  # class c is called order.index(c) now
    codes = np.array([order.index(int(c)) for c in Y]) * 1.0
    kernels = as_kernels(KERNELS), as_kernels([KERNELS[c] for c in order])
    one, other = evaluated(method, kernels[0], Z, Y), evaluated(method, kernels[1], Z, codes)
    assert float(other.evidence) == pytest.approx(float(one.evidence), abs=1e-8)
    wanted = marginals(method, kernels[0], one)
    for found, want in zip(marginals(method, kernels[1], other), wanted, strict=True):
        np.testing.assert_allclose(found, want[order], atol=1e-5)
