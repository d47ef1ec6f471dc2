"""Thresholds and lift, against counting row by row."""

import numpy as np
import pytest

from fewknots.report.decisions import thresholds
from fewknots.report.lift import gains


@pytest.mark.parametrize("shape", ["usual", "rare", "rounded", "certain"])
def test_counts_are_exact_at_every_threshold(shape):
    rng = np.random.default_rng(4)
    p = rng.random(500)
    if shape == "rare":
        p = 0.002 * p**3
    elif shape == "rounded":
        p = np.round(p, 2)  # as many rows stand at a threshold as beside it
    elif shape == "certain":
        p = np.round(p)
    y = (rng.random(500) < p).astype(int)
    found = thresholds(p, y)
    for value, hits, alarms in zip(*found, strict=True):
        assert hits == np.sum((p > value) & (y == 1))
        assert alarms == np.sum((p > value) & (y == 0))
    assert 0.5 in found.values
    assert np.all(np.diff(found.values) > 0)
    assert len(found.values) <= 202
    assert len({f"{value:g}" for value in found.values}) == len(found.values)
    called = found.hits + found.alarms
    if shape == "rare":  # a slider of hundredths alone would call all rows alike
        assert len(np.unique(called)) > 80


def test_gains_count_the_positive_rows_among_the_first():
    rng = np.random.default_rng(2)
    p = rng.random(200)
    y = (rng.random(200) < p).astype(int)
    first = np.argsort(-p)
    taken = np.arange(0, 201, 5)
    expected = [y[first[:n]].sum() / y.sum() for n in taken]
    assert gains(p, y, taken / 200) == pytest.approx(expected)


def test_gains_do_not_depend_on_the_order_of_equal_rows():
    y = np.array([1, 1, 0, 0, 1, 0, 0, 0, 0, 0])
    p = np.array([0.5] * 4 + [0.9] + [0.1] * 5)
    taken = np.linspace(0, 1, 11)
    found = gains(p, y, taken)
    assert found == pytest.approx(gains(p[::-1], y[::-1], taken))
    assert found[:6] == pytest.approx([0, 1 / 3, 1 / 2, 2 / 3, 5 / 6, 1])
    assert gains(np.full(10, 0.3), y, taken) == pytest.approx(taken)
