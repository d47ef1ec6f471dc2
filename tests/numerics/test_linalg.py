import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fewknots.numerics import linalg
from fewknots.numerics.linalg import LADDER_RUNGS, cholesky_pullback

from ..waiting import HANGS

# Compiled whole, as a fit has them.
cholesky_with_ladder = jax.jit(linalg.cholesky_with_ladder)
lower_inverse = jax.jit(linalg.lower_inverse)
precision_factor = jax.jit(linalg.precision_factor)


def spd(n, seed=0):
    A = np.random.default_rng(seed).normal(size=(n, n))
    return A @ A.T + np.eye(n)


def test_a_good_matrix_keeps_the_jitter_it_was_given(float64):
    K = spd(6)
    factor = cholesky_with_ladder(jnp.asarray(K), jnp.asarray(2.0), jnp.asarray(1e-6))
    np.testing.assert_allclose(factor.lower @ factor.lower.T, K + 2e-6 * np.eye(6), rtol=1e-12)
    np.testing.assert_allclose(factor.inverse @ factor.lower, np.eye(6), atol=1e-12)
    assert bool(factor.ok)
    assert float(factor.jitter) == 1e-6


def test_a_bad_matrix_climbs_the_ladder(float64):
    K = jnp.asarray(np.diag([1.0, 1.0, -3e-5]))
    factor = cholesky_with_ladder(K, jnp.asarray(1.0), jnp.asarray(1e-6))
    assert bool(factor.ok)
    np.testing.assert_allclose(float(factor.jitter), 1e-4, rtol=1e-12)


def test_a_hopeless_matrix_says_so(float64):
    K = jnp.asarray(np.diag([1.0, -10.0]))
    factor = cholesky_with_ladder(K, jnp.asarray(1.0), jnp.asarray(1e-6))
    assert not bool(factor.ok)
    np.testing.assert_allclose(float(factor.jitter), 1e-6 * 10.0**LADDER_RUNGS, rtol=1e-12)


def test_precision_factor(float64):
    P = spd(5)
    inverse, log_det = precision_factor(jnp.asarray(P))
    np.testing.assert_allclose(inverse.T @ inverse, np.linalg.inv(P), rtol=1e-10)
    np.testing.assert_allclose(log_det, np.linalg.slogdet(P)[1], rtol=1e-12)


def test_cholesky_pullback_is_autodiff_of_cholesky(float64):
    K = jnp.asarray(spd(5))
    G = jnp.asarray(np.random.default_rng(1).normal(size=(5, 5)))
    L, vjp = jax.vjp(jnp.linalg.cholesky, K)
    (want,) = vjp(G)
    want = 0.5 * (want + want.T)
    got = cholesky_pullback(jnp.linalg.inv(L), L.T @ G)
    np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("size", [1, 5, 128, 129, 200, 300])
def test_inverse_of_a_triangle_by_blocks(size, float64):
    rng = np.random.default_rng(size)
    lower = np.tril(rng.normal(size=(size, size))) / size + np.eye(size)
    inverse = np.asarray(lower_inverse(jnp.asarray(lower)))
    np.testing.assert_allclose(inverse @ lower, np.eye(size), atol=1e-12)
    np.testing.assert_array_equal(np.triu(inverse, 1), 0.0)


TWO_AT_A_TIME = """
import threading
import jax, jax.numpy as jnp
from fewknots.numerics.linalg import lower_inverse
lower = jnp.eye(500) + jnp.tril(jnp.ones((500, 500))) / 500
def many(start):
    step = lambda i, total: total + lower_inverse(lower + 0.0 * total)[1, 0]
    program = jax.jit(lambda start: jax.lax.fori_loop(0, 20, step, start))
    for _ in range(50):
        program(start).block_until_ready()
threads = [threading.Thread(target=many, args=(float(i),)) for i in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("done")
"""


@pytest.mark.slow
def test_two_threads_do_not_wait_for_each_other_forever():
    """On two cores a batch of triangular solves in each of two programs does."""
    process = subprocess.run(
        [sys.executable, "-c", TWO_AT_A_TIME], capture_output=True, text=True, timeout=HANGS
    )
    assert process.stdout == "done\n", process.stderr
