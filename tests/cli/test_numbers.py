"""A target that is a number, from `fit` to `inspect`: what is recognised, written and scored."""

import numpy as np
import pandas as pd
import pytest

from fewknots import load
from fewknots.number_scoring import NUMBER_SCORES, number_scores

MODEL = "Gaussian process"
QUICK = ["--method", "exact", "--kernel", "rbf + linear"]


def homes(n_rows=200, seed=0):
    """Prices that follow a curve of the area and the town; some towns are not known."""
    rng = np.random.default_rng(seed)
    area = rng.uniform(20, 200, n_rows).round(4)
    town = np.array(["Ulm", "Bonn", "Kiel"])[rng.integers(0, 3, n_rows)]
    price = 50 + 3 * area + 80 * np.sin(area / 20) + 60 * (town == "Bonn")
    price = price + 10 * rng.normal(size=n_rows)
    return pd.DataFrame({"area": area, "town": town, "price": price.round(2)})


@pytest.fixture(scope="module")
def street(tmp_path_factory, fewknots_of_module):
    """A folder with homes.csv, new.csv and a model; said.txt is what `fit` printed."""
    folder = tmp_path_factory.mktemp("street")
    homes().to_csv(folder / "homes.csv", index=False)
    homes(60, seed=1).to_csv(folder / "new.csv", index=False)
    out = folder / "m.fewknots"
    done = fewknots_of_module("fit", folder / "homes.csv", "-t", "price", "--out", out, *QUICK)
    assert done.code == 0, done.err
    (folder / "said.txt").write_text(done.out)
    return folder


def test_fit_says_that_it_learns_a_number_and_how_well(street):
    said = (street / "said.txt").read_text()
    assert "regression" in said
    assert "price (a number) from" in said
    assert "than ridge regression's" in said
    held_out = load(street / "m.fewknots").about["hold_out"]
    ours, mean, linear = held_out["scores"].values()
    assert tuple(ours) == NUMBER_SCORES
    assert ours["nlp"] < linear["nlp"] < mean["nlp"]
    assert ours["r2"] > linear["r2"] > mean["r2"]


def test_predict_writes_mean_deviation_and_interval(fewknots, street, tmp_path):
    out = tmp_path / "scored.csv"
    rows = pd.read_csv(street / "new.csv")
    rows.loc[3, "area"] = np.nan
    rows.to_csv(tmp_path / "new.csv", index=False)
    model = street / "m.fewknots"
    done = fewknots("predict", model, tmp_path / "new.csv", "--out", out, "--coverage", "0.8")
    assert done.code == 0, done.err
    scored = pd.read_csv(out)
    assert list(scored.columns[-5:]) == ["prediction", "std", "low", "high", "why_not_scored"]
    assert scored.loc[3, ["prediction", "std", "low", "high"]].isna().all()
    assert "area" in scored.loc[3, "why_not_scored"]
    good = scored.drop(index=3)
    mean, deviation = load(model).predict(rows.drop(index=3), return_std=True)
    np.testing.assert_allclose(good["prediction"], mean, rtol=1e-9)
    np.testing.assert_allclose(good["std"], deviation, rtol=1e-9)
    np.testing.assert_allclose(good["high"] - good["low"], 2 * 1.2815515655446004 * deviation)


@pytest.mark.parametrize("source", ["homes.csv", None])
def test_evaluate_scores_the_rows_that_were_held_out(fewknots, street, source):
    sources = [] if source is None else [street / source]
    done = fewknots("evaluate", street / "m.fewknots", *sources, "--json")
    assert done.code == 0, done.err
    held_out = load(street / "m.fewknots").about["hold_out"]
    assert done.json["rows"] == held_out["rows"]
    for name, scores in done.json["scores"].items():
        assert scores == pytest.approx(held_out["scores"][name], rel=1e-9)
    low, high = done.json["intervals"]["rmse"]
    assert low < done.json["scores"][MODEL]["rmse"] < high


def test_evaluate_scores_new_rows_as_python_does(fewknots, street):
    done = fewknots("evaluate", street / "m.fewknots", street / "new.csv", "--json")
    assert done.code == 0, done.err
    model, rows = load(street / "m.fewknots"), pd.read_csv(street / "new.csv")
    (table,) = model.rows(str(street / "new.csv"))
    expected = number_scores(model.estimator._seen(table.X, table.y), rows.price.to_numpy())
    assert done.json["scores"][MODEL] == pytest.approx(expected, rel=1e-9)


def test_evaluate_leaves_out_rows_whose_target_is_no_number(fewknots, street, tmp_path):
    rows = pd.read_csv(street / "new.csv").astype({"price": object})
    rows.loc[0, "price"] = "much"
    rows.loc[1, "price"] = np.nan
    rows.to_csv(tmp_path / "t.csv", index=False)
    done = fewknots("evaluate", street / "m.fewknots", tmp_path / "t.csv", "--json")
    assert (done.code, done.json["left_out"]) == (0, 2), done.err


def test_inspect_tells_the_likelihood_in_the_units_of_the_target(fewknots, street):
    told = fewknots("inspect", street / "m.fewknots", "--json").json
    assert told["estimator"] == "GPRegressor"
    deviation = float(told["likelihood"].removeprefix("Gaussian, noise of deviation "))
    assert 7 < deviation < 14  # of 10
    assert "classes" not in told


@pytest.mark.parametrize(
    ("values", "options", "task"),
    [
        (np.arange(60), [], "regression"),
        (np.arange(60) % 40, [], "classification"),
        (np.arange(60) % 40 + 0.5, [], "regression"),
        (np.arange(60) % 3 + 0.5, [], "classification"),
        (np.arange(60) % 40, ["--task", "regression"], "regression"),
        (np.arange(60) % 40, ["--likelihood", "poisson"], "regression"),
        (np.arange(1200), [], "regression"),  # more than there may be classes, in one piece
        (np.arange(1200) + 0.5, [], "regression"),
    ],
)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_target_or_the_user_decides_between_classes_and_numbers(
    tmp_path, values, options, task, ending
):
    from fewknots.cli.tasks import TASKS, estimators_for
    from fewknots.data.table_files import RawFiles
    from fewknots.tables.reading import NoProgress, Task, survey

    path = tmp_path / f"t.{ending}"
    table = pd.DataFrame({"x": np.arange(len(values)) % 7, "y": values})
    table.to_csv(path, index=False) if ending == "csv" else table.to_parquet(path)
    given = dict(zip(options[::2], options[1::2], strict=True))
    asked = {"likelihood": given.get("--likelihood", "auto"), "kernel": "auto", "device": "auto"}
    learns = tuple(e._learns for e in estimators_for(given.get("--task", "auto"), asked))
    found = survey(RawFiles(str(path)), Task("y"), NoProgress(), learns)
    assert TASKS[found.labels.learns] == task
    notes = " ".join(next(p.notes for p in found.columns if p.name == "y"))
    assert ("--task regression" in notes) == (task == "classification" and len(set(values)) > 10)


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        (["a", "b"] * 30, ["--task", "regression"], "column 'y' is 'a', which is not a number"),
        ([1.5] * 60, ["--task", "regression"], "column 'y' is 1.5 in every row"),
        ([*range(59), None], [], "line 61: column 'y' has no"),
        (range(60), ["--positive", "1"], "--positive chooses between two labels"),
        (range(60), ["--task", "both"], "--task both: use auto, classification or regression"),
        (range(60), ["--likelihood", "cauchy"], "--likelihood must be one of"),
        (np.arange(60) - 1, ["--likelihood", "poisson"], "t.csv, line 2: column 'y' is -1, which"),
        (np.arange(60), ["--likelihood", "gamma"], "t.csv, line 2: column 'y' is 0, which is not"),
    ],
)
def test_fit_says_what_is_wrong_with_a_number(fewknots, tmp_path, values, options, message):
    path = tmp_path / "t.csv"
    table = pd.DataFrame({"x": np.arange(len(values)) % 7, "y": pd.Series(values, dtype=object)})
    table.to_csv(path, index=False)
    done = fewknots("fit", path, "-t", "y", *options, "--out", tmp_path / "m.fewknots", "--json")
    assert done.code != 0
    assert message in " ".join(done.err.replace("│", " ").split())
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("typed", [list, pd.Categorical])
def test_texts_and_categories_of_a_typed_file_are_classes(tmp_path, typed):
    from fewknots.data.table_files import RawFiles
    from fewknots.tables.reading import NoProgress, Task, survey

    path = tmp_path / "t.parquet"
    values = typed([*map(str, range(60))])
    pd.DataFrame({"x": np.arange(60) % 7, "y": values}).to_parquet(path)
    found = survey(RawFiles(str(path)), Task("y"), NoProgress(), ("classes", "numbers"))
    assert found.labels.learns == "classes"


def test_a_target_of_dates_is_neither(fewknots, tmp_path):
    path = tmp_path / "t.parquet"
    days = pd.date_range("2024-01-01", periods=60)
    pd.DataFrame({"x": np.arange(60) % 7, "y": days}).to_parquet(path)
    done = fewknots("fit", path, "-t", "y", "--out", tmp_path / "m.fewknots")
    assert done.code == 1
    assert "Labels are text, numbers or true and false" in done.err


def test_a_model_of_numbers_is_not_exported(fewknots, street, tmp_path):
    done = fewknots("export", street / "m.fewknots", "--out", tmp_path / "m.onnx")
    assert done.code == 1
    assert "contains a GPRegressor: only classifiers are exported to ONNX." in done.err


def test_the_report_is_of_the_held_out_rows(fewknots, street, tmp_path):
    done = fewknots("report", street / "m.fewknots", "--out", tmp_path / "r.html", "--json")
    assert done.code == 0, done.err
    held_out = load(street / "m.fewknots").about["hold_out"]
    assert done.json["rows"] == held_out["rows"]
    page = (tmp_path / "r.html").read_text()
    assert f"{held_out['scores'][MODEL]['rmse']:.2f}" in page
    assert "Predicting price" in page


def test_a_stream_of_numbers_is_scored_on_rows_it_has_not_seen(fewknots, tmp_path, monkeypatch):
    from fewknots.tables import fit as table_fit

    monkeypatch.setattr(table_fit, "MOST_ROWS_IN_MEMORY", 100)
    path, out = tmp_path / "t.parquet", tmp_path / "m.fewknots"
    homes().to_parquet(path)
    options = ["--inducing", 8, "--kernel", "rbf + linear", "--no-rows"]
    done = fewknots("fit", path, "-t", "price", *options, "--out", out, "--json")
    assert done.code == 0, done.err
    assert (done.json["method"], done.json["task"]) == ("sparse_kl", "regression")
    assert sum(done.json["rows"].values()) == 200
    again = fewknots("evaluate", out, path, "--json")
    assert again.json["rows"] == done.json["rows"]["held_out"]
    assert again.json["scores"] == {n: pytest.approx(s) for n, s in done.json["scores"].items()}


def test_workers_read_numbers(fewknots, street, tmp_path):
    """And what they have read is fitted as in one process."""
    homes, out = street / "homes.csv", tmp_path / "m.fewknots"
    options = ["-t", "price", "--kernel", "rbf", "--inducing", 8, "--out", out, "--json"]
    alone, far = (fewknots("fit", homes, *options, *more) for more in ([], ["--workers", 1]))
    assert far.code == 0, far.err
    assert far.json["task"] == "regression"
    for name, scores in far.json["scores"].items():
        assert scores == pytest.approx(alone.json["scores"][name], rel=1e-2), name
