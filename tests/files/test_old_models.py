"""Model files written by earlier versions load, and predict what they predicted when written."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fewknots import GPClassifier, GPRegressor, TableModel, load

FOLDER = Path(__file__).parent / "old_models"
WANTED = json.loads((FOLDER / "predictions.json").read_text())
KINDS = {
    "sparse_kl": GPClassifier,
    "local": GPClassifier,
    "regressor": GPRegressor,
    "table": TableModel,
}


def assert_same(found, wanted):
    """To rounding: another version may sum in another order."""
    np.testing.assert_allclose(found, wanted, rtol=1e-9)


def test_every_file_has_its_predictions():
    assert {path.stem for path in FOLDER.glob("*.fewknots")} == set(WANTED) == set(KINDS)


@pytest.mark.parametrize("name", KINDS)
def test_what_was_loaded(name):
    assert type(load(FOLDER / f"{name}.fewknots")) is KINDS[name]


@pytest.mark.parametrize("name", ["sparse_kl", "local", "regressor"])
def test_latent_function(name):
    model, wanted = load(FOLDER / f"{name}.fewknots"), WANTED[name]
    mean, variance = model.predict_latent(np.array(wanted["rows"]))
    assert_same(mean, wanted["latent_mean"])
    assert_same(variance, wanted["latent_variance"])
    if "log_evidence" in wanted:  # the local method has none
        assert model.log_evidence_ == wanted["log_evidence"]


@pytest.mark.parametrize("name", ["sparse_kl", "local"])
def test_classifiers(name):
    model, wanted = load(FOLDER / f"{name}.fewknots"), WANTED[name]
    rows, probabilities = np.array(wanted["rows"]), np.array(wanted["probabilities"])
    assert model.method_ == name
    assert model.classes_.tolist() == wanted["classes"]
    assert_same(model.predict_proba(rows), probabilities)
    assert model.predict(rows).tolist() == model.classes_[probabilities.argmax(axis=1)].tolist()


def test_regressor():
    model, wanted = load(FOLDER / "regressor.fewknots"), WANTED["regressor"]
    mean, deviation = model.predict(np.array(wanted["rows"]), return_std=True)
    assert_same(mean, wanted["mean"])
    assert_same(deviation, wanted["standard_deviation"])


def test_table_model():
    model, wanted = load(FOLDER / "table.fewknots"), WANTED["table"]
    assert model.target == wanted["target"]
    assert list(model.recipe.names) == wanted["names"]
    assert model.classifier.classes_.tolist() == wanted["classes"]
    assert_same(model.predict_proba(pd.DataFrame(wanted["columns"])), wanted["probabilities"])


@pytest.mark.parametrize("name", KINDS)
def test_saved_again_it_stays_the_same(name, tmp_path):
    model = load(FOLDER / f"{name}.fewknots")
    model.save(tmp_path / "again.fewknots")
    again = load(tmp_path / "again.fewknots")
    if name == "table":
        rows = pd.DataFrame(WANTED[name]["columns"])
        assert_same(again.predict_proba(rows), WANTED[name]["probabilities"])
    else:
        mean, _ = again.predict_latent(np.array(WANTED[name]["rows"]))
        assert_same(mean, WANTED[name]["latent_mean"])
