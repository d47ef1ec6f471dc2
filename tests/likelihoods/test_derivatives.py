"""What Laplace's method and expectation propagation ask of a likelihood, by brute force."""

import jax
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import log_expit, log_ndtr
from scipy.stats import norm

from fewknots.likelihoods import Bernoulli, Gaussian

LINKS = {"probit": log_ndtr, "logit": log_expit}
F = np.array([-30.0, -8.0, -1.3, -0.2, 0.0, 0.4, 2.0, 9.0])
MEAN = np.array([-40.0, -6.0, -1.0, 0.0, 0.7, 3.0, 25.0, -300.0])
VARIANCE = np.array([0.5, 4.0, 0.01, 9.0, 1.0, 100.0, 2.0, 900.0])


def at(likelihood, y, f):
    return of_one_latent(jax.jit(lambda y, f: likelihood.at(y, f))(y, f[None]))


def tilted(likelihood, y, mean, variance):
    found = jax.jit(lambda *arguments: likelihood.tilted(*arguments))
    return of_one_latent(found(y, mean[None], variance[None]))


def of_one_latent(found):
    """Without the axis of latent functions, which log_prob does not have."""
    return type(found)(found.log_prob, *(derivative[0] for derivative in found[1:]))


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_derivatives_at_a_point(float64, link, sign):
    y = np.full(8, sign)
    found = at(Bernoulli(link), y, F)
    np.testing.assert_allclose(found.log_prob, LINKS[link](y * F), rtol=1e-13)
    h = 1e-5
    for quantity, derivative, factor in (
        ("log_prob", "slope", 1.0),
        ("slope", "curvature", -1.0),
        ("curvature", "curvature_slope", 1.0),
    ):
        up, down = (
            np.asarray(getattr(at(Bernoulli(link), y, F + s * h), quantity)) for s in (1, -1)
        )
        np.testing.assert_allclose(
            getattr(found, derivative), factor * (up - down) / (2 * h), rtol=1e-5, atol=1e-8
        )


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_tilted_moments(float64, link, sign):
    """log Ẑ by adaptive integration; its derivatives by differences, deep in the tails too."""
    y = np.full(8, sign)
    found = tilted(Bernoulli(link), y, MEAN, VARIANCE)
    for n, (m, v) in enumerate(zip(MEAN, VARIANCE, strict=True)):
        scale = np.sqrt(v)
        f = np.linspace(m - 40 * scale, m + 40 * scale, 20001)
        log_integrand = LINKS[link](sign * f) + norm.logpdf(f, m, scale)
        peak, height = f[np.argmax(log_integrand)], log_integrand.max()
        value, _ = quad(
            lambda x, m=m, s=scale, h=height: np.exp(
                LINKS[link](sign * x) + norm.logpdf(x, m, s) - h
            ),
            peak - 12 * scale,
            peak + 12 * scale,
            points=[peak, 0.0] if abs(peak) < 12 * scale else [peak],
            epsabs=1e-14,
            epsrel=1e-12,
            limit=400,
        )
        want = height + np.log(value)
        assert float(found.log_prob[n]) == pytest.approx(want, rel=1e-8, abs=1e-8)
    h = 1e-4
    up, down = (tilted(Bernoulli(link), y, MEAN + s * h, VARIANCE) for s in (1, -1))
    np.testing.assert_allclose(
        found.slope, (up.log_prob - down.log_prob) / (2 * h), rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(
        found.curvature, -(up.slope - down.slope) / (2 * h), rtol=1e-4, atol=1e-6
    )
    # what keeps expectation propagation's sites positive
    assert np.all(np.asarray(found.curvature) * VARIANCE < 1.0)
    far = tilted(Bernoulli(link), y, np.array([-300.0, -40, -9, -1, 1, 9, 40, 300]), 0.01 + 0 * F)
    assert np.all(np.asarray(far.curvature) >= 0.0)
    assert np.all(np.isfinite(np.asarray(far.log_prob)))


def test_gaussian_noise(float64):
    y, likelihood = MEAN[::-1].copy(), Gaussian(0.3)
    found = tilted(likelihood, y, MEAN, VARIANCE)
    np.testing.assert_allclose(found.log_prob, norm.logpdf(y, MEAN, np.sqrt(VARIANCE + 0.3)))
    np.testing.assert_allclose(found.slope, (y - MEAN) / (VARIANCE + 0.3))
    np.testing.assert_allclose(found.curvature, 1.0 / (VARIANCE + 0.3))
    np.testing.assert_allclose(at(likelihood, y, MEAN).log_prob, norm.logpdf(y, MEAN, np.sqrt(0.3)))
