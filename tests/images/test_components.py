"""Components of blocks beside a decomposition of all rows."""

import numpy as np
import pytest

from fewknots.exceptions import DataError
from fewknots.images.components import principal_components

ROWS = np.random.default_rng(0).normal(size=(200, 40)) * np.geomspace(3.0, 0.1, 40) + 50.0


@pytest.mark.parametrize("most", [5, 30])  # Lanczos, and all at once
def test_singular_values_of_the_centred_rows(most):
    found = principal_components(np.array_split(ROWS, 7), most, whitening=0.0)
    centred = ROWS - ROWS.mean(axis=0)
    _, values, axes = np.linalg.svd(centred, full_matrices=False)
    np.testing.assert_allclose(found.variances, values[:most] ** 2 / 199, rtol=1e-8)
    np.testing.assert_allclose(found.mean, ROWS.mean(axis=0), rtol=1e-10)
    scale = np.linalg.norm(found.axes, axis=1, keepdims=True)
    assert np.ptp(scale) < 1e-10
    np.testing.assert_allclose(np.abs(found.axes / scale), np.abs(axes[:most]), atol=1e-6)


@pytest.mark.parametrize("whitening", [0.0, 0.3, 1.0])
def test_whitening_and_mean_variance(whitening):
    found = principal_components([ROWS], 10, whitening)
    variances = np.var((ROWS - found.mean) @ found.axes.T, axis=0, ddof=1)
    assert variances.mean() == pytest.approx(1.0)
    expected = found.variances ** (1.0 - whitening)
    np.testing.assert_allclose(variances, expected / expected.mean(), rtol=1e-8)


def test_no_more_components_than_rows_differ_in():
    copies = np.repeat(ROWS[:4], 25, axis=0).astype(np.float32)
    found = principal_components(np.array_split(copies, 3), 30, whitening=1.0)
    assert len(found.variances) == 3
    assert np.isfinite(found.axes).all()


def test_nothing_to_learn_from():
    with pytest.raises(DataError, match="all images are the same"):
        principal_components([np.ones((10, 4))], 3, 0.5)
    with pytest.raises(DataError, match="got 1"):
        principal_components([np.ones((1, 4))], 3, 0.5)
    with pytest.raises(DataError, match=r"16,385 coefficients, .* a larger J or stride"):
        principal_components([np.ones((2, 16_385))], 3, 0.5)
