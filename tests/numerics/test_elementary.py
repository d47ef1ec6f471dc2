import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fewknots.numerics.elementary import exp, log1p


def test_exp_is_exact_to_two_units_in_the_last_digit(float64):
    x = np.concatenate([np.linspace(-707, 709, 20001), np.linspace(-1, 1, 2001)])
    np.testing.assert_allclose(exp(jnp.asarray(x)), np.exp(x), rtol=4.5e-16)


def test_exp_at_the_edges(float64):
    x = jnp.asarray([-np.inf, -1e300, -709.0, 0.0, 710.0, 1e300, np.nan])
    np.testing.assert_array_equal(exp(x), [0.0, 0.0, 0.0, 1.0, np.inf, np.inf, np.nan])


def test_exp_is_its_own_derivative(float64):
    x = jnp.asarray(0.7)
    assert jax.grad(exp)(x) == pytest.approx(np.exp(0.7), rel=1e-15)
    assert jax.grad(jax.grad(exp))(x) == pytest.approx(np.exp(0.7), rel=1e-15)


def test_log1p_is_exact_to_two_units_in_the_last_digit(float64):
    z = np.concatenate([-np.logspace(-300, -1e-9, 5000), np.logspace(-17, 5, 2000)])
    z = z[z > -1]
    np.testing.assert_allclose(log1p(jnp.asarray(z)), np.log1p(z), rtol=4.5e-16)


@pytest.mark.parametrize("function", [exp, log1p])
def test_other_dtypes_keep_theirs(function):
    assert function(jnp.asarray([0.5], jnp.float32)).dtype == jnp.float32
