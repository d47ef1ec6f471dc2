"""Files to a model that takes tables: in memory and as a stream, saved and loaded."""

import json
import warnings
from functools import partial

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from fewknots import DataError, GPClassifier, ModelFileError, TableModel, load
from fewknots.data.sources import Place
from fewknots.files import container
from fewknots.tables.fit import RunOptions, fit_files
from fewknots.tables.judging import MODEL
from fewknots.tables.model import Baselines
from fewknots.tables.reading import Task
from fewknots.tables.rows_to_score import held_out_rows

from ..flights_table import flights


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("flights")
    table = flights()
    table.to_csv(folder / "flights.csv", index=False)
    table.to_parquet(folder / "flights.parquet")
    return folder


def fitted(source, task=None, **run):
    classifier = GPClassifier(n_inducing=15, max_iter=15, tol=1e-2, random_state=0)
    return fit_files(
        str(source), task or Task("late"), classifier, RunOptions(hold_out=0.25, **run)
    )


@pytest.fixture(scope="module")
def model(folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fitted(folder / "flights.csv")


def test_what_a_fit_leaves(model):
    assert (model.target, model.positive) == ("late", "yes")
    assert model.classifier.classes_.tolist() == ["no", "yes"]
    held_out = model.about["hold_out"]
    assert model.n_rows + held_out["rows"] == 400
    assert 60 < held_out["rows"] < 140
    scores = held_out["scores"]
    assert list(scores) == [MODEL, "majority class", "logistic regression"]
    assert scores[MODEL]["nlp"] < scores["majority class"]["nlp"] - 0.1
    assert scores["logistic regression"]["nlp"] < scores["majority class"]["nlp"]
    assert "id" not in model.recipe.names
    json.dumps(model.about, allow_nan=False)


def test_tables_of_every_make(model):
    frame = flights().drop(columns="late")
    expected = model.predict_proba(frame)
    assert expected.shape == (400, 2)
    np.testing.assert_allclose(expected.sum(axis=1), 1.0)
    for other in (pa.Table.from_pandas(frame), pl.from_pandas(frame), frame[frame.columns[::-1]]):
        np.testing.assert_allclose(model.predict_proba(other), expected, rtol=1e-12)
    with pytest.raises(DataError, match="has no column 'distance'"):
        model.predict_proba(frame.drop(columns="distance"))


def test_files_give_what_tables_give(model, folder):
    expected = model.predict_proba(flights())
    for name in ("flights.csv", "flights.parquet"):
        rows = list(model.rows(folder / name))
        X, y = np.concatenate([r.X for r in rows]), np.concatenate([r.y for r in rows])
        np.testing.assert_allclose(model.classifier.predict_proba(X), expected, rtol=1e-9)
        np.testing.assert_array_equal(y, flights().late == "yes")
        assert rows[0].raw.schema.names == [*model.recipe.names, "late"]


def test_saved_and_loaded(model, tmp_path):
    path = tmp_path / "m.fewknots"
    model.save(path)
    again = load(path)
    assert isinstance(again, TableModel)
    table = flights(50, seed=1)
    np.testing.assert_array_equal(again.predict_proba(table), model.predict_proba(table))
    assert again.about == model.about
    assert (again.recipe, again.labels, again.n_rows) == (
        model.recipe,
        model.labels,
        model.n_rows,
    )
    X = model.recipe.encode(pa.Table.from_pandas(table), Place("the table"))
    for name, p in model.baselines.probabilities(X).items():
        np.testing.assert_array_equal(again.baselines.probabilities(X)[name], p)


@pytest.mark.parametrize(
    "damage",
    [
        lambda table, arrays: table.update(recipe=None),
        lambda table, arrays: table.update(labels={"target": "late"}),
        lambda table, arrays: table.update(n_rows="many"),
        lambda table, arrays: table["recipe"]["columns"].pop(),
        lambda table, arrays: arrays.pop("baselines.coef"),
        lambda table, arrays: arrays.pop("learned_rows.counts"),
        lambda table, arrays: table["learned_rows"].update(key="not hexadecimal"),
        lambda table, arrays: table.update(learned_rows=[]),
        lambda table, arrays: arrays.update({"baselines.coef": np.zeros(1)}),
        lambda table, arrays: arrays.update({"baselines.intercept": np.array(np.nan)}),
    ],
)
def test_a_file_that_lies(model, tmp_path, damage):
    path = tmp_path / "m.fewknots"
    model.save(path)
    header, arrays = container.read(path)
    damage(header["table"], arrays)
    container.write(path, header, arrays)
    with pytest.raises(ModelFileError):
        load(path)


def test_a_class_that_is_not_ours_is_not_saved(model, tmp_path):
    class Special(TableModel):
        pass

    special = Special(**vars(model))
    with pytest.raises(ValueError, match="Special of another module"):
        special.save(tmp_path / "m.fewknots")
    assert not any(tmp_path.iterdir())


@pytest.mark.filterwarnings("ignore:the fit had not converged")
def test_a_stream_leaves_what_memory_leaves(folder):
    model = fitted(folder / "flights.parquet", in_memory=False)
    in_memory = fitted(folder / "flights.parquet", in_memory=True)
    assert model.recipe == in_memory.recipe
    assert model.n_rows == in_memory.n_rows
    for one in (model, in_memory):
        assert one.learned.counts.sum() == one.n_rows
        files = [str(folder / "flights.parquet")]
        assert (
            held_out_rows(one, partial(one.rows, files), "", lambda *_: None).n_rows
            == 400 - one.n_rows
        )
    for name, scores in model.about["hold_out"]["scores"].items():
        other = in_memory.about["hold_out"]["scores"][name]
        tolerance = 0.15 if name == MODEL else 1e-9  # another way to train, the same rows
        assert scores["nlp"] == pytest.approx(other["nlp"], abs=tolerance)


@pytest.mark.filterwarnings("ignore:the fit had not converged")
def test_roles_of_columns(folder, tmp_path):
    table = flights()
    table["often"] = np.where(table.carrier == "AA", 2.0, 0.5)
    table.to_parquet(tmp_path / "t.parquet")
    task = Task("late", "no", "often", features=["distance", "carrier", "when"], drop=["when"])
    model = fitted(tmp_path / "t.parquet", task)
    assert model.recipe.names == ("distance", "carrier")
    assert model.positive == "no"
    for wrong, message in (
        (Task("late", features=["late"]), "cannot be an input too"),
        (Task("never"), "has no column 'never'"),
        (Task("late", drop=["never"]), "has no column 'never'"),
        (Task("late", weight="carrier"), "which is not a number"),
    ):
        with pytest.raises(DataError, match=message):
            fitted(tmp_path / "t.parquet", wrong)


def test_baselines_on_plain_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2)) * [1.0, 1e6] + [5.0, 0.0]
    y = (X[:, 0] > 5.0).astype(int)
    baselines = Baselines.fitted(X, y)
    found = baselines.probabilities(X)
    np.testing.assert_allclose(found["majority class"], y.mean())
    assert np.mean((found["logistic regression"] > 0.5) == y) > 0.97
    one_class = Baselines.fitted(X, np.ones(500, int))
    assert one_class.probabilities(X)["logistic regression"].min() > 0.999


def test_weighted_baselines():
    X, y = np.zeros((4, 1)), np.array([0, 0, 0, 1])
    baselines = Baselines.fitted(X, y, np.array([1.0, 1.0, 1.0, 3.0]))
    np.testing.assert_allclose(list(baselines.probabilities(X).values()), 0.5, atol=1e-6)


def test_baselines_of_many_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2)) * [1.0, 1e6] + [5.0, 0.0]
    y = np.digitize(X[:, 0], [4.5, 5.5])
    baselines = Baselines.fitted(X, y, n_classes=5)  # two classes have no row here
    majority, linear = baselines.probabilities(X).values()
    assert majority.shape == linear.shape == (600, 5)
    np.testing.assert_allclose(majority[0, :3], np.bincount(y) / 600, rtol=0.01)
    assert 0 < majority[0, 4] < 0.002
    assert linear[:, 3:].min() > 0
    assert linear[:, 3:].max() < 0.05
    assert np.mean(np.argmax(linear, axis=1) == y) > 0.95
    np.testing.assert_allclose(linear.sum(axis=1), 1.0)
    again = Baselines.restored(baselines.arrays(), 2, 5)
    np.testing.assert_array_equal(again.probabilities(X)["logistic regression"], linear)
    with pytest.raises(ModelFileError, match="of shape"):
        Baselines.restored(baselines.arrays(), 2, 4)


def test_weights_of_many_classes_count():
    X, y = np.zeros((4, 1)), np.array([0, 0, 1, 2])
    found = Baselines.fitted(X, y, np.array([1.0, 1.0, 2.0, 4.0]), 3).probabilities(X)
    for p in found.values():
        np.testing.assert_allclose(p[0], [0.25, 0.25, 0.5], atol=1e-3)
