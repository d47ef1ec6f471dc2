"""Which Gaussian is the largest: against closed forms, adaptive quadrature and differences."""

import math

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import log_ndtr, logsumexp
from scipy.stats import multivariate_normal

from fewknots.numerics.largest import in_cone, log_largest
from fewknots.numerics.linalg import inverse_of_each
from fewknots.numerics.precision import computing_in

# means up to ±50 and variances (of f, to which the noise adds 1) from 0 to 1000, mixed
THREE = [
    ([0.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
    ([0.3, -0.2, 1.0], [0.1, 0.4, 2.0]),
    ([4.0, -4.0, 0.0], [6.0, 2.5, 30.0]),
    ([50.0, -50.0, 50.0], [0.0, 0.0, 0.0]),
    ([50.0, -50.0, 0.0], [1000.0, 0.0, 0.0]),
    ([-50.0, 50.0, 50.0], [0.01, 1000.0, 1000.0]),
    ([-50.0, 50.0, 50.0], [1000.0, 0.0, 0.0]),
    ([20.0, 10.0, -10.0], [1000.0, 1000.0, 1000.0]),
]


def columns(cases, dtype=np.float64):
    means, variances = zip(*cases, strict=True)
    return jnp.asarray(np.array(means).T, dtype), 1.0 + jnp.asarray(np.array(variances).T, dtype)


def by_adaptive_quadrature(mean, variance, c):
    """Log Z_c: the integrand over its own top, which a bounded search finds first."""
    mean, sd = np.asarray(mean), np.sqrt(1.0 + np.asarray(variance))
    others = np.arange(len(mean)) != c

    def log_integrand(s):
        x = (s - mean) / sd
        return (
            -0.5 * x[c] ** 2
            - math.log(sd[c] * math.sqrt(2.0 * math.pi))
            + log_ndtr(x)[others].sum(axis=-1)
        )

    grid = np.linspace((mean - 9.0 * sd).min(), (mean + 9.0 * sd).max(), 4001)
    top = grid[np.argmax([log_integrand(s) for s in grid])]
    highest = log_integrand(top)
    ends, places = [top - 9.0 * sd[c], top + 9.0 * sd[c]], [top, *mean, *(top + 2.0 * mean / 50)]
    total, _ = quad(
        lambda s: math.exp(log_integrand(s) - highest),
        *ends,
        points=sorted({float(s) for s in places if ends[0] < s < ends[1]}),
        epsabs=0.0,
        epsrel=1e-11,
        limit=500,
    )
    return highest + math.log(total)


def test_two_are_one_normal_tail(float64):
    cases = [(m[:2], v[:2]) for m, v in THREE]
    mean, variance = columns(cases)
    z = np.asarray((mean[0] - mean[1]) / np.sqrt(variance.sum(axis=0)))
    found = log_largest(mean, variance)
    np.testing.assert_allclose(found[0], log_ndtr(z), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found[1], log_ndtr(-z), rtol=1e-9, atol=1e-9)


def test_three_are_right_to_1e_8_in_logarithms(float64):
    found = np.asarray(log_largest(*columns(THREE)))
    np.testing.assert_allclose(logsumexp(found, axis=0), 0.0, atol=1e-9)
    for n, (mean, variance) in enumerate(THREE):
        for c in range(3):
            assert found[c, n] == pytest.approx(
                by_adaptive_quadrature(mean, variance, c), rel=1e-10, abs=1e-8
            )


@pytest.mark.parametrize("n_classes", [10, 30])
def test_many_are_right_to_1e_8_in_logarithms(float64, n_classes):
    """One far below all others has the narrowest integrand."""
    rng = np.random.default_rng(n_classes)
    cases = [
        (np.append(np.full(n_classes - 1, 50.0), -50.0), np.zeros(n_classes)),
        (20.0 * rng.normal(size=n_classes), rng.exponential(size=n_classes) * 100.0),
    ]
    found = log_largest(*columns(cases))
    for n, (mean, variance) in enumerate(cases):
        for c in (0, n_classes - 1):
            assert found[c, n] == pytest.approx(
                by_adaptive_quadrature(mean, variance, c), rel=1e-10, abs=1e-8
            )


def test_four_against_the_distribution_of_differences(float64):
    """P(all differences are positive), by a program for normal distributions of any covariance."""
    rng = np.random.default_rng(0)
    mean, variance = rng.normal(size=4), 1.0 + rng.exponential(size=4)
    found = np.exp(log_largest(jnp.asarray(mean[:, None]), jnp.asarray(variance[:, None])))[:, 0]
    for c in range(4):
        others = np.arange(4) != c
        covariance = np.diag(variance[others]) + variance[c]
        wanted = multivariate_normal.cdf(
            mean[c] - mean[others], cov=covariance, abseps=1e-8, releps=1e-8, maxpts=400_000
        )
        assert found[c] == pytest.approx(wanted, abs=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3, 10, 100])
@pytest.mark.parametrize("variance", [1.0, 4.0, 1001.0])
def test_equal_ones_are_equally_likely(float64, n_classes, variance):
    shape = (n_classes, 1)
    log_p = log_largest(jnp.full(shape, 3.0), jnp.full(shape, variance))
    np.testing.assert_allclose(log_p, -math.log(n_classes), atol=1e-9)


def test_in_float32():
    rng = np.random.default_rng(1)
    mean, variance = 3.0 * rng.normal(size=(5, 40)), 1.0 + 5.0 * rng.exponential(size=(5, 40))
    with computing_in(np.dtype(np.float64)):
        wanted = np.asarray(log_largest(jnp.asarray(mean), jnp.asarray(variance)))
    with computing_in(np.dtype(np.float32)):
        found = log_largest(jnp.asarray(mean, np.float32), jnp.asarray(variance, np.float32))
    np.testing.assert_allclose(np.exp(found), np.exp(wanted), atol=1e-5)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-4)


def a_cone(n_classes=4, n_rows=6, seed=2):
    rng = np.random.default_rng(seed)
    mean = 3.0 * rng.normal(size=(n_classes, n_rows))
    return np.arange(n_classes)[:, None] == np.arange(n_rows) % n_classes, mean


def test_moments_in_the_cone_are_derivatives_of_its_log_probability(float64):
    member, mean = a_cone()
    found = in_cone(jnp.asarray(member), jnp.asarray(mean))
    own = member.argmax(axis=0), np.arange(mean.shape[1])

    def log_prob(moved):
        return np.asarray(log_largest(jnp.asarray(moved), jnp.ones_like(moved)))[own]

    np.testing.assert_allclose(found.log_prob, log_prob(mean), atol=1e-9)
    step = 1e-4
    for c in range(len(mean)):
        move = np.zeros((len(mean), 1))
        move[c] = step
        slope = (log_prob(mean + move) - log_prob(mean - move)) / (2.0 * step)
        np.testing.assert_allclose(found.shift[c], slope, atol=1e-6)
        up, down = (
            in_cone(jnp.asarray(member), jnp.asarray(mean + m)).shift for m in (move, -move)
        )
        second = (up - down) / (2.0 * step)
        second = second.at[c].add(1.0)
        np.testing.assert_allclose(found.covariance[c], second, atol=1e-6)


def test_moments_in_the_cone_against_samples(float64):
    member, mean = a_cone(3, 3)
    found = in_cone(jnp.asarray(member), jnp.asarray(mean / 3.0))
    rng = np.random.default_rng(0)
    for n in range(3):
        g = mean[:, n] / 3.0 + rng.normal(size=(400_000, 3))
        kept = g[g.argmax(axis=1) == member[:, n].argmax()]
        shift, covariance = found.shift[:, n], found.covariance[..., n]
        np.testing.assert_allclose(kept.mean(axis=0) - mean[:, n] / 3.0, shift, atol=0.02)
        np.testing.assert_allclose(np.cov(kept.T), covariance, atol=0.03)


def test_only_differences_matter_and_a_cone_is_convex(float64):
    member, mean = a_cone(5, 10)
    found = in_cone(jnp.asarray(member), jnp.asarray(mean))
    np.testing.assert_allclose(found.shift.sum(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(found.covariance.sum(axis=0), 1.0, atol=1e-9)
    eigenvalues = np.linalg.eigvalsh(np.moveaxis(np.asarray(found.covariance), -1, 0))
    assert eigenvalues.min() > 0.0
    np.testing.assert_allclose(eigenvalues.max(axis=1), 1.0, atol=1e-9)


def test_many_rows_are_computed_in_parts(float64):
    """More rows than are taken at once: each is as it is alone."""
    member, mean = a_cone(3, 300, seed=3)
    member, mean = jnp.asarray(member), jnp.asarray(mean)
    together, log_p = in_cone(member, mean), log_largest(mean, 1.0 + jnp.square(mean))
    for n in (0, 127, 128, 299):
        alone = in_cone(member[:, [n]], mean[:, [n]])
        for one, part in zip(together, alone, strict=True):
            np.testing.assert_allclose(one[..., n], part[..., 0], atol=1e-9)
        own = log_largest(mean[:, [n]], 1.0 + jnp.square(mean[:, [n]]))
        np.testing.assert_allclose(log_p[:, n], own[:, 0], atol=1e-9)


def test_what_a_search_may_try_out_ends_soon(float64):
    """Huge, infinite and unknown variances: a bounded number of steps, and no wrong number."""
    mean = jnp.asarray([[0.0] * 4, [1.0] * 4])
    variance = jnp.asarray([[1e30, np.inf, np.nan, 1e12], [1e30, 1.0, 1.0, 1e12]])
    found = log_largest(mean, variance)
    np.testing.assert_allclose(found[:, [0, 3]], math.log(0.5), atol=1e-5)
    assert not np.isfinite(found[0, [1, 2]]).any()


def test_the_inverse_of_each(float64):
    rng = np.random.default_rng(0)
    roots = rng.normal(size=(7, 4, 6))
    matrices = roots @ roots.transpose(0, 2, 1)
    found = inverse_of_each(jnp.asarray(np.moveaxis(matrices, 0, -1)))
    wanted = np.moveaxis(np.linalg.inv(matrices), 0, -1)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
