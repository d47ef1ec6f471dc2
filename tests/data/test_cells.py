"""The text of cells as numbers and moments, column by column and one by one."""

import math
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fewknots.data import cells


@pytest.mark.parametrize(
    ("text", "with_point", "with_comma"),
    [
        ("1", 1, 1),
        (" 1.5 ", 1.5, None),
        ("1,5", None, 1.5),
        ("1,000", 1000, 1),
        ("1.000", 1, 1000),
        ("-1,234,567.25", -1234567.25, None),
        ("-1.234.567,25", None, -1234567.25),
        ("1'000.5", 1000.5, None),
        ("1\u00a0000", 1000, 1000),
        ("1,00,000", None, None),
        ("1,234'567", None, None),
        ("0,123", None, 0.123),
        ("1e3", 1000, 1000),
        ("+.5", 0.5, None),
        ("inf", math.inf, math.inf),
        ("1_000", None, None),
        ("0x10", None, None),
        ("12 345", None, None),
        ("\u0661", None, None),  # a digit, but not one that is meant here
        ("", None, None),
    ],
)
def test_numbers(text, with_point, with_comma):
    assert cells.number(text, ".") == with_point
    assert cells.number(text, ",") == with_comma


@pytest.mark.parametrize(
    "word",
    ["", " ", "NA", "na", "N/A", "NA?", "#N/A", "-", "--", "null", "NULL", "None", "?", "nan"],
)
def test_gaps(word):
    values, unreadable = cells.numbers(pa.array(["1", word, None, "2,000"]), ".")
    np.testing.assert_array_equal(values, [1, np.nan, np.nan, 2000])
    assert not unreadable.any()
    days, unreadable = cells.moments(pa.array([word, "1970-01-02"]))
    np.testing.assert_array_equal(days, [np.nan, 1])
    assert not unreadable.any()


def test_what_is_neither_a_number_nor_a_gap():
    values, unreadable = cells.numbers(pa.array(["1", "one", "", "true"]), ".")
    np.testing.assert_array_equal(values, [1, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(unreadable, [False, True, False, True])
    values, unreadable = cells.numbers(pa.array(["TRUE", "false", "1", "0"]), ".", flags=True)
    np.testing.assert_array_equal(values, [1, 0, 1, 0])
    assert not unreadable.any()


numbers = st.floats(-1e15, 1e15).map(repr)


@settings(deadline=None)
@given(st.lists(st.one_of(numbers, st.sampled_from(["NA", "-", "", "7"])), max_size=20))
def test_a_column_at_once_is_its_cells_one_by_one(texts):
    """One cell with groups of thousands must not change how the others are read."""
    at_once, _ = cells.numbers(pa.array(texts, pa.string()), ".")
    one_by_one, unreadable = cells.numbers(pa.array([*texts, "1,000"], pa.string()), ".")
    np.testing.assert_array_equal(one_by_one, [*at_once, 1000.0])
    assert not unreadable.any()
    with_commas = [text.replace(".", ",") for text in texts]
    np.testing.assert_array_equal(
        cells.numbers(pa.array(with_commas, pa.string()), ",")[0], at_once
    )


@settings(deadline=None)
@given(st.lists(st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)), min_size=1, max_size=10))
def test_moments_are_the_same_in_every_form(moments):
    expected = [(m - datetime(1970, 1, 1)).total_seconds() / 86_400 for m in moments]
    forms = {
        "T": [m.isoformat() for m in moments],
        "space": [m.isoformat(" ") for m in moments],
        "zone": [m.replace(tzinfo=UTC).isoformat() for m in moments],
        "with a gap": [*(m.isoformat() for m in moments), "NA?"],
    }
    for texts in forms.values():
        assert all(cells.is_moment(text) for text in texts if not cells.is_gap(text))
        days, unreadable = cells.moments(pa.array(texts))
        np.testing.assert_allclose(days[: len(moments)], expected, rtol=0, atol=1e-6)
        assert not unreadable.any()
    assert cells.have_zone(pa.array(forms["zone"])).all()
    assert not cells.have_zone(pa.array(forms["T"])).any()


@pytest.mark.parametrize(
    "text", ["2024-02-30", "31.12.2024", "2024", "yesterday", "20241231", "12:30"]
)
def test_what_is_no_moment(text):
    assert not cells.is_moment(text)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["0", "1"], [0, 1]),
        (["1", "2.5", "NA"], [1, 2.5, None]),
        (["True", "false", ""], [True, False, None]),
        (["yes", "1", ""], ["yes", "1", ""]),
        (["yes", "NA"], ["yes", "NA"]),
    ],
)
def test_labels(texts, expected):
    found = cells.typed_labels(texts, ["."] * len(texts))
    assert found == expected
    assert [type(value) for value in found] == [type(value) for value in expected]
