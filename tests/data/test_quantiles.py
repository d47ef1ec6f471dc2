"""Weighted quantiles, and centre and scale of columns."""

import numpy as np
import pytest
from scipy.stats import median_abs_deviation

from fewknots.data.quantiles import centre_and_scale, has_many_values, quantiles

RNG = np.random.default_rng(0)
X = np.column_stack([RNG.normal(size=101), RNG.integers(0, 4, 101), np.exp(RNG.normal(size=101))])
ONES = np.ones(101)
LEVELS = np.arange(1, 16) / 16.0


def test_without_weights_they_are_numpys():
    for rows in (X, X[:100]):
        wanted = np.quantile(rows, LEVELS, axis=0, method="averaged_inverted_cdf")
        np.testing.assert_allclose(quantiles(rows, np.ones(len(rows)), LEVELS), wanted, rtol=1e-14)


@pytest.mark.parametrize("factor", [1.0, 0.1])
def test_a_weight_is_a_number_of_copies(factor):
    weights = RNG.integers(0, 4, 101).astype(float)
    copies = np.repeat(X, weights.astype(int), axis=0)
    found = quantiles(X, factor * weights, LEVELS)
    np.testing.assert_array_equal(found, quantiles(copies, np.ones(len(copies)), LEVELS))
    found, wanted = (
        centre_and_scale(*rows) for rows in ((X, weights), (copies, np.ones(len(copies))))
    )
    np.testing.assert_array_equal(found, wanted)


def test_the_order_of_rows_changes_nothing():
    mixed = RNG.permutation(101)
    weights = RNG.uniform(size=101)
    np.testing.assert_array_equal(
        quantiles(X[mixed], weights[mixed], LEVELS), quantiles(X, weights, LEVELS)
    )


def test_the_scale_is_the_median_absolute_deviation():
    rows = RNG.normal(size=(1000, 2)) * [1.0, 50.0] + [3.0, -7.0]
    centre, scale = centre_and_scale(rows, np.ones(1000))
    np.testing.assert_allclose(centre, np.median(rows, axis=0))
    np.testing.assert_allclose(scale, median_abs_deviation(rows, scale="normal"))
    np.testing.assert_allclose(scale, [1.0, 50.0], rtol=0.1)


def test_a_count_that_is_mostly_zero_has_a_scale():
    """And a constant has one; in scales nothing is too far out for float32."""
    counts = np.zeros(100)
    counts[:10] = np.arange(1, 11)
    tiny = np.where(np.arange(100) == 0, 1e30, 1e-10 * np.arange(100))
    rows = np.column_stack([counts, np.full(100, 7.0), tiny])
    centre, scale = centre_and_scale(rows, np.ones(100))
    np.testing.assert_allclose(scale[:2], [1.4826022 * 5.5, 1.0])
    np.testing.assert_array_equal(centre[:2], [0.0, 7.0])
    assert np.max(np.abs(tiny - centre[2]) / scale[2]) == pytest.approx(1e30)


def test_values_are_counted_among_rows_that_count():
    rows = np.column_stack([np.arange(20.0), np.arange(20.0) % 3, np.arange(20.0) % 10])
    np.testing.assert_array_equal(has_many_values(rows, np.ones(20), 10), [True, False, True])
    weights = np.where(np.arange(20) < 9, 1.0, 0.0)
    np.testing.assert_array_equal(has_many_values(rows, weights, 10), [False, False, False])
