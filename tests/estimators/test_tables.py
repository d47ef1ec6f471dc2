"""Tables as they are: text, categories, dates and gaps, by the recipe of the command line."""

import datetime
import pickle
import subprocess
import sys
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from fewknots import GPClassifier, GPRegressor, InputWarning, load
from fewknots.data.memory_columns import memory_table
from fewknots.data.sources import Place
from fewknots.tables.recipe import RecipeLearner

N = 120


def quick(**arguments):
    return GPClassifier("rbf", n_inducing=10, learn_kernel=False, random_state=0, **arguments)


@pytest.fixture(scope="module")
def people():
    """A pandas table with a column of every kind, gaps in some, and labels that follow from it."""
    rng = np.random.default_rng(0)
    age = rng.normal(40.0, 10.0, N)
    city = rng.choice(["Bonn", "Oslo", "Rome"], N)
    table = pd.DataFrame(
        {
            "age": np.where(np.arange(N) % 11 == 0, np.nan, age),
            "city": city,
            "kind": pd.Categorical(np.where(age > 45, "u", "v")),
            "size": pd.Categorical(rng.choice(["s", "m", "l"], N), ["s", "m", "l"], ordered=True),
            "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 400, N), "D"),
            "wait": pd.to_timedelta(rng.integers(0, 99, N), "h"),
            "flag": pd.array(rng.random(N) > 0.5, "boolean"),
            "count": pd.array(rng.integers(0, 5, N), "Int64"),
        }
    )
    table.loc[5, "count"] = table.loc[7, "flag"] = pd.NA
    return table, np.where((city == "Rome") ^ (age > 42.0), "yes", "no")


@pytest.fixture(scope="module")
def fitted(people):
    return quick().fit(*people)


FEATURES = (
    "age", "age (missing)", "city=Bonn", "city=Oslo", "city=Rome", "kind=u", "kind=v", "size",
    "when: days since 1970", "when: day of year (sin)", "when: day of year (cos)",
    "when: day of week (sin)", "when: day of week (cos)", "wait", "flag", "flag (missing)",
    "count", "count (missing)",
)  # fmt: skip


def test_what_the_columns_become(people, fitted):
    table, y = people
    assert fitted.recipe_.feature_names == FEATURES
    assert fitted.n_features_in_ == 8
    assert list(fitted.feature_names_in_) == list(table.columns)
    assert fitted.inducing_points_.shape == (10, len(FEATURES))
    assert fitted.score(table, y) > 0.8
    X = dict(
        zip(FEATURES, fitted.recipe_.features(columns_of(table), N, Place("X")).T, strict=True)
    )
    np.testing.assert_array_equal(X["size"], table["size"].cat.codes)
    np.testing.assert_array_equal(X["wait"], table["wait"] / pd.Timedelta(days=1))
    np.testing.assert_allclose(X["age"][0], table["age"].mean())
    assert X["age (missing)"][:12].tolist() == [1.0] + [0.0] * 10 + [1.0]


def columns_of(table):
    columns = {column.name: column.values for column in memory_table(table).columns}
    return columns.__getitem__


def as_polars(table):
    return pl.from_arrow(as_arrow(table))


def as_arrow(table):
    return pa.Table.from_pandas(table, preserve_index=False)


@pytest.mark.parametrize(
    "other", [as_polars, as_arrow, lambda table: table.set_index("age", drop=False)]
)
def test_the_same_table_of_another_library(people, fitted, other):
    table, y = people
    wanted = fitted.predict_proba(table)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(fitted.predict_proba(other(table)), wanted)
        again = quick().fit(other(table), y)
    # polars has no order of categories, so its sizes are words
    if other is not as_polars:
        assert again.recipe_ == fitted.recipe_
        np.testing.assert_array_equal(again.predict_proba(table), wanted)


def test_it_is_the_recipe_of_the_command_line(people, fitted):
    table, _ = people
    arrow = as_arrow(table.drop(columns="size"))
    learner = RecipeLearner(arrow.schema, arrow.column_names, {}, from_csv=False)
    for batch in arrow.to_batches():
        learner.add(batch, Place("rows"))
    wanted = {column.name: column for column in learner.recipe().columns}
    found = {column.name: column for column in fitted.recipe_.columns if column.kind != "ordered"}
    assert found == wanted


def test_saved_and_pickled(people, fitted, tmp_path):
    table, _ = people
    fitted.save(tmp_path / "m.fewknots")
    for again in (load(tmp_path / "m.fewknots"), pickle.loads(pickle.dumps(fitted))):
        np.testing.assert_array_equal(again.predict_proba(table), fitted.predict_proba(table))
        assert again.recipe_ == fitted.recipe_
        assert list(again.feature_names_in_) == list(table.columns)
        with pytest.raises(ValueError, match="now missing:\n- age"):
            again.predict(table.drop(columns="age"))
    assert not hasattr(clone(fitted), "recipe_")


def test_other_columns_than_those_of_the_fit(people, fitted):
    table, _ = people
    for bad, message in (
        (table.drop(columns="city"), "now missing:\n- city"),
        (table.assign(more=1), "unseen at fit time:\n- more"),
        (table[table.columns[::-1]], "same order"),
        (table.assign(count=["many"] * N), "X, row 0: column 'count' is 'many', which is not a n"),
        (table.assign(when=1.5), "column 'when' holds numbers, but the model was fitted to days"),
    ):
        with pytest.raises(ValueError, match=message):
            fitted.predict(bad)


def test_levels_of_another_type_than_in_the_fit():
    """A level is its text: of a number, of a boolean, of a category."""
    x, y = np.linspace(-1.0, 1.0, N), np.arange(N) % 2
    table = pd.DataFrame({"x": x, "b": ["true", "false"] * 60, "n": pd.Categorical([1, 2, 3] * 40)})
    clf = quick().fit(table, y)
    assert clf.recipe_.feature_names == ("x", "b=false", "b=true", "n=1", "n=2", "n=3")
    wanted = clf.predict_proba(table)
    for n in ([1, 2, 3] * 40, [1.0, 2.0, 3.0] * 40, ["1", "2", "3"] * 40, [1, "2", 3.0] * 40):
        other = table.assign(b=[True, False] * 60, n=n)
        np.testing.assert_array_equal(clf.predict_proba(other), wanted)


def test_levels_that_are_new(people, fitted):
    table, _ = people
    strange = table.head(20).assign(city="Paris", kind=pd.Categorical(["w"] * 20))
    p = fitted.predict_proba(strange)
    assert np.isfinite(p).all()
    # a level that the model knows nothing of is further from all that it knows
    _, doubt = fitted.predict_latent(strange)
    _, known = fitted.predict_latent(table.head(20))
    assert (doubt > known).mean() > 0.9


def test_numbers_without_gaps_go_the_old_way(moons):
    X, y = moons
    plain = quick().fit(X, y)
    assert plain.recipe_ is None
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    for table in (frame, pl.from_pandas(frame), as_arrow(frame), frame.astype(object)):
        clf = quick().fit(table, y)
        assert clf.recipe_ is None
        np.testing.assert_array_equal(clf.predict_proba(table), plain.predict_proba(X))


@pytest.mark.parametrize(
    "estimator", [quick(), GPRegressor(n_inducing=10, max_iter=5, random_state=0)]
)
def test_arrays_with_gaps(moons, estimator):
    X, y = moons
    gaps = X.copy()
    gaps[::7, 1] = np.nan
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the fit had not converged")
        estimator.fit(gaps, y)
        masked = clone(estimator).fit(np.ma.masked_invalid(gaps), y)
    assert estimator.recipe_.feature_names == ("x0", "x1", "x1 (missing)", "x2")
    assert (estimator.n_features_in_, hasattr(estimator, "feature_names_in_")) == (3, False)
    np.testing.assert_array_equal(estimator.predict(gaps), masked.predict(gaps))
    by_hand = np.column_stack([X[:, :2], np.zeros(80), X[:, 2]])
    by_hand[::7, 1:3] = np.nanmean(gaps[:, 1]), 1.0
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the fit had not converged")
        wanted = clone(estimator).fit(by_hand, y)
    np.testing.assert_array_equal(estimator.predict(gaps), wanted.predict(by_hand))
    for values in (gaps.tolist(), gaps.astype(object)):
        np.testing.assert_array_equal(estimator.predict(values), estimator.predict(gaps))


def test_columns_that_say_nothing(people):
    table, y = people
    odd = table[["age"]].assign(
        same=1, gone=np.nan, none=None, id=[f"person {n}" for n in range(N)]
    )
    with pytest.warns(
        InputWarning, match="columns of X are left out: 'same' never changes; 'gone'"
    ):
        clf = quick().fit(odd, y)
    assert clf.recipe_.names == ("age",)
    assert clf.n_features_in_ == 5
    # what they hold later does not matter, but that they are there
    np.testing.assert_array_equal(clf.predict(odd.assign(same="x", gone=3.0)), clf.predict(odd))
    with pytest.raises(ValueError, match="now missing"):
        clf.predict(odd[["age"]])


@pytest.mark.parametrize(
    ("column", "features"),
    [
        ([1, "a", None, 2.5] * 30, ("c=(missing)", "c=1", "c=2.5", "c=a")),
        (["1.5", "2", None] * 40, ("c", "c (missing)")),
        ([Decimal("1.5"), Decimal(2), None] * 40, ("c", "c (missing)")),
        ([datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)] * 60, ("c: days since 1970",)),
        (pd.Categorical([1, 2, None] * 40), ("c=(missing)", "c=1", "c=2")),
        (pd.cut(np.arange(N), 3), ("c",)),
        (pd.array(["u", "v", None] * 40, "string[pyarrow]"), ("c=(missing)", "c=u", "c=v")),
        (pd.Series([True, None] * 60, dtype="bool[pyarrow]"), ("c", "c (missing)")),
        (pd.Series([1, None] * 60, dtype="int64[pyarrow]"), ("c", "c (missing)")),
        (pd.period_range("2024-01-01", periods=2).repeat(60), ("c: days since 1970",)),
        (pd.to_datetime(["2024-01-01", "2024-01-02"] * 60, utc=True), ("c: days since 1970",)),
        (pl.Series(["u", "v"] * 60, dtype=pl.Enum(["v", "u"])), ("c=u", "c=v")),
        (pl.Series(["u", None] * 60, dtype=pl.Categorical), ("c=(missing)", "c=u")),
        (pl.Series([1, None] * 60, dtype=pl.Decimal(5, 2)), ("c", "c (missing)")),
        (
            pl.Series([datetime.time(1), datetime.time(23)] * 60),
            ("c: days since 1970", "c: time of day (sin)", "c: time of day (cos)"),
        ),
        (pl.Series([datetime.timedelta(1), None] * 60), ("c", "c (missing)")),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else type(value).__name__,
)  # fmt: skip
def test_a_column_of_any_kind(column, features):
    x = np.linspace(-1.0, 1.0, N)
    frame = pl.DataFrame if isinstance(column, pl.Series) else pd.DataFrame
    table, y = frame({"x": x, "c": column}), np.arange(N) % 2
    clf = quick().fit(table, y)
    assert clf.recipe_.feature_names == ("x", *features)
    assert np.isfinite(clf.predict_proba(table)).all()


def test_names_that_repeat_or_are_no_text(people):
    table, y = people
    with pytest.raises(ValueError, match="X has 2 columns named 'age': rename them"):
        quick().fit(table[["age", "city", "age"]], y)
    numbered = table[["age", "city"]].set_axis([3, 7], axis=1)
    clf = quick().fit(numbered, y)
    assert (clf.recipe_.names, hasattr(clf, "feature_names_in_")) == (("3", "7"), False)
    clf.predict(numbered)


@pytest.mark.filterwarnings("ignore:.* rows of X have no value in")  # of a fold without them
def test_scikit_learns_tools(people):
    table, y = people
    scores = cross_val_score(quick(), table, y, cv=3)
    assert scores.mean() > 0.6
    search = GridSearchCV(quick(), {"kernel": ["rbf", "linear"]}, cv=2).fit(table, y)
    assert search.best_estimator_.recipe_.names == tuple(table.columns)


def test_weights_and_more_rows(people, fitted):
    table, y = people
    weighted = quick().fit(table, y, sample_weight=np.where(y == "yes", 3.0, 1.0))
    assert weighted.predict_proba(table)[:, 1].mean() > fitted.predict_proba(table)[:, 1].mean()
    clf = quick().partial_fit(table, y, classes=["no", "yes"])
    later = table.head(30).assign(city="Paris")
    clf.partial_fit(later, ["yes"] * 30)
    assert clf.predict_proba(later)[:, 1].mean() > fitted.predict_proba(later)[:, 1].mean()
    with pytest.warns(InputWarning, match="30 of 30 rows of X have no value in column 'when'"):
        clf.partial_fit(later.assign(when=pd.NaT), ["yes"] * 30)


def test_a_model_of_numbers_stays_one(moons):
    X, y = moons
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    clf = quick().fit(frame, y)
    for words in (frame.assign(b="u"), frame.assign(b=pd.Timestamp("2024-01-01"))):
        for use in (clf.predict, lambda rows: clf.partial_fit(rows, y)):
            with pytest.raises(ValueError, match="column 'b' of X holds"):
                use(words)


def test_warm_start_keeps_the_recipe(people):
    table, y = people
    clf = quick(warm_start=True).fit(table, y)
    recipe = clf.recipe_
    clf.fit(table.assign(city="Paris"), y)
    assert clf.recipe_ is recipe


def test_a_regressor_takes_tables(people, tmp_path):
    table, _ = people
    y = np.where(table["city"] == "Rome", 5.0, 1.0)
    reg = GPRegressor(max_iter=30).fit(table, y)
    assert np.abs(reg.predict(table) - y).mean() < 0.5
    reg.save(tmp_path / "m.fewknots")
    np.testing.assert_array_equal(load(tmp_path / "m.fewknots").predict(table), reg.predict(table))


def test_without_pyarrow(moons, tmp_path):
    """Numbers with gaps need none; text says what is missing."""
    script = """
import sys
class NoPyarrow:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "pyarrow":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, NoPyarrow())
import numpy as np, pandas as pd
from fewknots import GPClassifier, load
X = np.random.default_rng(0).normal(size=(60, 2))
y = (X[:, 0] > 0).astype(int)
X[::5, 1] = np.nan
table = pd.DataFrame(X, columns=["a", "b"])
for rows in (X, table.assign(b=pd.array(X[:, 1] > 0, "boolean")), table):
    clf = GPClassifier(n_inducing=5, learn_kernel=False).fit(rows, y)
clf.save(sys.argv[1])
assert (load(sys.argv[1]).predict_proba(table) == clf.predict_proba(table)).all()
try:
    clf.fit(table.assign(b=["u", "v"] * 30), y)
except ImportError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "m.fewknots")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "column 'b' of X holds" in done.stdout
    assert "needs pyarrow: run pip install 'fewknots[stream]'" in done.stdout
