"""Fitting to rows on disk and predicting for them: the same model, real files, bounded memory."""

import tracemalloc

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fewknots import DataError, GPClassifier, load

RNG = np.random.default_rng(3)
N = 2000
TABLE = pd.DataFrame(RNG.normal(size=(N, 2)) * [1.0, 50.0] + [0.0, 1000.0], columns=["a", "b"])
TABLE["late"] = np.where(
    TABLE.a**2 + (TABLE.b - 1000.0) / 50.0 + 0.4 * RNG.normal(size=N) > 0.8, "yes", "no"
)
TABLE["id"] = np.arange(N)
INPUTS = TABLE[["a", "b"]]


def small(**arguments):
    defaults = {"n_inducing": 10, "optimizer": "natural_gradient", "batch_size": 200}
    defaults |= {"max_iter": 500, "random_state": 0}
    return GPClassifier(**(defaults | arguments))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The same rows in every format, sorted by label: the worst order there is."""
    folder = tmp_path_factory.mktemp("files")
    table = TABLE.sort_values("late", ignore_index=True)
    table.to_parquet(folder / "rows.parquet", row_group_size=300)
    table.to_csv(folder / "rows.csv", index=False)
    table.to_feather(folder / "rows.feather")
    parts = folder / "parts"
    parts.mkdir()
    table[:700].to_parquet(parts / "1.parquet")
    table[700:].to_parquet(parts / "2.parquet")
    np.save(folder / "rows.npy", table[["a", "b"]].to_numpy())
    np.save(folder / "labels.npy", (table.late == "yes").to_numpy())
    return folder


@pytest.fixture(scope="module")
def streamed(files):
    return small().fit_stream(files / "rows.parquet", "late", features=["a", "b"])


def test_a_stream_teaches_what_a_table_teaches(streamed):
    table = small().fit(INPUTS, TABLE.late)
    np.testing.assert_array_equal(streamed.classes_, table.classes_)
    np.testing.assert_array_equal(streamed.feature_names_in_, ["a", "b"])
    p, q = (clf.predict_proba(INPUTS)[:, 1] for clf in (streamed, table))
    assert np.mean(np.abs(p - q)) < 0.03
    assert streamed.score(INPUTS, TABLE.late) > 0.87
    assert streamed.log_evidence_ == pytest.approx(table.log_evidence_, rel=0.05)
    np.testing.assert_allclose(streamed._standardiser.mean, table._standardiser.mean, rtol=1e-12)
    np.testing.assert_allclose(streamed._standardiser.scale, table._standardiser.scale, rtol=1e-12)


@pytest.mark.parametrize("source", ["rows.csv", "rows.feather", "parts", "parts/*.parquet"])
def test_every_format_gives_the_same_model(source, files, streamed):
    features = ["a", "b"]
    found = small().fit_stream(str(files / source), "late", features=features)
    np.testing.assert_array_equal(found.posterior_.mean, streamed.posterior_.mean)


def test_arrays_and_iterators_give_the_same_model(files, streamed):
    found = small().fit_stream(files / "rows.npy", files / "labels.npy")
    np.testing.assert_array_equal(found.posterior_.mean, streamed.posterior_.mean)
    X, labels = np.load(files / "rows.npy"), np.load(files / "labels.npy")
    pieces = np.array_split(np.arange(N), 7)
    found = small().fit_stream(lambda: ((X[piece], labels[piece]) for piece in pieces))
    np.testing.assert_array_equal(found.posterior_.mean, streamed.posterior_.mean)
    assert not hasattr(found, "feature_names_in_")


def test_weights_from_a_column_and_by_class(files, tmp_path):
    table = TABLE.assign(w=np.where(TABLE.late == "yes", 3.0, 1.0))
    table.to_parquet(tmp_path / "weighted.parquet")
    arguments = {"features": ["a", "b"], "target": "late"}
    by_column = small().fit_stream(tmp_path / "weighted.parquet", weight="w", **arguments)
    by_class = small(class_weight={"yes": 3.0}).fit_stream(
        tmp_path / "weighted.parquet", **arguments
    )
    p, q, plain = (
        clf.predict_proba(INPUTS)[:, 1].mean()
        for clf in (by_column, by_class, small().fit(INPUTS, TABLE.late))
    )
    assert p == pytest.approx(q, abs=0.02)
    assert p > plain + 0.05


def test_a_held_out_slice(files):
    clf = small(validation_fraction=0.2).fit_stream(files / "rows.parquet", "late", features=["a"])
    assert np.all(np.isfinite(clf.history_["held_out_nlp"]))


def test_predictions_stream_too(files, streamed, tmp_path):
    out = tmp_path / "scored.parquet"
    assert streamed.predict_stream(files / "rows.parquet", out, keep=["id"]) == N
    scored = pq.read_table(out).to_pandas()
    assert list(scored) == ["id", "p_no", "p_yes", "prediction"]
    ordered = TABLE.set_index("id").loc[scored.id]
    want = streamed.predict_proba(ordered[["a", "b"]])
    np.testing.assert_allclose(scored[["p_no", "p_yes"]], want, rtol=1e-12)
    np.testing.assert_array_equal(scored.prediction, streamed.predict(ordered[["a", "b"]]))
    assert [path.name for path in tmp_path.iterdir()] == ["scored.parquet"]
    # a model without column names, from arrays
    streamed.save(tmp_path / "model.fewknots")
    again = load(tmp_path / "model.fewknots")
    assert again.predict_stream(files / "rows.csv", out) == N


def test_a_prediction_that_fails_leaves_nothing(files, streamed, tmp_path):
    (tmp_path / "old.parquet").write_bytes(b"the file before")
    bad = TABLE.copy()
    bad.loc[1500, "b"] = np.nan
    bad.to_parquet(tmp_path / "bad.parquet")
    with pytest.raises(DataError, match=r"bad.parquet, row 1501.*'b'"):
        streamed.predict_stream(tmp_path / "bad.parquet", tmp_path / "old.parquet")
    assert (tmp_path / "old.parquet").read_bytes() == b"the file before"
    assert len(list(tmp_path.iterdir())) == 2
    with pytest.raises(ValueError, match="the source has 3 features"):
        small().fit(RNG.normal(size=(50, 2)), np.arange(50) % 2).predict_stream(
            RNG.normal(size=(5, 3)), tmp_path / "old.parquet"
        )


def test_bad_rows_leave_the_old_model_and_no_scratch_file(streamed, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    rows = pa.table({"a": [1.0, 2.0, 3.0], "late": ["x", "x", "x"]})
    pq.write_table(rows, tmp_path / "one.parquet")
    before = streamed.posterior_
    with pytest.raises(DataError, match="is 'x' in every row that counts"):
        streamed.fit_stream(tmp_path / "one.parquet", "late")
    assert streamed.posterior_ is before
    assert [path.name for path in tmp_path.iterdir()] == ["one.parquet"]


def test_nothing_is_as_long_as_the_stream():
    """What NumPy holds at most does not grow with the rows: ten times as many, the same peak."""

    def peak(blocks):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(50_000, 1))
        y = X[:, 0] + rng.normal(size=50_000) > 0
        tracemalloc.start()
        small(max_iter=2, batch_size=100).fit_stream(lambda: ((X, y) for _ in range(blocks)))
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(2)  # what is imported and compiled once
    assert peak(20) < peak(2) + 4e6  # a number a row would be 7.2e6 bytes


def test_only_minibatch_methods_stream(files):
    with pytest.raises(ValueError, match="streams are trained with minibatches"):
        GPClassifier(method="ep").fit_stream(files / "rows.parquet", "late", features=["a"])


# --- what `fit` refuses, `fit_stream` refuses -----------------------------------------------------


def test_a_warm_local_fit_is_not_continued_by_a_stream():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 2))
    labels = rows[:, 0] > 0
    clf = GPClassifier(method="local", max_iter=2, n_neighbors=8, warm_start=True, random_state=0)
    clf.fit(rows, labels)
    clf.set_params(method="sparse_kl", n_neighbors="auto", n_inducing=5)
    before = clf.posterior_
    with pytest.raises(ValueError, match="continues a fit by method='local'"):
        clf.fit_stream(lambda: iter([(rows, labels)]))
    assert clf.posterior_ is before


def test_weights_that_a_local_rule_cannot_take():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 2))
    clf = GPClassifier(method="local", method_options={"inference": "ep"}, max_iter=2)
    halves = np.full(60, 0.5)
    for fit in (
        lambda: clf.fit(rows, rows[:, 0] > 0, halves),
        lambda: clf.fit_stream(lambda: iter([(rows, rows[:, 0] > 0, halves)])),
    ):
        with pytest.raises(ValueError, match="uses a weight as a number of copies"):
            fit()
