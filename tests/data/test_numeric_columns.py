"""Columns that are no numbers where numbers are needed: the error names one, and what to do."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from fewknots import GPClassifier, GPRegressor
from fewknots.data.tables import with_numeric_columns

N = 6
A = np.arange(N) * 1.0
DAYS = [datetime.date(2020, 1, 1 + i) for i in range(N)]
TIMES = [datetime.datetime(2020, 1, 1 + i) for i in range(N)]

DATES = "dates.*days since"
NO_RECIPE = ("lists", "structs", "complex")
TEXT = "could not convert string to float: column 'when' .*OneHotEncoder.*fewknots fit"
REFUSED = {
    "pandas dates": (pd.DataFrame({"a": A, "when": pd.to_datetime(TIMES)}), DATES),
    "pandas dates with zone": (pd.DataFrame({"when": pd.to_datetime(TIMES, utc=True)}), DATES),
    "pandas durations": (pd.DataFrame({"when": pd.to_timedelta(A, unit="h")}), "durations"),
    "pandas periods": (pd.DataFrame({"when": pd.period_range("2020", periods=N)}), DATES),
    "pandas objects: dates": (pd.DataFrame({"when": DAYS}), "row 0.*days since"),
    "pandas objects: text": (pd.DataFrame({"a": A, "when": ["u", "v"] * 3}), TEXT),
    "pandas objects: mixed": (pd.DataFrame({"when": [1, "u"] * 3}), "'u' in row 1"),
    "pandas text": (pd.DataFrame({"when": pd.array(["u", "v"] * 3, "string")}), TEXT),
    "pandas categories": (pd.DataFrame({"when": pd.Categorical(["u", "v"] * 3)}), TEXT),
    "pandas lists": (pd.DataFrame({"when": [[1, 2]] * N}), r"\[1, 2\] in row 0"),
    "pandas complex": (pd.DataFrame({"when": A + 1j}), "Complex data not supported: column"),
    "pandas arrow": (
        pd.DataFrame({"when": pd.Series(pd.to_datetime(TIMES)).astype("timestamp[ns][pyarrow]")}),
        DATES,
    ),
    "polars dates": (pl.DataFrame({"a": A, "when": DAYS}), DATES),
    "polars times": (pl.DataFrame({"when": TIMES}), DATES),
    "polars durations": (pl.DataFrame({"when": [datetime.timedelta(1)] * N}), "durations"),
    "polars text": (pl.DataFrame({"when": ["u", "v"] * 3}), TEXT),
    "polars structs": (pl.DataFrame({"when": [{"b": 1}] * N}), "values of type struct"),
    "polars lists": (pl.DataFrame({"when": [[1, 2]] * N}), "values of type list"),
    "pyarrow dates": (pa.table({"a": A, "when": DAYS}), "days since"),
    "pyarrow times": (pa.table({"a": A, "when": TIMES}), DATES),
    "pyarrow text": (pa.table({"a": A, "when": ["u", "v"] * 3}), "column 'when'.*OneHotEncoder"),
}


@pytest.mark.parametrize(("table", "message"), REFUSED.values(), ids=REFUSED)
def test_the_column_is_named(table, message):
    """As on a cluster, which has no recipe."""
    with pytest.raises((TypeError, ValueError), match=message) as error:
        with_numeric_columns(table)
    assert "column 'when' of X" in str(error.value)


@pytest.mark.parametrize("name", [name for name in REFUSED if name.split()[1] in NO_RECIPE])
def test_what_no_recipe_can_read(name):
    table, message = REFUSED[name]
    with pytest.raises((TypeError, ValueError), match=message) as error:
        GPClassifier().fit(table, [0, 1] * 3)
    assert "column 'when' of X" in str(error.value)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.array([[1.0, "u"]] * N, object), "column 1 of X holds 'u' in row 0"),
        (np.array([["1.0", "u"]] * N), "column 1 of X holds 'u' in row 0"),
        ([[1.0, "u"]] * N, "column 1 of X holds 'u' in row 0"),
        ([[1.0, DAYS[0]]] * N, "column 1 of X holds datetime.date.*days since"),
        (np.zeros((N, 2), "M8[D]"), "column 0 of X holds dates"),
        (np.zeros((N, 2), "m8[s]"), "column 0 of X holds durations"),
        (np.zeros((N, 2), complex), "column 0 of X holds complex numbers"),
    ],
)
def test_arrays_and_lists_name_its_number(X, message):
    for estimator in (GPClassifier(), GPRegressor()):
        with pytest.raises((TypeError, ValueError), match=message):
            estimator.fit(X, [0, 1] * 3)


def test_predicting_names_it_too():
    numbers = pd.DataFrame({"a": A, "when": A})
    clf = GPClassifier(learn_kernel=False).fit(numbers, [0, 1] * 3)
    with pytest.raises(ValueError, match=r"column 'when' of X holds dates"):
        clf.predict(pd.DataFrame({"a": A, "when": pd.to_datetime(TIMES)}))


@pytest.mark.parametrize(
    "column",
    [
        pd.array([1, 2] * 3, "Int64"),
        pd.array([True, False] * 3, "boolean"),
        pd.array([1, 2] * 3, "int64[pyarrow]"),
        A.astype(object),
        ["1.5", "2"] * 3,
        [True, False] * 3,
    ],
    ids=str,
)
def test_numbers_of_any_type_are_taken(column):
    table = pd.DataFrame({"a": A, "b": column})
    assert with_numeric_columns(table) is table
    GPClassifier(learn_kernel=False).fit(table, [0, 1] * 3)


@pytest.mark.parametrize("y", [np.zeros(N, "M8[D]"), np.array(["1", "u"] * 3)])
def test_a_regressor_wants_numbers(y):
    with pytest.raises(ValueError, match=r"which is not a number\. A regressor learns numbers"):
        GPRegressor().fit(A[:, None], y)
