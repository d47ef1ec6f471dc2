import jax.numpy as jnp
import numpy as np
from scipy.stats import norm

from fewknots.likelihoods import Gaussian

from ..reference import gaussian_expectation


def test_expectations_in_closed_form(float64):
    y, mean, variance = np.array([0.3, -2.0]), np.array([0.5, 0.1]), np.array([0.2, 3.0])
    got = Gaussian(0.7).expectations(*map(jnp.asarray, (y, mean[None], variance[None])))
    want = gaussian_expectation(lambda f: norm.logpdf(y, f, np.sqrt(0.7)), mean, variance)
    np.testing.assert_allclose(got.log_prob, want, rtol=1e-10)
    np.testing.assert_allclose(got.slope[0], (y - mean) / 0.7)
    np.testing.assert_allclose(got.curvature, 1 / 0.7)
