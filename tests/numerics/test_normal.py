import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import erfcx as scipy_erfcx
from scipy.special import log_ndtr

from fewknots.numerics import normal

# Compiled whole, as a fit has them.
erfcx, lower_tail = jax.jit(normal.erfcx), jax.jit(normal.lower_tail)


def test_erfcx(float64):
    t = np.concatenate([np.linspace(0, 30, 3001), np.logspace(1.5, 12, 200)])
    np.testing.assert_allclose(erfcx(jnp.asarray(t)), scipy_erfcx(t), rtol=2e-15)


def test_log_cdf_in_both_tails(float64):
    x = np.concatenate([np.linspace(-50, 8, 5001), -np.logspace(1.7, 8, 100)])
    np.testing.assert_allclose(lower_tail(jnp.asarray(x)).log_cdf, log_ndtr(x), rtol=2e-14)


def test_log_cdf_is_not_clipped_far_out(float64):
    tail = lower_tail(jnp.asarray([-40.0, 38.0]))
    np.testing.assert_allclose(tail.log_cdf[0], -804.608442, atol=1e-6)
    np.testing.assert_allclose(tail.log_cdf[1], log_ndtr(38.0), rtol=1e-10)  # -2.9e-316


def test_ratio_is_the_derivative(float64):
    x = np.linspace(-30, 5, 101)
    h = 1e-6
    slope = (log_ndtr(x + h) - log_ndtr(x - h)) / (2 * h)
    np.testing.assert_allclose(lower_tail(jnp.asarray(x)).ratio, slope, rtol=1e-6, atol=1e-9)


def test_curvature_stays_between_zero_and_one(float64):
    """-(log Φ)'' = ratio · excess tends to 1 - 1/x² on the left; x + ratio cancels there."""
    x = -np.logspace(0, 8, 400)
    tail = lower_tail(jnp.asarray(x))
    curvature = np.asarray(tail.ratio * tail.excess)
    assert np.all((curvature > 0) & (curvature <= 1))
    far = x < -100
    np.testing.assert_allclose(curvature[far], 1.0 - x[far] ** -2.0, atol=1e-7)


def test_the_series_meets_the_direct_form(float64):
    either_side = lower_tail(jnp.asarray([-50.0 + 1e-9, -50.0 - 1e-9])).excess
    np.testing.assert_allclose(either_side[0], either_side[1], rtol=1e-10)
