"""The compiled steps against closed forms, brute force and derivatives."""

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest

from fewknots.inference.features import project
from fewknots.inference.sites import Rows, WhitenedGaussian
from fewknots.inference.sparse_kl import look
from fewknots.kernels import RBF, Warp
from fewknots.likelihoods import Bernoulli
from fewknots.training import steps
from fewknots.training.parameters import Learned, Model, decode, encode
from fewknots.training.steps import Naturals, Rates, Triangle

RNG = np.random.default_rng(4)
N, M = 40, 5
X = RNG.normal(size=(N, 2))
ROWS = Rows(X, np.where(X[:, 0] + 0.3 * RNG.normal(size=N) > 0, 1.0, -1.0), np.ones(N))
KERNEL = RBF(np.array([0.8, 1.2]), np.asarray(1.5))
MODEL = Model(KERNEL, X[:M].copy(), Bernoulli("probit"))
WARPED = MODEL._replace(kernel=Warp(KERNEL, np.array([0.5, 1.2]), np.array([0.2, 0.7])))
JITTER = 1e-6


def random_naturals():
    root = RNG.normal(size=(M, 2 * M))
    precision = np.eye(M) + root @ root.T
    return Naturals(precision[None], (precision @ RNG.normal(size=M))[None])


def one_step(optimizer, q, base, chosen, natural=1.0, gradient=0.0, dtype=np.float64, model=MODEL):
    cast = lambda tree: jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype), tree)  # noqa: E731
    free, frozen = encode(cast(model), Learned(True, True, False))
    state = steps.start_state(optimizer, free, q, np.dtype(dtype))
    rates = cast(Rates(np.full(1, natural), np.full(1, gradient)))
    return steps.run_chunk(
        optimizer,
        jax.tree.map(jnp.asarray, state),
        frozen,
        jax.tree.map(jnp.asarray, base),
        cast(ROWS),
        jnp.asarray(chosen)[None],
        rates,
        1,
        float(N),
        JITTER,
    )


def bound(model, mean, factor, base):
    """Eq. (klsparse) with q measured against `base`, by autodiff-able plain formulas."""
    features, _ = project(model.kernel, model.Z, jnp.asarray(ROWS.X), JITTER)
    q = WhitenedGaussian(mean, factor, 2.0 * jnp.sum(jnp.linalg.slogdet(factor)[1]))
    terms = look(features, q, model.likelihood, jax.tree.map(jnp.asarray, ROWS)).terms
    return jnp.sum(terms.log_prob) - steps.divergence(q, base)


def test_a_whole_step_lands_on_the_sum_over_rows(float64):
    """Rate 1 and a batch of all rows: (step) without the average."""
    q, base = random_naturals(), steps.prior_base(M, np.dtype(np.float64))
    new, value, finite = one_step("natural_gradient", q, base, np.arange(N))
    features, _ = project(MODEL.kernel, MODEL.Z, jnp.asarray(X), JITTER)
    S = np.linalg.inv(q.precision[0])
    factor = np.linalg.cholesky(S).T[None]
    m = (S @ q.linear[0])[None]
    belief = look(
        features,
        WhitenedGaussian(m, factor, jnp.linalg.slogdet(S)[1]),
        MODEL.likelihood,
        jax.tree.map(jnp.asarray, ROWS),
    )
    A, b = np.asarray(features.explained), np.asarray(belief.terms.curvature[0])
    np.testing.assert_allclose(new.q.precision[0], np.eye(M) + A.T @ (b[:, None] * A), rtol=1e-9)
    linear = A.T @ (np.asarray(belief.terms.slope[0]) + b * np.asarray(belief.mean[0]))
    np.testing.assert_allclose(new.q.linear[0], linear, rtol=1e-9)
    np.testing.assert_allclose(value, bound(MODEL, m, factor, base), rtol=1e-9)
    assert finite


def test_minibatches_are_unbiased(float64):
    """The average over a pass of where batches lead is where all rows together lead."""
    q, base = random_naturals(), steps.prior_base(M, np.dtype(np.float64))
    order = RNG.permutation(N).reshape(4, 10)
    parts = [one_step("natural_gradient", q, base, batch)[0].q for batch in order]
    whole = one_step("natural_gradient", q, base, np.arange(N))[0].q
    for name in ("precision", "linear"):
        mean = np.mean([np.asarray(getattr(part, name)) for part in parts], axis=0)
        np.testing.assert_allclose(mean, getattr(whole, name), rtol=1e-7)


def test_the_divergence_is_that_between_two_gaussians(float64):
    p, q = random_naturals(), random_naturals()
    precision = p.precision[0]
    S, S0 = np.linalg.inv(q.precision[0]), np.linalg.inv(precision)
    m, m0 = S @ q.linear[0], S0 @ p.linear[0]
    want = 0.5 * (
        np.trace(precision @ S)
        + (m - m0) @ precision @ (m - m0)
        - M
        + np.linalg.slogdet(S0)[1]
        - np.linalg.slogdet(S)[1]
    )
    gaussian = steps.gaussian(jax.tree.map(jnp.asarray, q), np.float64)
    found = steps.divergence(gaussian, jax.tree.map(jnp.asarray, steps.base_of(p)))
    np.testing.assert_allclose(found, want, rtol=1e-10)


@pytest.mark.parametrize(
    ("start", "model"), [("prior", MODEL), ("earlier posterior", MODEL), ("prior", WARPED)]
)
def test_gradient_steps_follow_the_gradient(start, model, float64):
    """What Adam's first moment holds after one step, against differences of the bound."""
    q = random_naturals()
    base = steps.prior_base(M, np.dtype(np.float64))
    if start != "prior":
        base = steps.base_of(random_naturals())
    new, _, _ = one_step("adam", q, base, np.arange(N), model=model)
    found = jax.tree.map(lambda moment: moment / 0.1, new.moments[0].mu)
    free, frozen = encode(model, Learned(True, True, False))
    at = (free, steps.start_state("adam", free, q, np.dtype(np.float64)).q)

    @jax.jit
    def value(at):
        free, triangle = at
        return bound(decode(free, frozen), triangle.mean, triangle.lower.mT, base)

    flat, unflatten = jax.flatten_util.ravel_pytree(at)
    slopes = jax.flatten_util.ravel_pytree(found)[0]
    of_model = len(flat) - M - M**2
    triangle = np.tril(np.ones((M, M))).ravel()
    moves = np.concatenate([np.ones(of_model + M), triangle])
    for i in np.flatnonzero(moves):
        step = 1e-5 * np.eye(len(flat))[i]
        want = (value(unflatten(flat + step)) - value(unflatten(flat - step))) / 2e-5
        np.testing.assert_allclose(slopes[i], want, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(slopes[moves == 0], 0.0)


def test_a_wide_precision_keeps_small_directions(float64):
    """Λ of 1e9 rows in float64 beside float32 data: its directions of size 1 survive."""
    q = Naturals(np.diag([1e9, 1e9, 1.0, 1.0, 1.0])[None], np.zeros((1, M)))
    base = steps.prior_base(M, np.dtype(np.float64))
    new, _, finite = one_step(
        "natural_gradient", q, base, np.arange(N), natural=1e-6, dtype=np.float32
    )
    assert finite
    assert new.q.precision.dtype == jnp.float64
    assert jax.tree.leaves(new.free)[0].dtype == jnp.float32
    np.testing.assert_allclose(np.linalg.eigvalsh(new.q.precision[0])[:3], 1.0, rtol=1e-3)
    assert steps.precision_dtype(1e9, np.dtype(np.float32)) == np.float64
    assert steps.precision_dtype(1e5, np.dtype(np.float32)) == np.float32


def test_q_by_its_triangle_is_the_same_q(float64):
    q = random_naturals()
    free, _ = encode(MODEL, Learned(True, True, False))
    triangle = steps.start_state("adam", free, q, np.dtype(np.float64)).q
    assert isinstance(triangle, Triangle)
    one, other = (
        steps.gaussian(jax.tree.map(jnp.asarray, held), np.float64) for held in (q, triangle)
    )
    np.testing.assert_allclose(one.mean, other.mean, rtol=1e-9)
    S, again = (held.factor.mT @ held.factor for held in (one, other))
    np.testing.assert_allclose(S, again, rtol=1e-9)
    np.testing.assert_allclose(one.log_det, other.log_det, rtol=1e-10)
