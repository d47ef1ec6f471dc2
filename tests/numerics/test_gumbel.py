"""Expectations of the softmax against adaptive quadrature, brute force and limiting cases."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, log_softmax, softmax

from fewknots.numerics import gumbel
from fewknots.numerics.precision import computing_in

# Compiled whole, as a fit has them: one step after the other they are some fifty small programs.
log_softmax_mean = jax.jit(gumbel.log_softmax_mean)
softmax_moments = jax.jit(gumbel.softmax_moments)
tilted_softmax = jax.jit(gumbel.tilted_softmax)

# (means, variances): from none to 1000, alone and mixed, and means up to ±50
TWO = [
    ([0.0, 0.0], [0.0, 0.0]),
    ([0.3, -0.2], [0.1, 0.4]),
    ([1.0, -2.0], [1.0, 1.0]),
    ([0.5, 3.0], [1.5, 0.9]),
    ([4.0, -4.0], [6.0, 2.5]),
    ([50.0, -50.0], [0.0, 0.0]),
    ([50.0, -50.0], [1000.0, 0.0]),
    ([-50.0, 50.0], [0.01, 1000.0]),
    ([20.0, 10.0], [1000.0, 1000.0]),
    ([-3.0, 2.0], [100.0, 30.0]),
]


def columns(cases, dtype=np.float64):
    means, variances = zip(*cases, strict=True)
    return jnp.asarray(np.array(means).T, dtype), jnp.asarray(np.array(variances).T, dtype)


def by_adaptive_quadrature(mean, variance):
    """Of two classes: everything is an expectation over the difference d = f₀ - f₁ alone."""
    centre, sd = mean[0] - mean[1], math.sqrt(sum(variance))

    def expect(g):
        if sd == 0.0:
            return g(centre)
        ends = [centre - 12.0 * sd, centre + 12.0 * sd]
        bends = [x for x in (-40, -5.0, 0.0, 5.0, 40) if ends[0] < x < ends[1]]

        def integrand(d):
            return g(d) * math.exp(-0.5 * ((d - centre) / sd) ** 2) / (sd * math.sqrt(2 * math.pi))

        return quad(integrand, *ends, points=bends or None, epsabs=1e-12, epsrel=1e-12, limit=400)[
            0
        ]

    log_sum = mean[1] + expect(lambda d: np.logaddexp(0.0, d))
    return log_sum, expect(expit), expect(lambda d: expit(d) * expit(-d))


def test_two_classes_are_right_to_1e_8(float64):
    found = softmax_moments(*columns(TWO))
    for n, (mean, variance) in enumerate(TWO):
        log_sum, first, spread = by_adaptive_quadrature(mean, variance)
        assert found.log_sum[n] == pytest.approx(log_sum, abs=1e-8)
        assert found.mean[0, n] == pytest.approx(first, abs=1e-8)
        assert found.mean[1, n] == pytest.approx(1.0 - first, abs=1e-8)
        np.testing.assert_allclose(found.spread[:, n], spread, atol=1e-8)


def test_two_classes_in_float32():
    with computing_in(np.dtype(np.float32)):
        found = softmax_moments(*columns(TWO, np.float32))
    for n, (mean, variance) in enumerate(TWO):
        log_sum, first, spread = by_adaptive_quadrature(mean, variance)
        assert found.log_sum[n] == pytest.approx(log_sum, abs=1e-4)
        assert found.mean[0, n] == pytest.approx(first, abs=2e-5)
        np.testing.assert_allclose(found.spread[:, n], spread, atol=5e-5)


def test_four_classes_against_a_grid_of_all_four(float64):
    """Variances small enough for a product of four Gauss-Hermite rules."""
    rng = np.random.default_rng(0)
    mean, variance = rng.normal(size=(4, 3)), rng.uniform(0.0, 0.5, size=(4, 3))
    nodes, weights = np.polynomial.hermite_e.hermegauss(18)
    weights = weights / weights.sum()
    grid = np.stack(np.meshgrid(*[nodes] * 4, indexing="ij")).reshape(4, -1)
    weight = np.prod(np.meshgrid(*[weights] * 4, indexing="ij"), axis=0).ravel()
    found = softmax_moments(jnp.asarray(mean), jnp.asarray(variance))
    log_mean = log_softmax_mean(jnp.asarray(mean), jnp.asarray(variance))
    for n in range(3):
        f = mean[:, n, None] + np.sqrt(variance[:, n, None]) * grid
        p = softmax(f, axis=0)
        log_sum = f[0] - log_softmax(f, axis=0)[0]
        assert found.log_sum[n] == pytest.approx(log_sum @ weight, abs=1e-8)
        np.testing.assert_allclose(found.mean[:, n], p @ weight, atol=1e-8)
        np.testing.assert_allclose(found.spread[:, n], (p * (1.0 - p)) @ weight, atol=1e-8)
        np.testing.assert_allclose(log_mean[:, n], np.log(p @ weight), atol=1e-8)


def test_without_variance_it_is_the_softmax_itself(float64):
    mean = np.random.default_rng(1).normal(size=(7, 5)) * 20.0
    found = softmax_moments(jnp.asarray(mean), jnp.zeros((7, 5)))
    np.testing.assert_allclose(found.mean, softmax(mean, axis=0), atol=1e-8)
    log_mean = log_softmax_mean(jnp.asarray(mean), jnp.zeros((7, 5)))
    np.testing.assert_allclose(log_mean, log_softmax(mean, axis=0), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("n_classes", [2, 3, 10, 100])
@pytest.mark.parametrize("variance", [0.0, 0.5, 3.0, 300.0])
def test_equal_classes_are_equally_likely(float64, n_classes, variance):
    log_mean = log_softmax_mean(jnp.zeros((n_classes, 1)), jnp.full((n_classes, 1), variance))
    np.testing.assert_allclose(log_mean, -math.log(n_classes), atol=1e-9)


def test_a_probability_of_e_to_the_minus_hundred_has_all_its_digits(float64):
    """E[softmax₀] = E[e^f₀] / Σ e^f, as e^f₀ is so small and only f₀ varies."""
    mean, variance = jnp.asarray([[-50.0], [50.0], [49.0]]), jnp.asarray([[4.0], [0.0], [0.0]])
    expected = -50.0 + 2.0 - np.logaddexp(50.0, 49.0)
    assert log_softmax_mean(mean, variance)[0, 0] == pytest.approx(expected, abs=1e-9)


def test_slopes_are_derivatives(float64):
    """α, β and the change of β of softmax_moments, and the derivatives of log E[softmax_y]."""
    rng = np.random.default_rng(2)
    mean, variance = 2.0 * rng.normal(size=(3, 6)), rng.exponential(size=(3, 6)) * 2.0
    member = np.arange(3)[:, None] == np.arange(6) % 3
    at = softmax_moments(jnp.asarray(mean), jnp.asarray(variance))
    tilted = tilted_softmax(jnp.asarray(member), jnp.asarray(mean), jnp.asarray(variance))
    own = np.argmax(member, axis=0), np.arange(6)
    log_p = log_softmax_mean(jnp.asarray(mean), jnp.asarray(variance))
    np.testing.assert_allclose(tilted.log_prob, log_p[own], atol=1e-8)
    step = 1e-3
    for c in range(3):
        move = np.zeros((3, 1))
        move[c] = step
        up, down = (
            softmax_moments(jnp.asarray(mean + m), jnp.asarray(variance)) for m in (move, -move)
        )
        np.testing.assert_allclose(at.mean[c], (up.log_sum - down.log_sum) / (2 * step), atol=1e-6)
        np.testing.assert_allclose(
            at.spread[c], (up.mean[c] - down.mean[c]) / (2 * step), atol=1e-6
        )
        np.testing.assert_allclose(
            tilted.slope[c],
            (np.asarray(up.mean)[own] - np.asarray(down.mean)[own])
            / (2 * step * np.exp(log_p[own])),
            atol=1e-5,
        )
        above, below = (
            tilted_softmax(jnp.asarray(member), jnp.asarray(mean + m), jnp.asarray(variance)).slope[
                c
            ]
            for m in (move, -move)
        )
        np.testing.assert_allclose(tilted.second[c], (above - below) / (2 * step), atol=1e-5)
        wider, narrower = (
            softmax_moments(jnp.asarray(mean), jnp.asarray(variance + v)).spread[c]
            for v in (move * variance, -move * variance)
        )
        np.testing.assert_allclose(
            at.spread_change[c], (wider - narrower) / (2 * step * variance[c]), atol=1e-5
        )


def test_many_rows_are_computed_in_parts(float64):
    """More rows than are taken at once: each is as it is alone."""
    rng = np.random.default_rng(3)
    mean, variance = rng.normal(size=(3, 300)) * 3.0, rng.exponential(size=(3, 300)) * 3.0
    together = softmax_moments(jnp.asarray(mean), jnp.asarray(variance))
    for n in (0, 127, 128, 299):
        alone = softmax_moments(jnp.asarray(mean[:, [n]]), jnp.asarray(variance[:, [n]]))
        for one, part in zip(together, alone, strict=True):
            np.testing.assert_allclose(one[..., n], part[..., 0], atol=1e-7)


def test_what_a_search_may_try_out_ends_soon(float64):
    """Huge, infinite and unknown variances: a bounded number of steps, and no wrong number."""
    mean = jnp.zeros((2, 4))
    variance = jnp.asarray([[1e30, np.inf, np.nan, 1e12], [0.0, 1.0, 1.0, 1e-6]])
    found = softmax_moments(mean, variance)
    assert found.mean[0, 0] == pytest.approx(0.5, abs=0.1)
    assert found.mean[0, 3] == pytest.approx(0.5, abs=0.1)
    assert not np.isfinite(found.log_sum[2])
