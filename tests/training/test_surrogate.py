"""The corrected sample: the bound to first order where the round was, and its formulas."""

import jax
import numpy as np
import pytest

from fewknots.inference.sites import Rows
from fewknots.kernels import RBF
from fewknots.likelihoods import Bernoulli
from fewknots.numerics.precision import computing_in
from fewknots.optimize.lbfgsb import flatten, unflattener
from fewknots.training.held_rows import Point
from fewknots.training.parameters import Learned, Model, decode, encode
from fewknots.training.steps import Naturals, prior_base
from fewknots.training.summation import MemorySums, point_at, seen_at, weigh
from fewknots.training.surrogate import (
    CurvatureCorrections,
    FunctionValues,
    Iterate,
    Sample,
    Surrogate,
    Visited,
    carried,
)

WIDE = np.dtype(np.float64)
RNG = np.random.default_rng(5)
N, n, M, D = 300, 60, 5, 2
X = RNG.normal(size=(N, D))
ROWS = Rows(X, np.where(X[:, 0] + 0.5 * RNG.normal(size=N) > 0, 1.0, -1.0), np.ones(N))
MODEL = Model(RBF(np.array([0.8, 1.2]), np.asarray(1.5)), X[:M].copy(), Bernoulli("probit"))
JITTER = 1e-6


@pytest.fixture(autouse=True)
def in_float64():
    with computing_in(WIDE):
        yield


def random_q(size=M):
    root = np.eye(size) + 0.3 * RNG.normal(size=(size, size))
    return Naturals((root @ root.T + 3.0 * np.eye(size))[None], RNG.normal(size=(1, size)))


FREE, FROZEN = encode(MODEL, Learned(True, True, False))
BASE = prior_base(M, WIDE)
HERE = Iterate(FREE, random_q())


def of_all(place):
    """The bound, by a look at all rows."""
    model, q = point_at(place.free, FROZEN, place.q)
    found = MemorySums(ROWS, WIDE)(jax.tree.map(np.asarray, Point(model, q, JITTER)))
    weighed = weigh(place.free, FROZEN, BASE, place.q, found, JITTER)
    return Visited(place, found, jax.tree.map(np.asarray, weighed))


def surrogate(rows):
    sums = MemorySums(rows, WIDE)
    sample = Sample(sums, N / len(rows.y), BASE, FROZEN, None, 1.0, looks=10)
    here = of_all(HERE)
    return Surrogate(sample, here, CurvatureCorrections.none(len(flatten(FREE))), JITTER), here


def elsewhere():
    x = flatten(FREE)
    return Iterate(unflattener(FREE)(x + 0.2 * RNG.normal(size=len(x))), random_q())


def total(made, place):
    now = made._look(*place)
    moved = flatten(place.free) - made.origin
    return now.value + made.slope @ moved + made.constant, now.gradient + made.slope, now.seen


def test_it_agrees_with_the_bound_where_the_round_was():
    made, here = surrogate(Rows(*(column[:n] for column in ROWS)))
    value, gradient, seen = total(made, HERE)
    assert value == pytest.approx(float(here.weighed.bound), rel=1e-12)
    np.testing.assert_allclose(gradient, flatten(here.weighed.gradient), atol=1e-9)
    true = seen_at(HERE.q, here.weighed)  # the natural gradient for q
    np.testing.assert_allclose(seen.target_precision, true.target_precision, atol=1e-7)
    np.testing.assert_allclose(seen.target_linear, true.target_linear, atol=1e-7)


def test_a_sample_of_all_rows_is_the_bound_everywhere():
    made, _ = surrogate(ROWS)
    place = elsewhere()
    value, gradient, _ = total(made, place)
    there = of_all(place).weighed
    assert value == pytest.approx(float(there.bound), rel=1e-10)
    np.testing.assert_allclose(gradient, flatten(there.gradient), rtol=1e-7, atol=1e-7)


def test_its_gradient_is_that_of_its_value():
    made, _ = surrogate(Rows(*(column[:n] for column in ROWS)))
    place = elsewhere()
    x, to_free = flatten(place.free), unflattener(FREE)
    _, gradient, _ = total(made, place)
    for i in RNG.choice(len(x), 6, replace=False):
        step = np.zeros(len(x))
        step[i] = 1e-5
        up, down = (total(made, Iterate(to_free(x + s), place.q))[0] for s in (step, -step))
        assert gradient[i] == pytest.approx((up - down) / 2e-5, rel=1e-5, abs=1e-5)


def test_the_term_for_function_values_is_the_expectation_it_stands_for():
    """T = E[h̃ᵀf - ½ fᵀH̃f] over f = f(Z_k), by its mean and covariance written out."""
    H = RNG.normal(size=(M, M))
    H, h = H + H.T, RNG.normal(size=M)
    values = FunctionValues(X[10 : 10 + M], np.asarray(1e-6), H[None], h[None])
    place = elsewhere()
    along = carried(values, place.free, FROZEN, BASE, place.q, JITTER)
    kernel, Z, _ = decode(place.free, FROZEN)
    Z, points = np.asarray(Z), values.points
    K = np.asarray(kernel(Z, Z))
    L = np.linalg.cholesky(K + JITTER * K[0, 0] * np.eye(M))
    A = np.linalg.solve(L, (np.asarray(kernel(points, Z)) + 1e-6 * np.eye(M)).T).T
    S = np.linalg.inv(place.q.precision[0])
    m = S @ place.q.linear[0]
    mean, covariance = A @ m, np.asarray(kernel(points, points)) + A @ (S - np.eye(M)) @ A.T
    expected = h @ mean
    expected -= 0.5 * (np.trace(H @ covariance) + mean @ H @ mean)
    changed, prior = along.base.naturals, BASE.naturals
    information = changed.precision[0] - prior.precision[0]
    linear = changed.linear[0] - prior.linear[0]
    found = linear @ m - 0.5 * np.sum(information * (S + np.outer(m, m))) + float(along.value)
    assert found == pytest.approx(expected, rel=1e-5)


def test_bends_make_up_for_what_the_gradient_lacked():
    """On a quadratic, D - s = ½ θᵀCθ: as many steps as dimensions, and C is known."""
    C = RNG.normal(size=(4, 4))
    C = C + C.T
    bends, place = CurvatureCorrections.none(4), np.zeros(4)
    for _ in range(4):
        step = RNG.normal(size=4)
        error = C @ step - bends.at(step)[1]
        bends, place = bends.learned(error, step), place + step
    moved = RNG.normal(size=4)
    value, gradient = bends.at(moved)
    np.testing.assert_allclose(gradient, C @ moved, rtol=1e-6, atol=1e-6)
    assert value == pytest.approx(0.5 * moved @ C @ moved, rel=1e-6)
