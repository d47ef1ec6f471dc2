"""The bound against the paper's formula in u, and its derivatives against differences."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fewknots.inference import sparse_kl
from fewknots.inference.features import project
from fewknots.inference.sites import Rows, WhitenedGaussian
from fewknots.kernels import RBF
from fewknots.likelihoods import Bernoulli

from ..reference import rbf, sparse_bound

RNG = np.random.default_rng(1)
N, M = 12, 4
X, Z = RNG.normal(size=(N, 2)), RNG.normal(size=(M, 2))
y = np.where(X[:, 0] > 0, 1.0, -1.0)
w = RNG.uniform(0.5, 2.0, size=N)
KERNEL = RBF(0.9, 2.5)
JITTER = 1e-6
m_v, C = RNG.normal(size=M), RNG.normal(size=(M, M))  # whitened mean, factor: S = CᵀC


ROWS = Rows(X, y, w)


@partial(jax.jit, static_argnames="link")
def evaluate(rows, Z, m, C, link="probit"):
    """The bound, its data term, and the data term's derivatives for kernel and Z."""
    kernel = RBF(jnp.full(2, 0.9), jnp.asarray(2.5))
    features, pullback = project(kernel, Z, rows.X, jnp.asarray(JITTER))
    q = WhitenedGaussian(m[None], C[None], 2.0 * jnp.linalg.slogdet(C)[1])
    terms = sparse_kl.look(features, q, Bernoulli(link), rows).terms
    gradient = sparse_kl.model_gradient(pullback, q, terms)
    data_term = jnp.sum(terms.log_prob)
    return data_term - sparse_kl.divergence(q), data_term, gradient


@pytest.mark.parametrize("link", ["probit", "logit"])
def test_bound_equals_the_printed_formula(link, float64):
    Kmm = rbf(Z, Z, 0.9, 2.5) + JITTER * 2.5 * np.eye(M)
    L = np.linalg.cholesky(Kmm)
    want = sparse_bound(
        Kmm, rbf(X, Z, 0.9, 2.5), np.full(N, 2.5), y, L @ m_v, L @ C.T @ C @ L.T, link, w
    )
    np.testing.assert_allclose(evaluate(ROWS, Z, m_v, C, link)[0], want, rtol=1e-8)


def test_derivatives_for_inducing_points_against_differences(float64):
    """At fixed q(v), as `model_gradient` promises, for every coordinate of Z."""
    _, _, (_, dZ) = evaluate(ROWS, Z, m_v, C)
    h = 1e-5
    for i, d in np.ndindex(M, 2):
        step = np.zeros_like(Z)
        step[i, d] = h
        up, down = (float(evaluate(ROWS, Z + s * step, m_v, C)[0]) for s in (1, -1))
        np.testing.assert_allclose(dZ[i, d], (up - down) / (2 * h), rtol=1e-5, atol=1e-6)


def test_sums_over_minibatches_equal_the_full_batch(float64):
    """The data term and its derivatives for kernel and Z are sums over rows (eq. klsparse)."""
    whole = jax.tree.leaves(evaluate(ROWS, Z, m_v, C)[1:])
    parts = [
        jax.tree.leaves(evaluate(jax.tree.map(lambda a, s=s: a[s : s + 4], ROWS), Z, m_v, C)[1:])
        for s in (0, 4, 8)
    ]
    for total, *pieces in zip(whole, *parts, strict=True):
        # not to the last digit: the number of quadrature nodes follows each batch's largest σ
        np.testing.assert_allclose(sum(pieces), total, rtol=1e-8, atol=1e-9)


def test_rows_without_weight_do_not_count(float64):
    masked = ROWS._replace(weights=np.where(np.arange(N) < 4, w, 0.0))
    short = jax.tree.map(lambda a: a[:4], ROWS)
    got, want = (evaluate(rows, Z, m_v, C)[0] for rows in (masked, short))
    np.testing.assert_allclose(got, want, rtol=1e-9)
