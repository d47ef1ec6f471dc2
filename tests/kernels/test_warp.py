"""The map of an input and the kernel around it: limits, the way back, derivatives, files."""

import copy
import math
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from scipy.integrate import quad
from scipy.stats import yeojohnson

from fewknots.exceptions import ModelFileError
from fewknots.files.header_values import check_fitted, decode_kernel, encode_kernel, known_classes
from fewknots.kernels import RBF, Constant, Linear, Matern32, Periodic, Warp
from fewknots.kernels.signed_power import BEND, FARTHEST, derivative, unwarped, warped

RNG = np.random.default_rng(6)
T = np.concatenate([RNG.normal(size=200), 10.0 ** RNG.uniform(-8, 9, 200), [0.0, -0.0, 1.0]])
T = np.concatenate([T, -T])[:, None]
POWERS = (-2.0, -0.5, -1e-9, 0.0, 1e-9, 0.3, 1.0, 1.5)
each_power = pytest.mark.parametrize("power", POWERS)


def slope_of(power):
    return np.asarray(np.exp(power - 1.0))


def in_jax(function, t, power):
    return np.asarray(jax.jit(function)(jnp.asarray(t), slope_of(power), slope_of(power)))


def test_slope_one_changes_nothing():
    np.testing.assert_allclose(warped(T, 1.0, 1.0), T, rtol=1e-13)


def test_the_limit_is_a_logarithm():
    far = np.sign(T) * np.log1p(BEND * np.abs(T)) / BEND
    for power in (-1e-12, 0.0, 1e-12):
        np.testing.assert_allclose(warped(T, slope_of(power), slope_of(power)), far, rtol=1e-10)


def test_near_zero_nothing_changes_and_far_out_it_is_a_power():
    for power in POWERS:
        slope = slope_of(power)
        np.testing.assert_allclose(warped(np.array([[1e-9]]), slope, slope), 1e-9, rtol=1e-7)
    far, farther = warped(np.array([[1e8, 1e10]]), slope_of(0.3), slope_of(0.3))[0]
    assert farther / far == pytest.approx(100.0**0.3, rel=1e-2)
    end = warped(np.array([[1e11]]), slope_of(-2.0), slope_of(-2.0))
    assert end == pytest.approx(1.0 / (2.0 * BEND), rel=1e-12)


@pytest.mark.parametrize("power", [-0.7, 0.2, 1.4])
def test_scipys_map_is_the_case_of_powers_that_add_up_to_two(power):
    found = warped(T / BEND, slope_of(2.0 - power), slope_of(power))
    np.testing.assert_allclose(found * BEND, yeojohnson(T, lmbda=power), rtol=1e-8)


@each_power
def test_there_and_back(power):
    near = T[np.abs(T[:, 0]) < 1e3]  # a map that ends leaves few digits to those far out
    there = warped(near, slope_of(power), slope_of(power))
    rtol = 1e-5 if power < 0 else 1e-12
    np.testing.assert_allclose(unwarped(there, slope_of(power), slope_of(power)), near, rtol=rtol)


@each_power
def test_it_rises_and_its_derivative_is_the_formula(power):
    ordered = np.unique(T)[:, None]
    assert np.all(np.diff(warped(ordered, slope_of(power), slope_of(power))[:, 0]) >= 0)
    for end in (0.3, 4.0, -7.0):
        slopes = slope_of(power), slope_of(power)
        area, _ = quad(lambda t, s=slopes: derivative(np.array([[t]]), *s)[0, 0], 0.0, end)
        np.testing.assert_allclose(warped(np.array([[end]]), *slopes), area, rtol=1e-8)


@each_power
def test_numpy_and_jax_agree(power, float64):
    slopes = slope_of(power), slope_of(power)
    there = warped(T, *slopes)
    np.testing.assert_allclose(in_jax(warped, T, power), there, rtol=1e-11, atol=1e-15)
    inside = there[np.abs(T) < 1e3][:, None]
    back = in_jax(unwarped, inside, power)
    np.testing.assert_allclose(back, unwarped(inside, *slopes), rtol=1e-6, atol=1e-14)


@each_power
def test_derivatives_of_jax(power, float64):
    """Also at zero, at the logarithm, and for the slope."""
    slope, t = slope_of(power), np.array([[0.0], [1e-9], [0.4], [-3.0], [1e6]])

    def one(t, slope):
        return warped(t[None, None], slope, slope)[0, 0]

    d_t = jax.jit(jax.vmap(jax.grad(one), (0, None)))(t[:, 0], slope)
    np.testing.assert_allclose(d_t, derivative(t, slope, slope)[:, 0], rtol=1e-6, atol=1e-15)
    d_slope = jax.jit(jax.vmap(jax.grad(one, 1), (0, None)))(t[:, 0], slope)
    h = 1e-6 * slope
    wanted = (warped(t, slope + h, slope + h) - warped(t, slope - h, slope - h))[:, 0] / (2 * h)
    np.testing.assert_allclose(d_slope, wanted, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nothing_is_beyond_numbers(dtype, float64):
    """Beyond the end of a map there is the farthest input, not NaN."""
    w = np.array([[0.0], [0.1], [1.0], [30.0], [1e6], [-1e6]], dtype)
    for power in POWERS:
        slopes = slope_of(power), slope_of(power)
        for found in (unwarped(w, *slopes), in_jax(unwarped, w, power)):
            assert np.all(np.isfinite(found))
            assert np.all(np.abs(found) <= FARTHEST * 1.001)
            assert found.dtype == dtype
        gradient = jax.grad(lambda w, s=slopes: jnp.sum(unwarped(w, *s)))(jnp.asarray(w))
        assert np.all(np.isfinite(gradient))


# --- the kernel -----------------------------------------------------------------------------------

A, B = RNG.normal(size=(7, 3)) * 3.0, RNG.normal(size=(5, 3)) * 3.0
SCALES = np.array([0.5, 1.0, 2.5])
WARPED = Warp(Matern32(SCALES) + Linear(0.5), below=[0.5, 1.3], above=[0.3, 0.1], columns=(2, 0))


def test_it_is_the_kernel_of_warped_columns(float64):
    def by_hand(rows):
        rows = rows.copy()
        rows[:, [2]] = warped(rows[:, [2]], 0.5, 0.3)
        rows[:, [0]] = warped(rows[:, [0]], 1.3, 0.1)
        return rows

    inner = WARPED.kernel
    np.testing.assert_allclose(WARPED(A, B), inner(by_hand(A), by_hand(B)), rtol=1e-12)
    np.testing.assert_allclose(WARPED.diagonal(A), inner.diagonal(by_hand(A)), rtol=1e-12)
    np.testing.assert_allclose(WARPED.coordinates(A), by_hand(A), rtol=1e-14)
    np.testing.assert_allclose(WARPED.inputs_at(by_hand(A)), A, rtol=1e-10)
    np.testing.assert_array_equal(WARPED.coordinates(A)[:, 1], A[:, 1])  # to the last bit


def test_within_a_sum_it_is_the_same_kernel(float64):
    inside = Warp(RBF(SCALES), 0.4, 0.6) + Constant(0.3)
    outside = Warp(RBF(SCALES) + Constant(0.3), 0.4, 0.6)
    np.testing.assert_allclose(inside(A, B), outside(A, B), rtol=1e-14)


def test_a_warp_of_a_warp(float64):
    twice = Warp(Warp(RBF(SCALES), 0.5, 0.7, columns=[1]), 0.4, 0.6)
    first = Warp(RBF(), 0.4, 0.6).coordinates(A)
    np.testing.assert_allclose(
        twice.coordinates(A), Warp(RBF(), 0.5, 0.7, columns=[1]).coordinates(first), rtol=1e-14
    )
    np.testing.assert_allclose(twice.inputs_at(twice.coordinates(A)), A, rtol=1e-10)
    h = 1e-6
    stretch = (twice.coordinates(A + h) - twice.coordinates(A - h)) / (2 * h)
    np.testing.assert_allclose(twice.stretch(A), stretch, rtol=1e-6)


def test_gradients_against_finite_differences(float64):
    kernel = jax.tree.map(jnp.asarray, WARPED.prepared(np.ones(3)))
    G = jnp.asarray(RNG.normal(size=(7, 5)))
    flat, unflatten = ravel_pytree((kernel, jnp.asarray(A), jnp.asarray(B)))

    @jax.jit
    def scalar(flat):
        kernel, X, Z = unflatten(flat)
        return jnp.sum(G * kernel(X, Z)) + jnp.sum(kernel.diagonal(X))

    gradient = jax.jit(jax.grad(scalar))(flat)
    for i in range(len(flat)):
        step = jnp.zeros_like(flat).at[i].set(1e-6)
        difference = (scalar(flat + step) - scalar(flat - step)) / 2e-6
        np.testing.assert_allclose(gradient[i], difference, rtol=1e-5, atol=2e-8)


def test_a_map_without_an_end_has_an_input_for_every_place():
    roomy = WARPED.without_end()
    assert np.all(roomy.above >= math.exp(-1.0))
    np.testing.assert_array_equal(roomy.below, [0.5, 1.3])
    W = np.array([[-9.0, 3.0, 9.0]])
    np.testing.assert_allclose(roomy.coordinates(roomy.inputs_at(W)), W, rtol=1e-10)


def test_parameters_of_the_inner_kernel_can_be_read():
    kernel = Warp(RBF([1.0, 2.0], 3.0), columns=[0])
    assert (kernel.lengthscale, kernel.variance) == ([1.0, 2.0], 3.0)
    assert Warp(kernel).variance == 3.0
    assert WARPED.k1 is WARPED.kernel.k1
    with pytest.raises(AttributeError, match="neither a Warp nor its kernel has 'period'"):
        _ = kernel.period
    for again in (copy.deepcopy(WARPED), pickle.loads(pickle.dumps(WARPED))):
        assert repr(again) == repr(WARPED)


def test_prepared_gives_every_column_its_own_slopes_whatever_ard():
    ready = Warp(RBF(), columns=[2, 0]).prepared(np.array([1.0, 2.0, 4.0]), ard=False)
    np.testing.assert_array_equal(ready.below, np.ones(2))
    assert ready.kernel.lengthscale.shape == ()
    with pytest.raises(ValueError, match=r"Warp\.above must have one value or 2"):
        Warp(RBF(), above=[1.0, 2.0, 3.0], columns=[2, 0]).prepared(np.ones(3))
    with pytest.raises(ValueError, match="chooses column 7"):
        Warp(RBF(), columns=[7]).prepared(np.ones(3))


def test_columns_by_name_inside_and_outside():
    kernel = Warp(RBF(columns=["b"]) + Periodic(columns=["c"]), columns=["b", "a"])
    found = kernel.numbered(["a", "b", "c"])
    assert found.columns == (1, 0)
    assert [part.columns for part in found.parts()] == [(1,), (2,)]


def test_files_hold_it_and_nothing_false():
    known = known_classes()
    kernel = WARPED.prepared(np.ones(3))
    again = decode_kernel(encode_kernel(kernel), known)
    check_fitted(again, 3)
    assert repr(again) == repr(kernel)
    encoded = encode_kernel(kernel)
    encoded["fields"]["kernel"] = 3.0
    with pytest.raises(ModelFileError, match="a part of its Warp is not a kernel"):
        decode_kernel(encoded, known)
    encoded = encode_kernel(kernel)
    encoded["fields"]["below"] = "0.5"
    with pytest.raises(ModelFileError, match=r"Warp\.below"):
        check_fitted(decode_kernel(encoded, known), 3)
