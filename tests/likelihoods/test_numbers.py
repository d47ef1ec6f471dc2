"""Every likelihood of numbers beside SciPy's distribution, by brute force and by differences."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from fewknots.likelihoods import (
    Beta,
    Gamma,
    Laplace,
    Likelihood,
    NegativeBinomial,
    Poisson,
    StudentT,
)

from ..reference import gaussian_expectation

pytestmark = pytest.mark.usefixtures("float64")


class Case(NamedTuple):
    """A likelihood of one function, the same as a SciPy distribution given f, and targets."""

    likelihood: Likelihood
    given: Callable[[Any], Any]
    y: tuple[float, ...]  # six
    rtol: float = 1e-7


CASES = {
    "beta": Case(
        Beta(1.4, 8.0),
        lambda f: stats.beta(8.0 * expit(f + np.log(1.4)), 8.0 * expit(-f - np.log(1.4))),
        (0.2, 0.5, 0.02, 0.9, 0.4, 0.97),
    ),
    "gamma": Case(
        Gamma(1.7, 2.5),
        lambda f: stats.gamma(2.5, scale=1.7 * np.exp(f) / 2.5),
        (0.1, 3.0, 9.0, 1.0, 0.02, 40.0),
    ),
    "laplace": Case(
        Laplace(0.4), lambda f: stats.laplace(f, 0.4), (-1.2, 0.3, 9.0, 1.0, -30.0, 2.4)
    ),
    "negative_binomial": Case(
        NegativeBinomial(1.7, 0.4),
        lambda f: stats.nbinom(2.5, 2.5 / (2.5 + 1.7 * np.exp(f))),
        (0.0, 3.0, 9.0, 1.0, 0.0, 40.0),
    ),
    "poisson": Case(
        Poisson(1.7), lambda f: stats.poisson(1.7 * np.exp(f)), (0.0, 3.0, 9.0, 1.0, 0.0, 40.0)
    ),
    "student_t": Case(
        StudentT(0.4, 1.5),
        lambda f: stats.t(3.5, loc=f, scale=0.4),
        (-1.2, 0.2, 9.0, 1.0, -300.0, 2.4),
    ),
}
MEAN = np.array([-1.0, 0.2, 1.5, 0.0, -3.0, 2.5])
VARIANCE = np.array([0.4, 1e-4, 0.9, 4.0, 9.0, 0.02])
NARROW = np.minimum(VARIANCE, 0.9)  # so that all are integrated by Gauss and Hermite's rule
LEVELS = np.array([0.025, 0.3, 0.5, 0.9])
each_likelihood = pytest.mark.parametrize("name", CASES)


@cache
def compiled(name: str, method: str):
    return jax.jit(getattr(CASES[name].likelihood, method))


def asked(name: str, method: str, *arguments: Any) -> Any:
    """A method's answer for the targets of the case, without the axis of latent functions."""
    y = np.array(CASES[name].y)
    with jax.enable_x64(True):
        found = compiled(name, method)(y, *(np.asarray(part)[None] for part in arguments))
    return type(found)(*(np.asarray(part).reshape(-1, len(y))[0] for part in found))


def log_density(name: str, f: Any) -> np.ndarray:
    given, y = CASES[name].given(f), np.array(CASES[name].y)
    return given.logpmf(y) if hasattr(given.dist, "logpmf") else given.logpdf(y)


@each_likelihood
@pytest.mark.parametrize("variance", [VARIANCE, NARROW], ids=["wide", "narrow"])
def test_expectations(name, variance):
    """E[log p] by brute force; its derivatives are what the contract says."""
    found = asked(name, "expectations", MEAN, variance)
    want = gaussian_expectation(lambda f: log_density(name, f), MEAN, variance, n=20001)
    np.testing.assert_allclose(found.log_prob, want, rtol=CASES[name].rtol, atol=1e-7)
    h = 1e-4 * np.sqrt(variance)
    up, down = (asked(name, "expectations", MEAN + s * h, variance) for s in (1, -1))
    close = {"rtol": 2e-5, "atol": 2e-5}
    np.testing.assert_allclose(found.slope, (up.log_prob - down.log_prob) / (2 * h), **close)
    np.testing.assert_allclose(found.curvature, (down.slope - up.slope) / (2 * h), **close)
    h = 1e-4 * variance
    up, down = (asked(name, "expectations", MEAN, variance + s * h) for s in (1, -1))
    np.testing.assert_allclose(found.curvature, (down.log_prob - up.log_prob) / h, **close)
    change = (up.curvature - down.curvature) / (2 * h)
    np.testing.assert_allclose(found.curvature_change, change, **close)


@each_likelihood
def test_derivatives_at_a_point(name):
    found = asked(name, "at", MEAN)
    np.testing.assert_allclose(found.log_prob, log_density(name, MEAN), rtol=1e-10)
    h = 1e-5
    up, down = (asked(name, "at", MEAN + s * h) for s in (1, -1))
    close = {"rtol": 1e-5, "atol": 1e-5}
    np.testing.assert_allclose(found.slope, (up.log_prob - down.log_prob) / (2 * h), **close)
    np.testing.assert_allclose(found.curvature, (down.slope - up.slope) / (2 * h), **close)
    bend = (up.curvature - down.curvature) / (2 * h)
    np.testing.assert_allclose(found.curvature_slope, bend, **close)


@each_likelihood
def test_probability_of_a_row(name):
    """log E[p(y|f)] by brute force, also where p is far narrower than the Gaussian; derivatives."""
    found = asked(name, "tilted", MEAN, VARIANCE)
    p = gaussian_expectation(lambda f: np.exp(log_density(name, f)), MEAN, VARIANCE, n=200001)
    np.testing.assert_allclose(found.log_prob, np.log(p), rtol=1e-6, atol=1e-7)
    h = 1e-4 * np.sqrt(VARIANCE)
    up, down = (asked(name, "tilted", MEAN + s * h, VARIANCE) for s in (1, -1))
    close = {"rtol": 2e-5, "atol": 2e-5}
    np.testing.assert_allclose(found.slope, (up.log_prob - down.log_prob) / (2 * h), **close)
    np.testing.assert_allclose(found.curvature, (down.slope - up.slope) / (2 * h), **close)


@each_likelihood
def test_parameters_have_derivatives(name):
    """Of what training asks, forwards, against differences."""
    likelihood, y = CASES[name].likelihood, jnp.asarray(CASES[name].y)
    mean, variance = jnp.asarray(MEAN[None]), jnp.asarray(VARIANCE[None])

    @jax.jit
    def bound(likelihood):
        return jnp.sum(likelihood.expectations(y, mean, variance).log_prob)

    slopes = jax.jit(jax.jacfwd(bound))(jax.tree.map(jnp.asarray, likelihood))
    for (key,), value in jax.tree.leaves_with_path(likelihood):
        up, down = (
            bound(replace(likelihood, **{key.name: value * (1 + s)})) for s in (1e-5, -1e-5)
        )
        want = (up - down) / (2e-5 * value)
        np.testing.assert_allclose(getattr(slopes, key.name), want, rtol=1e-5, atol=1e-5)


@each_likelihood
def test_moments(name):
    mean, variance = compiled(name, "moments")(MEAN[None], NARROW[None])

    def expected(of_given):
        return gaussian_expectation(lambda f: of_given(CASES[name].given(f)), MEAN, NARROW)

    first = expected(lambda given: given.mean())
    np.testing.assert_allclose(mean, first, rtol=1e-7, atol=1e-12)
    second = expected(lambda given: given.var() + np.square(given.mean()))
    np.testing.assert_allclose(variance, second - np.square(first), rtol=1e-6)


@each_likelihood
def test_quantiles(name):
    """As much of the distribution of y is below as the level says; of counts just enough."""
    case = CASES[name]
    found = np.asarray(compiled(name, "quantiles")(MEAN[None], NARROW[None], LEVELS))

    def below(y):
        f_by_row = lambda f: case.given(f).cdf(y)  # noqa: E731
        return gaussian_expectation(f_by_row, MEAN, NARROW, n=20001)

    for level, y in zip(LEVELS, found, strict=True):
        if case.likelihood.support == "counts":
            assert np.all(below(y) > level - 1e-5)
            assert np.all(below(y - 1) < level + 1e-5)
        else:
            np.testing.assert_allclose(below(y), level, atol=1e-6)


@each_likelihood
def test_samples(name):
    """Of many at one f: their mean and spread are SciPy's."""
    given = CASES[name].given(0.3)
    drawn = CASES[name].likelihood.sampled(np.random.RandomState(0), np.full((1, 40_000), 0.3))
    assert drawn.mean() == pytest.approx(given.mean(), abs=5 * given.std() / 200)
    low, high = np.quantile(drawn, [0.1, 0.9])
    assert given.cdf(low) == pytest.approx(0.1, abs=0.01) or given.ppf(0.1) == low
    assert given.cdf(high) == pytest.approx(0.9, abs=0.01) or given.ppf(0.9) == high


def test_a_negative_binomial_without_dispersion_is_poissons():
    y = np.array(CASES["poisson"].y)
    one, other = (
        jax.jit(likelihood.expectations)(y, MEAN[None], NARROW[None])
        for likelihood in (NegativeBinomial(1.7, 1e-7), Poisson(1.7))
    )
    for part, want in zip(one, other, strict=True):
        np.testing.assert_allclose(part, want, rtol=1e-4, atol=1e-4)
