"""What comes after a fit to a raw table: ONNX, reports, effects, streams, Dask."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fewknots import GPClassifier, load
from fewknots.explain import effect, importance, inputs_of, kernel_relevance, without_names
from fewknots.report import write_report

N = 120


@pytest.fixture(scope="module")
def sizes():
    """A fitted classifier of a table with an ordered column, words and gaps, and the table."""
    rng = np.random.default_rng(1)
    size = rng.choice(["l", "m", "s"], N)
    table = pd.DataFrame(
        {
            "size": pd.Categorical(size, ["s", "m", "l"], ordered=True),
            "x": np.where(np.arange(N) % 9 == 0, np.nan, rng.normal(size=N)),
            "city": rng.choice(["Oslo", "Rome"], N),
            "same": 1.0,
            "wait": pd.to_timedelta(rng.integers(0, 50, N), "h"),
        }
    )
    table.loc[4, "size"] = None
    y = np.where((size == "l") ^ (table["city"] == "Rome"), "no", "yes")
    clf = GPClassifier(n_inducing=12, learn_inducing=False, tol=0.1, random_state=0)
    with pytest.warns(UserWarning, match="'same' never changes"):
        clf.fit(table, y)
    return clf, table, y


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-5), ("float64", 1e-10)])
def test_a_graph_of_the_columns(sizes, dtype, tolerance, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    clf, table, _ = sizes
    clf.to_onnx(tmp_path / "m.onnx", dtype=dtype)
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    values = {
        "size": table["size"].astype(object).fillna("").to_numpy(object),
        "x": table["x"].to_numpy(),
        "city": table["city"].to_numpy(object),
        "wait": (table["wait"] / pd.Timedelta(days=1)).to_numpy(),
    }
    (found,) = session.run(["probabilities"], values)
    assert np.abs(found - clf.predict_proba(table)).max() < tolerance
    values["size"][:] = "another"  # a gap
    (found,) = session.run(["probabilities"], values)
    gaps = table.assign(size=pd.Categorical(["another"] * N))
    assert np.abs(found - clf.predict_proba(gaps)).max() < tolerance


def with_gaps(moons):
    X, y = moons
    X = X.copy()
    X[::7, 1] = np.nan
    return X, y


def test_a_graph_of_an_array_with_gaps(moons, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    X, y = with_gaps(moons)
    clf = GPClassifier(n_inducing=8, learn_kernel=False, random_state=0).fit(X, y)
    clf.to_onnx(tmp_path / "m.onnx", dtype="float64")
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    (found,) = session.run(["probabilities"], {"X": X})
    np.testing.assert_allclose(found, clf.predict_proba(X), atol=1e-10)


def test_effects_are_those_of_the_table_s_columns(sizes):
    clf, table, _ = sizes
    rows = without_names(clf, table)
    inputs = {one.name: one for one in inputs_of(rows)}
    assert list(inputs) == ["size", "x", "city", "wait"]
    size = effect(rows, inputs["size"])
    assert size.labels == ("s", "m", "l", "(missing)")
    assert size.probability[2] != pytest.approx(size.probability[0], abs=1e-3)
    assert effect(rows, inputs["city"]).labels == ("Oslo", "Rome")
    assert effect(rows, inputs["x"]).missing is not None
    assert kernel_relevance(rows).names == clf.recipe_.feature_names
    # an array with as many columns as the table is the table
    again = without_names(clf, table.to_numpy(object))
    np.testing.assert_array_equal(again.X[:, 2:], rows.X[:, 2:])


def test_a_column_is_found_by_its_name(sizes):
    clf, table, _ = sizes
    rows = without_names(clf, table)
    assert effect(rows, "city").labels == ("Oslo", "Rome")
    assert effect(rows, "x").missing is not None
    assert effect(rows, "city=Rome").values.tolist() == [0.0, 1.0]  # an input of it
    with pytest.raises(ValueError, match="no column 'town'; the columns are size, x, city, wait"):
        effect(rows, "town")


def test_the_effect_of_a_column_is_drawn_with_its_levels(sizes):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from fewknots import plots

    clf, table, _ = sizes
    ax = plots.plot_effects(clf, table, "size")
    assert [text.get_text() for text in ax.get_xticklabels()] == ["s", "m", "l", "(missing)"]
    assert ax.get_xlabel() == "size"


def test_the_effect_of_a_date_is_drawn_over_the_calendar():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from fewknots import plots

    days = np.arange(0, 600, 5)
    table = pd.DataFrame({"day": pd.Timestamp("2024-01-01") + pd.to_timedelta(days, "D")})
    clf = GPClassifier("rbf", n_inducing=8, warp=None, learn_kernel=False).fit(table, days > 300)
    ax = plots.plot_effects(clf, table, "day")
    assert effect(without_names(clf, table), "day").kind == "date"
    ax.figure.canvas.draw()
    assert "2025" in [text.get_text() for text in ax.get_xticklabels()]


def test_importance_takes_labels_in_any_order(sizes):
    clf, table, y = sizes
    places = np.searchsorted(clf.classes_, y)
    order = np.random.default_rng(0).permutation(N)
    labels = pd.Series(y).iloc[order]  # its index is the old place, and says nothing here
    found = importance(without_names(clf, table.iloc[order]), labels)
    assert found.names == ("size", "x", "city", "wait")
    assert set(found.order[:2]) == {0, 2}
    again = importance(without_names(clf, table.iloc[order]), clf.classes_[places[order]])
    np.testing.assert_array_equal(found.loss, again.loss)
    with pytest.raises(ValueError, match="the label of row 0 is 'maybe', but the classifier knows"):
        importance(without_names(clf, table), np.full(N, "maybe"))


def test_effects_of_an_array_with_gaps(moons):
    X, y = with_gaps(moons)
    clf = GPClassifier(n_inducing=8, learn_kernel=False, random_state=0).fit(X, y)
    rows = without_names(clf, X)
    assert rows.names == ("x0", "x1", "x1 (missing)", "x2")
    assert np.isfinite(effect(rows, inputs_of(rows)[1]).probability).all()


def test_a_report_of_a_raw_table(sizes, tmp_path):
    clf, table, y = sizes
    write_report(tmp_path / "report.html", clf, table, y)
    page = (tmp_path / "report.html").read_text()
    for name in ("size", "city", "wait", "Oslo"):
        assert name in page
    assert ">city<" in page
    write_report(tmp_path / "with_rows.html", clf, table, y, rows=table)
    with_rows = (tmp_path / "with_rows.html").read_text()
    assert ">city=Rome</button>" in page  # in the tables of single rows: the inputs, or the table
    assert ">city=Rome</button>" not in with_rows


def test_streams_are_numbers(sizes, moons, tmp_path):
    clf, table, _ = sizes
    table.drop(columns="wait").to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match="with text, categories or dates, and predict_stream"):
        clf.predict_stream(tmp_path / "rows.parquet", tmp_path / "out.parquet")
    X, y = with_gaps(moons)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    clf = GPClassifier(n_inducing=8, learn_kernel=False, random_state=0).fit(frame, y)
    whole = frame.dropna()
    whole.to_parquet(tmp_path / "whole.parquet")
    assert clf.predict_stream(tmp_path / "whole.parquet", tmp_path / "out.parquet") == len(whole)
    found = pq.read_table(tmp_path / "out.parquet")["p_1"].to_numpy()
    np.testing.assert_array_equal(found, clf.predict_proba(whole)[:, 1])


def test_partitions_of_a_raw_table(sizes):
    dask = pytest.importorskip("dask")
    dataframe = pytest.importorskip("dask.dataframe")
    clf, table, _ = sizes
    with dask.config.set(scheduler="synchronous"):
        found = clf.predict_proba(dataframe.from_pandas(table, npartitions=3)).compute()
    np.testing.assert_allclose(found.to_numpy(), clf.predict_proba(table), rtol=1e-12)


SETS = (
    "mlc_churn", "credit_data", "hpc_data", "attrition", "stackoverflow", "lending_club",
    "diamonds_cut",
)  # fmt: skip


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", SETS)
def test_tables_as_people_have_them(name, tmp_path):
    """Where the folder with these sets is at hand: a few hundred rows, every library."""
    folder = os.environ.get("FEWKNOTS_DATA")
    path = Path(folder or tmp_path) / f"table_{name}.parquet"
    if not path.exists():  # a stand-in with the same kinds of columns
        columns = {"x": [1.5, None, 2.0] * 200, "w": ["u", "v", None, "u"] * 150}
        table = pa.table(columns | {"target": [0, 1] * 300})
        pq.write_table(table, path := tmp_path / "table.parquet")
    rows = np.random.default_rng(0).permutation(pq.read_metadata(path).num_rows)
    table = pq.read_table(path).take(rows[:600])
    y = table["target"].to_numpy(zero_copy_only=False)
    X = table.drop_columns("target")
    clf = GPClassifier(n_inducing=10, max_iter=3, random_state=0).fit(X.slice(0, 300), y[:300])
    p = clf.predict_proba(X.slice(300))
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    for other in (X.to_pandas(), pl.from_arrow(X)):
        np.testing.assert_array_equal(clf.predict_proba(other[300:]), p)
    clf.save(tmp_path / "m.fewknots")
    np.testing.assert_array_equal(load(tmp_path / "m.fewknots").predict_proba(X.slice(300)), p)
