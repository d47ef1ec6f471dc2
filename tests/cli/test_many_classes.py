"""A target with more than two values, from `fit` to `inspect`, with classes of a single row."""

import io
import warnings
from contextlib import redirect_stdout

import numpy as np
import pandas as pd
import pytest

from fewknots import load
from fewknots.cli.app import app
from fewknots.cli.running import run
from fewknots.data.row_draw import HashSplit
from fewknots.tables import fit as table_fit

MODEL = "Gaussian process"
CLASSES = ["apple", "medlar", "pear", "plum", "quince"]
QUICK = ["--inducing", 8, "--max-time", 1]


def fruit(n_rows=300, seed=0):
    """Three classes that weight and colour tell apart; some gaps."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, n_rows)
    table = pd.DataFrame(
        {
            "weight": (150 + 60 * (kind == 1) - 70 * (kind == 2) + 25 * rng.normal(size=n_rows)),
            "colour": np.where(
                rng.random(n_rows) < 0.8, np.array(["red", "green", "blue"])[kind], ""
            ),
            "sweet": rng.random(n_rows),
            "kind": np.array(["apple", "pear", "plum"])[kind],
        }
    ).round(3)
    table.loc[rng.random(n_rows) < 0.05, "sweet"] = np.nan
    return table


@pytest.fixture(scope="module")
def orchard(tmp_path_factory):
    """A folder with fruit.csv and a model of it; said.txt is what `fit` printed.

    The only quince is held out, so no row of it is learned from, and the only medlar is not.
    """
    folder = tmp_path_factory.mktemp("orchard")
    table = fruit()
    held_out = HashSplit(0.1, 0).drawn(0, len(table))
    table.loc[np.argmax(held_out), "kind"] = "quince"
    table.loc[np.argmin(held_out), "kind"] = "medlar"
    table.to_csv(folder / "fruit.csv", index=False)
    fruit(40, seed=1).to_csv(folder / "new.csv", index=False)
    arguments = ["fit", f"{folder}/fruit.csv", "-t", "kind", "--inducing", "12", "--max-time", "4"]
    said = io.StringIO()
    with warnings.catch_warnings(), redirect_stdout(said):
        warnings.simplefilter("default")
        assert run(app, [*arguments, "--out", f"{folder}/m.fewknots"]) == 0
    (folder / "said.txt").write_text(said.getvalue())
    return folder


def test_fit_says_how_good_the_model_is(orchard):
    said = (orchard / "said.txt").read_text()
    assert "kind (5 classes) from" in said
    assert "5 classes: " in said
    assert "in fewer than 5" in said
    assert "calibration error" in said
    assert "AUC" not in said
    assert "than logistic regression's" in said
    held_out = load(orchard / "m.fewknots").about["hold_out"]
    ours, majority, linear = held_out["scores"].values()
    assert list(ours) == ["nlp", "brier", "error", "ece"]
    assert ours["nlp"] < majority["nlp"] - 0.3
    # the quince of which nobody knew costs all of them some nats, but not hundreds
    assert max(ours["nlp"], majority["nlp"], linear["nlp"]) < 2


def test_all_labels_are_known_also_one_of_which_every_row_was_held_out(orchard):
    model = load(orchard / "m.fewknots")
    assert model.classifier.classes_.tolist() == CLASSES
    assert (model.positive, model.predicted) == (None, "kind (5 classes)")
    p = model.predict_proba(fruit(50, seed=2))
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-6)
    assert p[:, CLASSES.index("quince")].max() < 0.2


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_predict_writes_a_column_for_each_class(fewknots, orchard, tmp_path, ending):
    out = tmp_path / f"scored.{ending}"
    done = fewknots("predict", orchard / "m.fewknots", orchard / "new.csv", "--out", out)
    assert done.code == 0, done.err
    scored = pd.read_csv(out) if ending == "csv" else pd.read_parquet(out)
    columns = [f"p_{label}" for label in CLASSES]
    assert list(scored.columns[-7:]) == [*columns, "prediction", "why_not_scored"]
    np.testing.assert_allclose(scored[columns].sum(axis=1), 1.0, atol=1e-6)
    largest = np.argmax(scored[columns].to_numpy(), axis=1)
    assert scored["prediction"].tolist() == [CLASSES[number] for number in largest]
    assert np.mean(scored["prediction"] == scored["kind"]) > 0.7


def test_predict_refuses_a_source_that_has_such_a_column(fewknots, orchard, tmp_path):
    fruit(5).assign(p_plum=0.5).to_csv(tmp_path / "t.csv", index=False)
    done = fewknots("predict", orchard / "m.fewknots", tmp_path / "t.csv")
    assert done.code == 1
    assert "already has a column 'p_plum'" in done.err


@pytest.mark.parametrize("source", ["fruit.csv", None])
def test_evaluate_scores_the_rows_that_were_held_out(fewknots, orchard, source):
    sources = [] if source is None else [orchard / source]
    done = fewknots("evaluate", orchard / "m.fewknots", *sources, "--json")
    assert done.code == 0, done.err
    held_out = load(orchard / "m.fewknots").about["hold_out"]
    assert done.json["rows"] == held_out["rows"]
    for name, scores in done.json["scores"].items():
        assert scores == pytest.approx(held_out["scores"][name], rel=1e-9)
    assert list(done.json["intervals"]) == ["nlp", "brier", "error", "ece"]


def test_evaluate_leaves_out_labels_that_the_model_has_never_seen(fewknots, orchard, tmp_path):
    table = fruit(40, seed=1)
    table.loc[:5, "kind"] = "kiwi"
    table.loc[6:7, "kind"] = "fig"
    table.loc[8, "kind"] = ""
    path = tmp_path / "new.csv"
    table.to_csv(path, index=False)
    done = fewknots("evaluate", orchard / "m.fewknots", path)
    assert done.code == 0, done.err
    assert "kind (5 classes) in 31 rows" in done.out
    assert "8 of 40 rows have a label that the model has never seen" in done.err
    assert "left out: 'kiwi' (6), 'fig' (2)." in done.err
    assert "1 of 40 rows cannot be scored or have no label" in done.err
    told = fewknots("evaluate", orchard / "m.fewknots", path, "--json").json
    assert told["unseen_labels"] == {"kiwi": 6, "fig": 2}
    assert (told["rows"], told["left_out"]) == (31, 9)
    strict = fewknots("evaluate", orchard / "m.fewknots", path, "--strict")
    assert strict.code == 1
    assert "line 2: column 'kind' is 'kiwi', which is none of the labels of the fit" in strict.err


def test_evaluate_of_unseen_labels_alone(fewknots, orchard, tmp_path):
    fruit(10).assign(kind="kiwi").to_csv(tmp_path / "t.csv", index=False)
    done = fewknots("evaluate", orchard / "m.fewknots", tmp_path / "t.csv")
    assert done.code == 1
    assert "none of the 10 rows can be scored" in done.err


def test_inspect_names_the_classes(fewknots, orchard):
    done = fewknots("inspect", orchard / "m.fewknots")
    assert done.code == 0, done.err
    assert "softmax" in done.out
    assert "apple, medlar, pear, plum, quince" in done.out
    assert "positive" not in done.out
    told = fewknots("inspect", orchard / "m.fewknots", "--json").json
    assert (told["likelihood"], told["classes"], told["positive"]) == ("softmax", CLASSES, None)


def numbers_as_labels(count, n_rows):
    return np.random.default_rng(0).permutation(np.arange(n_rows) % count) + 0.5


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        (["a"] * 30, [], "column 'y' is 'a' in every row that counts"),
        (
            numbers_as_labels(10_000, 10_000),
            ["--task", "classification"],
            "more than 1,000 classes. Is the target a number?",
        ),
        (["a", "b", "c"] * 10, ["--positive", "a"], "--positive chooses between two labels, but"),
        (
            ["a", "b", "c"] * 10,
            ["--likelihood", "probit"],
            "y holds 3 classes, and only method='mean_field' or 'sparse_mean_field' has",
        ),
        (["a", "b", "c"] * 10, ["--method", "ep"], "method='ep' is for two classes"),
    ],
)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_fit_says_what_is_wrong(fewknots, tmp_path, labels, options, message, ending):
    table = pd.DataFrame({"x": np.arange(len(labels)) % 7, "y": labels})
    path = tmp_path / f"t.{ending}"
    table.to_csv(path, index=False) if ending == "csv" else table.to_parquet(path)
    done = fewknots("fit", path, "-t", "y", *options, "--out", tmp_path / "m.fewknots", "--json")
    assert done.code == 1
    assert message in done.err
    assert len(done.err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == [path]


def test_a_large_file_with_numbers_as_labels(fewknots, tmp_path, monkeypatch):
    """As a stream, without a row in the model, and of one class every row is held out."""
    monkeypatch.setattr(table_fit, "MOST_ROWS_IN_MEMORY", 100)
    table = fruit()
    y = table.kind.map({"apple": 0.5, "pear": 1.5, "plum": 2.0})
    y[np.argmax(HashSplit(0.1, 0).drawn(0, len(table)))] = 7.0
    path, out = tmp_path / "t.parquet", tmp_path / "m.fewknots"
    table.assign(kind=y).to_parquet(path)
    options = ["--likelihood", "softmax", "--no-rows", *QUICK]
    done = fewknots("fit", path, "-t", "kind", *options, "--out", out, "--json")
    assert done.code == 0, done.err
    assert done.json["classes"] == [0.5, 1.5, 2.0, 7.0]
    assert done.json["scores"][MODEL]["nlp"] < 2
    scored = fewknots("predict", out, path, "--out", tmp_path / "s.parquet")
    assert scored.code == 0, scored.err
    found = pd.read_parquet(tmp_path / "s.parquet")
    assert {"p_0.5", "p_1.5", "p_2.0", "p_7.0"} < set(found.columns)
    assert set(found["prediction"]) <= {0.5, 1.5, 2.0, 7.0}
    again = fewknots("evaluate", out)
    assert again.code == 0, again.err
