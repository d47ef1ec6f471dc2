from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fewknots.likelihoods import Bernoulli
from fewknots.numerics.quadrature import expect

from ..reference import LOG_LINKS, gaussian_expectation


@partial(jax.jit, static_argnames="link")
def expectations(y, mean, variance, link):
    found = Bernoulli(link).expectations(y, mean[None], variance[None])
    return type(found)(found.log_prob, *(derivative[0] for derivative in found[1:]))


SIGMAS = [1e-9, 1e-3, 0.1, 0.5, 0.99, 1.01, 2.0, 5.0, 20.0, 100.0]


@pytest.mark.parametrize("link", ["probit", "logit"])
@pytest.mark.parametrize("sigma", SIGMAS)
def test_expected_log_likelihood_to_1e8(link, sigma, float64):
    mean = np.linspace(-8 * sigma, 8 * sigma, 97)
    variance = np.full_like(mean, sigma**2)
    got = expectations(np.ones(97), mean, variance, link)
    want = gaussian_expectation(LOG_LINKS[link], mean, variance)
    # What the rule leaves out beyond 7σ weighs 3e-12, times log p there, which grows as σ².
    np.testing.assert_allclose(got.log_prob, want, rtol=2e-8, atol=2e-8 * max(1, sigma / 30) ** 2)


@pytest.mark.parametrize("link", ["probit", "logit"])
@pytest.mark.parametrize("sigma", [0.3, 1.5, 10.0])
def test_derivatives_are_the_expectations_of_derivatives(link, sigma, float64):
    """The identities of section 4: ∂E[g]/∂μ = E[g'], ∂E[g]/∂σ² = ½E[g''], by differences."""
    mean = np.linspace(-3 * sigma, 3 * sigma, 97)
    variance = np.full_like(mean, sigma**2)
    y = np.where(np.arange(97) % 2, 1.0, -1.0)
    log_link = LOG_LINKS[link]

    def value(mean, variance):
        return gaussian_expectation(lambda f: log_link(y * f), mean, variance)

    got = expectations(y, mean, variance, link)
    h = 1e-4 * sigma
    slope = (value(mean + h, variance) - value(mean - h, variance)) / (2 * h)
    second = (
        value(mean + h, variance) - 2 * value(mean, variance) + value(mean - h, variance)
    ) / h**2
    dv = 1e-4 * sigma**2
    by_variance = (value(mean, variance + dv) - value(mean, variance - dv)) / (2 * dv)
    np.testing.assert_allclose(got.slope, slope, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(got.curvature, -second, rtol=1e-4, atol=3e-6)
    np.testing.assert_allclose(-0.5 * got.curvature, by_variance, rtol=1e-5, atol=1e-7)
    curvature_at = [expectations(y, mean, variance + s * dv, link).curvature for s in (1, -1)]
    change = (curvature_at[0] - curvature_at[1]) / (2 * dv)
    np.testing.assert_allclose(got.curvature_change, change, rtol=1e-4, atol=1e-7)


def test_rows_of_very_different_spread_in_one_call(float64):
    mean = np.resize([0.3, -2.0, 40.0, 0.0], 97)
    variance = np.resize([0.0, 1e-12, 900.0, 1600.0], 97)
    got = expectations(np.ones(97), mean, variance, "probit")
    want = gaussian_expectation(LOG_LINKS["probit"], mean, np.maximum(variance, 1e-14))
    np.testing.assert_allclose(got.log_prob, want, rtol=3e-8, atol=3e-8)


def test_memory_does_not_hold_all_nodes(float64):
    """At σ = 50 there are over 90 nodes; the largest array is eight nodes wide."""
    n = 1000
    graph = jax.make_jaxpr(lambda m, v: expect(lambda f: (f, f * f), m, v))(
        jnp.zeros(n), jnp.full(n, 2500.0)
    )
    assert f"f64[8,{n}]" in str(graph)
    assert largest_array(graph.jaxpr) == 8 * n


def largest_array(jaxpr):
    size = max((v.aval.size for e in jaxpr.eqns for v in e.outvars), default=0)
    inner = [
        p for e in jaxpr.eqns for p in jax.tree.leaves(list(e.params.values()), is_leaf=is_jaxpr)
    ]
    return max([size, *(largest_array(p.jaxpr) for p in inner if is_jaxpr(p))])


def is_jaxpr(value):
    return hasattr(value, "jaxpr")
