"""Tables in memory of every unlikely kind: a clear error or finite features."""

import datetime
import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fewknots import GPClassifier
from fewknots.tables.recipe.input_columns import InputColumns

SETTINGS = settings(max_examples=60, deadline=None)

cells = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(["1", "2.5", "nan", "2024-01-31", "x", ""]),
    st.dates(),
    st.datetimes(),
    st.timedeltas(),
    st.sampled_from([pd.NA, pd.NaT, np.float32(2.0), np.int8(3), b"bytes", (1, 2), {"a": 1}]),
)
columns_of_one_kind = st.sampled_from(
    [
        st.one_of(st.none(), st.floats(allow_nan=True, allow_infinity=False, width=32)),
        st.one_of(st.none(), st.booleans()),
        st.one_of(st.none(), st.integers(-1000, 1000)),
        st.one_of(st.none(), st.sampled_from(["a", "b", "2024-01-31", "7"])),
        st.one_of(st.none(), st.dates(datetime.date(1700, 1, 1), datetime.date(2200, 1, 1))),
        st.one_of(st.none(), st.timedeltas(datetime.timedelta(-9), datetime.timedelta(9))),
        st.one_of(st.none(), st.times()),
        cells,
    ]
)


def encoded(table):
    """Features of a table as a fit makes them; None and the reason, if it says why it cannot."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return GPClassifier()._encoded(table, None)
        except (ValueError, TypeError) as error:
            said = str(error)
    assert "X" in said or "column" in said
    assert len(said) < 2000
    return None


def check(table):
    found = encoded(table)
    if found is None:
        return
    columns, X = found
    assert X.shape == (len(table), len(columns.feature_names))
    assert np.isfinite(X).all()
    again = InputColumns.from_header(json.loads(json.dumps(columns.header())))
    assert again == columns
    np.testing.assert_array_equal(GPClassifier()._encoded(table, again)[1], X)


def drawn(data, n_rows, width):
    return {
        f"c{number}": data.draw(
            st.lists(data.draw(columns_of_one_kind), min_size=n_rows, max_size=n_rows)
        )
        for number in range(width)
    }


@SETTINGS
@given(data=st.data(), n_rows=st.integers(1, 12), width=st.integers(1, 4))
def test_pandas(data, n_rows, width):
    columns = drawn(data, n_rows, width)
    check(pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()}))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pandas tries whether 2.0**63 is an integer
            inferred = pd.DataFrame(columns).convert_dtypes()
    except (ValueError, TypeError, OverflowError, pa.ArrowException):
        return  # pandas has no such table
    check(inferred)


@SETTINGS
@given(data=st.data(), n_rows=st.integers(1, 12), width=st.integers(1, 4))
def test_polars_and_pyarrow(data, n_rows, width):
    columns = drawn(data, n_rows, width)
    for table in (pl.DataFrame, pa.table):
        try:
            made = table(columns)
        except (ValueError, TypeError, OverflowError, pl.exceptions.PolarsError, pa.ArrowException):
            continue  # neither has columns of several types
        check(made)


@SETTINGS
@given(
    levels=st.lists(st.one_of(st.integers(), st.text(max_size=3)), unique=True, min_size=1),
    data=st.data(),
    ordered=st.booleans(),
)
def test_categories(levels, data, ordered):
    codes = data.draw(st.lists(st.integers(-1, len(levels) - 1), min_size=1, max_size=20))
    column = pd.Categorical.from_codes(codes, levels, ordered=ordered)
    check(pd.DataFrame({"c": column, "x": np.arange(float(len(codes)))}))


@pytest.mark.parametrize("names", [[1, 2], ["a", 2], [None, "b"], ["<b>", " "], [("a", 1), "b"]])
def test_names_of_any_kind(names):
    table = pd.DataFrame([[1.0, "u"], [2.0, "v"], [np.nan, "u"]], columns=pd.Index(names))
    check(table)
