"""What looks odd about a column, from a sample of its rows."""

import numpy as np
import pytest

from fewknots.tables.recipe.learner import RowSample
from fewknots.tables.recipe.profile import suspicions

RNG = np.random.default_rng(0)
N = 500
Y = (RNG.random(N) < 0.3).astype(float)


def notes(values, kind="number", name="x", leading_zeros=False, y=Y):
    return " ".join(suspicions(name, kind, leading_zeros, np.asarray(values, float), y))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (Y * 10 + RNG.normal(size=N), "number"),
        (-Y * 10 + RNG.normal(size=N), "number"),
        (np.where(Y == 1, RNG.choice([1, 3], N), 2), "number"),  # not in order, but by value
        (np.where(Y == 1, 7, 8), "text"),
        (np.where(Y == 1, RNG.normal(size=N), np.nan), "number"),  # only known of some
        (19_000 + 100 * Y + RNG.random(N), "date"),
    ],
)
def test_a_leak(values, kind):
    assert "a leak?" in notes(values, kind)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (Y + RNG.normal(size=N), "number"),
        (RNG.normal(size=N), "number"),
        (np.arange(N), "number"),
        (RNG.permutation(N), "text"),  # an identifier tells everything and nothing
        (np.where(RNG.random(N) < 0.2, np.nan, 1.0), "number"),
    ],
)
def test_no_leak(values, kind):
    assert "leak" not in notes(values, kind)


def test_a_rare_class_is_no_leak():
    """A column that never changes is right in 99.5 % of the rows, and tells nothing."""
    rare = np.zeros(N)
    rare[:12] = 1.0
    assert "leak" not in notes(RNG.choice([1.0, 2.0], N), y=rare)
    assert "leak" in notes(rare, y=rare)


def test_an_identifier():
    assert "an identifier?" in notes(RNG.permutation(N) + 1000)
    assert "an identifier?" in notes(RNG.permutation(N), "text")
    assert "identifier" not in notes(RNG.normal(size=N))  # measured
    assert "identifier" not in notes(RNG.integers(0, 1000, N))
    assert "identifier" not in notes(np.arange(N), "date")


@pytest.mark.parametrize("name", ["zip", "ZIP_code", "plz", "home_postcode", "Postleitzahl"])
def test_a_zip_code_by_its_name(name):
    assert "a zip code?" in notes(RNG.integers(0, 99_999, N), name=name)


def test_a_zip_code_by_its_values():
    assert "a zip code?" in notes(10_000 + RNG.integers(0, 50, N))
    assert "leading zeros" in notes(RNG.integers(0, 50, N), leading_zeros=True)
    assert notes(RNG.integers(0, 50, N)) == ""
    assert notes(RNG.normal(size=N), name="zipper") == ""


def test_a_sample_is_spread_over_all_rows_and_bounded():
    sample = RowSample(["row"])
    seen = 0
    for size in (1, 7, 5000, 65_536, 65_536, 300):
        sample.add(size, lambda name, rows, first=seen: (first + rows).astype(float))
        seen += size
    held = sample["row"]
    assert 2000 < len(held) <= 8192
    assert set(np.diff(held)) == {32.0}
    assert held[0] == 0
    assert held[-1] > seen - 33
