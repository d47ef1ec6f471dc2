"""A table's columns as inputs of the graph, beside `TableModel.predict_proba`."""

import warnings

import numpy as np
import pandas as pd
import pytest

from fewknots import GPClassifier
from fewknots.data.iterator_source import arrow_table
from fewknots.data.sources import Place
from fewknots.export import to_onnx
from fewknots.tables.fit import RunOptions, Task, fit_files

from ..flights_table import flights

onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")

TOLERANCE = {"float32": 1e-5, "float64": 1e-10}


def fitted(table, folder):
    table.to_parquet(folder / "table.parquet")
    classifier = GPClassifier(n_inducing=15, learn_inducing=False, tol=1e-2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit_files(str(folder / "table.parquet"), Task("late"), classifier, RunOptions())


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return fitted(with_gaps(), tmp_path_factory.mktemp("flights"))


def with_gaps():
    """Rows with a gap in each kind of column."""
    table = flights()
    table["weekend"] = table["weekend"].astype("boolean")
    for place, name in enumerate(table.columns.drop("late")):
        table.loc[table.index[place :: 17 + place], name] = None
    return table


def inputs(model, table):
    """What a caller passes: one array a column."""
    values = {}
    for column in model.recipe.columns:
        series = table[column.name]
        if column.kind == "text":
            values[column.name] = series.fillna("").astype(str).to_numpy(object)
        elif column.kind == "date":
            moments = pd.to_datetime(series).to_numpy("datetime64[us]")
            days = moments.astype(np.int64) / 86_400e6
            values[column.name] = np.where(np.isnat(moments), np.nan, days)
        else:
            values[column.name] = pd.to_numeric(series, errors="coerce").to_numpy(
                np.float64, na_value=np.nan
            )
    return values


def run(model, path, table, dtype="float32"):
    model.to_onnx(path, dtype=dtype)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(["probabilities", "label"], inputs(model, table))


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_every_kind_of_column(model, dtype, tmp_path):
    assert {column.kind for column in model.recipe.columns} == {"number", "boolean", "date", "text"}
    table = with_gaps()
    found, labels = run(model, tmp_path / "m.onnx", table, dtype)
    wanted = model.predict_proba(table)
    assert np.abs(found - wanted).max() < TOLERANCE[dtype]
    assert labels.tolist() == np.where(wanted[:, 1] > wanted[:, 0], "yes", "no").tolist()


@pytest.fixture(scope="module")
def three_carriers(model):
    """A classifier of encoded rows, and these rows."""
    table = with_gaps()
    X = model.recipe.encode(arrow_table(table), Place("the table"))
    carrier = table["carrier"].where(table["carrier"].isin(["AA", "DL"]), "other")
    options = {"n_inducing": 15, "learn_inducing": False, "tol": 1e-2, "random_state": 0}
    return GPClassifier(**options).fit(X, carrier), X


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_three_classes(model, three_carriers, dtype, tmp_path):
    classifier, X = three_carriers
    table = with_gaps()
    to_onnx(classifier, tmp_path / "m.onnx", dtype=dtype, recipe=model.recipe)
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    found, labels = session.run(["probabilities", "label"], inputs(model, table))
    wanted = classifier.predict_proba(X)
    assert np.abs(found - wanted).max() < TOLERANCE[dtype]
    assert labels.tolist() == classifier.predict(X).tolist()


def test_a_level_that_is_new(model, tmp_path):
    table = with_gaps()
    for column in model.recipe.columns:
        if column.kind == "text":
            table[column.name] = "never seen"
    found, _ = run(model, tmp_path / "m.onnx", table, "float64")
    np.testing.assert_allclose(found, model.predict_proba(table), atol=1e-10)


def test_a_gap_where_there_was_none(tmp_path):
    """`predict` refuses such a row; a graph cannot, and knows nothing of it."""
    table = flights()
    model = fitted(table, tmp_path)
    table.loc[table.index[3], "distance"] = np.nan
    found, _ = run(model, tmp_path / "m.onnx", table)
    assert np.isnan(found[3]).all()
    assert np.isfinite(np.delete(found, 3, axis=0)).all()


def test_columns_with_names_of_the_graphs_own(tmp_path):
    table = flights().rename(columns={"distance": "array_0", "carrier": "Mul_7"})
    model = fitted(table, tmp_path)
    found, _ = run(model, tmp_path / "m.onnx", table, "float64")
    np.testing.assert_allclose(found, model.predict_proba(table), atol=1e-10)
    model = fitted(table.rename(columns={"array_0": "label"}), tmp_path)
    with pytest.raises(ValueError, match="cannot be called 'label'"):
        model.to_onnx(tmp_path / "no.onnx")
    assert not (tmp_path / "no.onnx").exists()
