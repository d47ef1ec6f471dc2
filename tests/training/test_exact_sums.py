"""Sums as integers: the same in any order, as close as float64 can be, and never quietly wrong."""

from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest

from fewknots.numerics.precision import computing_in
from fewknots.training.held_rows import as_floats, counted, together, unit_of

RNG = np.random.default_rng(0)


def count(tree, unit):
    with computing_in(np.dtype(np.float64)):
        return counted({name: jnp.asarray(leaf) for name, leaf in tree.items()}, unit)


def total(parts, unit):
    whole = count(parts[0], unit)
    with computing_in(np.dtype(np.float64)):
        for part in parts[1:]:
            whole = together(whole, count(part, unit))
        return as_floats(whole, unit)


@pytest.mark.parametrize("weight", [1.0, 777.5, 1e9])
def test_any_order_gives_the_same_sum_and_the_right_one(weight):
    unit = unit_of(weight)
    sizes = 10.0 ** RNG.uniform(-6, 2, size=(40, 3))
    parts = [{"x": weight * RNG.normal(size=3) * size} for size in sizes]
    forwards, backwards = total(parts, unit), total(parts[::-1], unit)
    np.testing.assert_array_equal(forwards["x"], backwards["x"])
    exact = [float(sum(Fraction(part["x"][i]) for part in parts)) for i in range(3)]
    np.testing.assert_allclose(forwards["x"], exact, rtol=2.0**-52, atol=weight * 1e-17)


def test_floats_themselves_depend_on_the_order():
    """What this is for."""
    numbers = RNG.normal(size=1000)
    assert sum(numbers) != sum(numbers[::-1])


def test_grouping_does_not_matter():
    unit = unit_of(100.0)
    a, b, c = (count({"x": RNG.normal(size=(4, 4))}, unit) for _ in range(3))
    with computing_in(np.dtype(np.float64)):
        left = as_floats(together(together(a, b), c), unit)
        right = as_floats(together(a, together(b, c)), unit)
    np.testing.assert_array_equal(left["x"], right["x"])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1e30])
def test_what_cannot_be_counted_makes_the_sum_nan(bad):
    parts = [{"x": np.array([1.0, 2.0])}, {"x": np.array([1.0, bad])}, {"x": np.zeros(2)}]
    assert np.all(np.isnan(total(parts, 4.0)["x"]))


def test_an_overflow_makes_the_sum_nan():
    large = {"x": np.array([2.0**36])}  # fits, and so does twice as much, but not four times
    assert total([large] * 2, 0.5)["x"] == 2.0**37
    assert np.isnan(total([large] * 4, 0.5)["x"])
    assert total([large, {"x": -large["x"]}] * 4, 0.5)["x"] == 0.0


def test_units_are_powers_of_two():
    assert [unit_of(weight) for weight in (1.0, 1.5, 64.0, 1e9, 0.3)] == [1, 2, 64, 2.0**30, 0.5]
