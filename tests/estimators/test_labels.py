"""Labels of every kind: they come back as they were, also from a file, or are refused at once."""

import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fewknots import DataError, GPClassifier, load

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 2))
SIDE = (X[:, 0] > 0).astype(int)
DAY, NEXT = datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)


def quick(**arguments):
    return GPClassifier(learn_kernel=False, **arguments)


def of(*labels):
    """An array of dtype object with one of two labels a row."""
    column = np.empty(len(SIDE), object)
    column[:] = [labels[side] for side in SIDE]
    return column


KEPT = {
    **{f"dtype {code}": SIDE.astype(code) for code in "?bBhHiIlLqQefd"},
    **{
        f"dates by {unit}": np.array([-3, 5], f"M8[{unit}]")[SIDE]
        for unit in ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "25s")
    },
    "durations": np.array([1, 2], "m8[s]")[SIDE],
    "big end first": SIDE.astype(">i4"),
    "texts": np.array(["no", "yes"])[SIDE],
    "objects: texts": of("no", "yes"),
    "objects: NumPy's texts": of(np.str_("a"), np.str_("b")),
    "objects: booleans": of(False, True),
    "objects: whole numbers": of(1, 2),
    "objects: floats": of(0.0, 1.0),
    "NumPy's long texts": np.array(["a", "b"], np.dtypes.StringDType())[SIDE],
    "very long": np.array(["a" * 20_000, "b" * 20_000])[SIDE],
    "special": of("\x00 \n'\"\\", "😀é"),
    "a zero byte": of("a", "a\x00"),
    "empty": of("", "x"),
    "list": [bool(side) for side in SIDE],
    "pandas Timestamps": pd.Series(pd.to_datetime(["2020-01-01", "2021-01-01"]))[SIDE],
    "pandas Int64": pd.Series(SIDE, dtype="Int64"),
    "pandas boolean": pd.Series(SIDE.astype(bool), dtype="boolean"),
    "pandas string": pd.Series(np.array(["a", "b"])[SIDE], dtype="string"),
    "pandas category": pd.Series(np.array(["a", "b"])[SIDE], dtype="category"),
    "polars dates": pl.Series([(DAY, NEXT)[side] for side in SIDE]),
    "pyarrow dates": pa.array([(DAY, NEXT)[side] for side in SIDE]),
}


@pytest.mark.parametrize("y", KEPT.values(), ids=KEPT)
def test_they_come_back_as_they_were(y, tmp_path):
    before = quick().fit(X, y)
    assert before.classes_.dtype.isnative
    expected = before.classes_[SIDE]
    assert np.mean(before.predict(X) == expected) > 0.8
    before.save(tmp_path / "m.fewknots")
    after = load(tmp_path / "m.fewknots")
    assert after.classes_.dtype == before.classes_.dtype
    assert list(map(type, after.classes_.tolist())) == list(map(type, before.classes_.tolist()))
    assert after.classes_.tolist() == before.classes_.tolist()
    np.testing.assert_array_equal(after.predict(X), before.predict(X))


def test_dtypes_stay():
    for name in ("dates by ns", "dates by Y", "durations", "dtype h", "dtype f"):
        assert quick().fit(X, KEPT[name]).predict(X).dtype == KEPT[name].dtype
    assert quick().fit(X, KEPT["pandas Int64"]).classes_.dtype == np.int64
    assert quick().fit(X, KEPT["objects: booleans"]).classes_.dtype == bool


REFUSED = {
    "date": (of(DAY, NEXT), r"row 0 of y is datetime.date\(.*\), of type date.*datetime64\[s\]"),
    "bytes": (np.array([b"a", b"b"])[SIDE], "bytes. Use texts"),
    "objects: bytes": (of(b"a", b"b"), "of type bytes"),
    "Decimal": (of(decimal.Decimal(1), decimal.Decimal(2)), "of type Decimal"),
    "complex": (np.array([1j, 2j])[SIDE], "Complex data not supported"),
    "float128": (SIDE.astype("g"), "dtype float128"),
    "too large": (of(2**70, 2**71), "a number too large for a label"),
    "mixed": (of(1, "b"), r"y mixes types: row 0 is 'b' \(str\), and row \d+ is 1 \(int\)"),
    "mixed list": ([1 if side else "a" for side in SIDE], "y mixes types"),
    "True and 2": (of(True, 2), "y mixes types"),
    "None": (of(None, "b"), r"row \d+ of y has no label"),
    "NaT": (np.array(["NaT", "2020"], "M8[D]")[SIDE], r"row \d+ of y has no label"),
    "NA": (pd.Series([None, *SIDE[1:]], dtype="Int64"), "row 0 of y has no label"),
    "half a character": (of("\ud800", "x"), "is not a valid text"),
    "endless": (of("a" * 100_001, "x"), "100,001 characters, but at most 100,000 are possible"),
    "one label": (np.zeros(30), r"y holds 1 class \(0\.0\); two"),
    "one text": (np.full(30, "a"), r"y holds 1 class \('a'\); two"),
    "one date": (np.zeros(30, "M8[D]"), r"y holds 1 class \('1970-01-01'\); two"),
}


@pytest.mark.parametrize(("y", "message"), REFUSED.values(), ids=REFUSED)
def test_others_are_refused_before_any_work(y, message):
    reported = []
    with pytest.raises(ValueError, match=message) as error:
        GPClassifier(callback=reported.append).fit(X, y)
    assert not reported
    assert "np." not in str(error.value).replace("np.array", "")


@pytest.mark.parametrize("unit", ["D", "ns", "Y"])
def test_dates_in_streams_and_in_their_predictions(unit, tmp_path):
    y = np.array([0, 1], f"M8[{unit}]")[SIDE]
    clf = quick(n_inducing=5, max_iter=20).fit_stream(lambda: iter([(X, y)]))
    assert clf.classes_.dtype == y.dtype
    clf.save(tmp_path / "m.fewknots")
    np.save(tmp_path / "x.npy", X)
    load(tmp_path / "m.fewknots").predict_stream(tmp_path / "x.npy", tmp_path / "p.parquet")
    found = pq.read_table(tmp_path / "p.parquet")
    names = [f"p_{label}" for label in clf.classes_]
    assert found.column_names == [*names, "prediction"]
    texts = found["prediction"].cast(pa.string()).to_pylist()  # to the nanosecond
    np.testing.assert_array_equal(np.array(texts).astype(y.dtype), clf.predict(X))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (of(DAY, NEXT), "row 0: y is datetime.date"),
        (np.array(["NaT", "2020"], "M8[D]")[SIDE], "y has no value"),
        (np.array([b"a", b"b"])[SIDE], "bytes"),
        (of("\ud800", "x"), "is not a valid text"),
    ],
)
def test_streams_refuse_the_same(y, message):
    with pytest.raises((DataError, ValueError), match=message):
        quick(n_inducing=5).fit_stream(lambda: iter([(X, y)]))


def test_dates_in_class_weight_partial_fit_and_onnx(tmp_path):
    y = np.array(["2020-01-01", "2021-01-01"], "M8[ns]")[SIDE]
    weight = {np.datetime64("2020-01-01"): 3.0}  # by the day; y is by the nanosecond
    clf = quick(n_inducing=5, class_weight=weight, random_state=0).partial_fit(
        X, y, classes=np.unique(y)
    )
    plain = quick(n_inducing=5, class_weight={0: 3.0}, random_state=0).fit(X, SIDE)
    np.testing.assert_allclose(clf.predict_proba(X), plain.predict_proba(X), rtol=1e-6)
    clf.save(tmp_path / "m.fewknots")
    assert load(tmp_path / "m.fewknots").class_weight == weight
    clf.partial_fit(X, y)
    with pytest.raises(ValueError, match=r"class_weight names '2022-01-01', .*'2020-01-01T00"):
        quick(class_weight={np.datetime64("2022-01-01"): 1.0}).fit(X, y)
    onnxruntime = pytest.importorskip("onnxruntime")
    clf.to_onnx(tmp_path / "m.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    (labels,) = session.run(["label"], {"X": X.astype(np.float32)})
    np.testing.assert_array_equal(labels.astype(y.dtype), clf.predict(X))
