"""`evaluate` and `report` score rows that are new to the model, and say which those are."""

import re
import shutil

import numpy as np
import pandas as pd
import pytest

from fewknots import load
from fewknots.files import container
from fewknots.tables import learned_rows

from ..flights_table import flights

QUICK = ["--inducing", 8, "--max-time", 1]
MODEL = "Gaussian process"


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A folder with a table in which rows repeat, with either label, and a model of it."""
    from fewknots.cli.app import app
    from fewknots.cli.running import run

    folder = tmp_path_factory.mktemp("fitted")
    table = flights(300)
    table = pd.concat([table, table[:60], table[:40].assign(late="no")])
    table.to_csv(folder / "flights.csv", index=False)
    table.to_parquet(folder / "copy.parquet")
    flights(80, seed=5).to_csv(folder / "later.csv", index=False)
    arguments = ["fit", f"{folder}/flights.csv", "-t", "late", "--drop", "id", "--seed", "4"]
    assert run(app, [*arguments, *map(str, QUICK), "--out", f"{folder}/m.fewknots"]) == 0
    return folder


@pytest.fixture
def held_out(fitted):
    return load(fitted / "m.fewknots").about["hold_out"]


@pytest.mark.parametrize("source", ["flights.csv", "copy.parquet", None])
def test_of_the_fits_own_table_exactly_the_rows_held_out_are_scored(
    fewknots, fitted, held_out, source
):
    sources = [] if source is None else [fitted / source]
    done = fewknots("evaluate", fitted / "m.fewknots", *sources, "--json")
    assert done.code == 0, done.err
    told = done.json
    assert told["rows"] == held_out["rows"]
    for name, scores in told["scores"].items():
        assert scores == pytest.approx(held_out["scores"][name], rel=1e-9)
    assert told["gain"]["nlp"] == pytest.approx(held_out["gain"]["nlp"], rel=1e-9)
    if source is not None:
        assert told["rows_given"] == 400
        assert told["rows_learned_from"] == 400 - held_out["rows"]


def test_evaluate_says_so(fewknots, fitted, held_out):
    done = fewknots("evaluate", fitted / "m.fewknots", fitted / "flights.csv")
    n = held_out["rows"]
    assert f"{400 - n} of the 400 rows given are rows the model learned from" in done.out
    assert f"only the other {n} are scored (--all-rows scores all)" in done.out
    assert "equal another training row in every input" in done.out  # since rows repeat
    everything = fewknots("evaluate", fitted / "m.fewknots", fitted / "flights.csv", "--all-rows")
    assert f"The model learned from {400 - n} of them" in everything.out
    assert "400 rows" in everything.out
    own = fewknots("evaluate", fitted / "m.fewknots")
    assert f"The {n} rows that were held out when the model was fitted" in own.out
    assert str(fitted / "flights.csv") in own.out
    later = fewknots("evaluate", fitted / "m.fewknots", fitted / "later.csv")
    assert "80 rows, none of which the model learned from." in later.out


def test_the_page_says_so(fewknots, fitted, held_out, tmp_path):
    page = tmp_path / "page.html"
    n = held_out["rows"]
    told = f"{n} of the 400 rows given. The model learned from the other {400 - n}"
    done = fewknots(
        "report", fitted / "m.fewknots", fitted / "flights.csv", "--out", page, "--json"
    )
    assert done.code == 0, done.err
    assert done.json["rows"] == n
    assert done.json["checked_on"].startswith(told)
    text = page.read_text(encoding="utf-8")
    assert told in text
    assert f"The {n} rows that were held out" not in text
    assert "flights.csv" in text  # the name, as before
    assert str(fitted) not in text  # and not where it was
    done = fewknots("report", fitted / "m.fewknots", "--out", page)
    assert done.code == 0, done.err
    assert f"The {n} rows that were held out" in page.read_text(encoding="utf-8")
    assert done.out.endswith(f"{page}: {n} rows.\n")


def test_nothing_new_is_an_error_that_says_what_to_do(fewknots, fitted, tmp_path):
    model = load(fitted / "m.fewknots")
    table = flights(300)
    new = model.learned.new(_entries(model, table))
    table[~new].to_csv(tmp_path / "old.csv", index=False)
    done = fewknots("evaluate", fitted / "m.fewknots", tmp_path / "old.csv")
    assert done.code == 1
    assert done.err.count("\n") == 1
    assert f"the model learned from all {(~new).sum()} rows given" in done.err
    assert "no file at all" in done.err
    forced = fewknots("evaluate", fitted / "m.fewknots", tmp_path / "old.csv", "--all-rows")
    assert forced.code == 0, forced.err


def test_a_label_that_was_changed_does_not_make_a_row_new(fewknots, fitted, tmp_path):
    table = pd.read_csv(fitted / "flights.csv")
    table["late"] = np.where(table.late == "yes", "no", "yes")
    table.to_csv(tmp_path / "flipped.csv", index=False)
    told = fewknots("evaluate", fitted / "m.fewknots", tmp_path / "flipped.csv", "--json").json
    assert told["rows"] == load(fitted / "m.fewknots").about["hold_out"]["rows"]


def test_an_older_file_cannot_know_and_says_so(fewknots, fitted, tmp_path):
    header, arrays = container.read(fitted / "m.fewknots")
    del header["table"]["learned_rows"]
    for name in ("share", "seed", "digest", "gain"):
        del header["table"]["about"]["hold_out"][name]
    for name in ("source", "options"):
        del header["table"]["about"][name]
    for name in ("stored_rows", "contest"):
        del header["training"][name]
    del header["arguments"]["store_rows"]
    arrays = {name: array for name, array in arrays.items() if not name.startswith("learned_rows")}
    old = tmp_path / "old.fewknots"
    container.write(old, header, arrays)
    done = fewknots("evaluate", old, fitted / "flights.csv", "--json")
    assert done.code == 0, done.err
    assert done.json["rows"] == 400
    assert done.json["rows_learned_from"] is None
    assert "It cannot be known which of them the model learned from" in done.json["checked_on"]
    page = tmp_path / "page.html"
    assert fewknots("report", old, fitted / "flights.csv", "--out", page).code == 0
    assert "It cannot be known which of them" in page.read_text(encoding="utf-8")
    refused = fewknots("evaluate", old)
    assert refused.code == 1
    assert "Give a file of labelled rows" in refused.err
    assert "is not known" in fewknots("inspect", old, "--json").json["holds"]


# --- without a file -------------------------------------------------------------------------------


def test_the_files_of_the_fit_move_with_the_model(fewknots, fitted, tmp_path):
    for name in ("m.fewknots", "flights.csv"):
        shutil.copy(fitted / name, tmp_path / name)
    assert fewknots("evaluate", tmp_path / "m.fewknots").code == 0
    (tmp_path / "flights.csv").unlink()
    gone = fewknots("evaluate", tmp_path / "m.fewknots")
    assert gone.code == 1
    assert "cannot be found" in gone.err
    assert "Give a file of labelled rows" in gone.err


@pytest.mark.parametrize("change", ["a row learned from", "a row held out", "a row more"])
def test_files_that_changed_are_refused(fewknots, fitted, tmp_path, change):
    shutil.copy(fitted / "m.fewknots", tmp_path / "m.fewknots")
    table, model = pd.read_csv(fitted / "flights.csv"), load(fitted / "m.fewknots")
    from fewknots.data.row_draw import HashSplit

    held = HashSplit(0.1, 4).drawn(0, 400)
    assert held.sum() == model.about["hold_out"]["rows"]
    if change == "a row more":
        table = pd.concat([table, flights(1, seed=9)])
    else:
        row = int(np.argmax(held if change == "a row held out" else ~held))
        table.loc[row, "distance"] += 1.0
    table.to_csv(tmp_path / "flights.csv", index=False)
    done = fewknots("evaluate", tmp_path / "m.fewknots")
    assert done.code == 1
    assert "no longer those that the model was fitted to" in done.err


def test_standard_input_cannot_be_read_again(fewknots, fitted, tmp_path, monkeypatch):
    with (fitted / "flights.csv").open() as file:
        monkeypatch.setattr("sys.stdin", file)
        out = tmp_path / "m.fewknots"
        done = fewknots("fit", "-", "-t", "late", "--drop", "id", *QUICK, "--out", out)
    assert done.code == 0, done.err
    assert "source" not in load(out).about
    refused = fewknots("evaluate", out)
    assert refused.code == 1
    assert "standard input" in refused.err
    assert fewknots("evaluate", out, fitted / "later.csv").code == 0


def test_a_fit_that_held_nothing_out(fewknots, fitted, tmp_path):
    out = tmp_path / "m.fewknots"
    arguments = ["fit", fitted / "flights.csv", "-t", "late", "--drop", "id", "--holdout", 0]
    assert fewknots(*arguments, *QUICK, "--out", out).code == 0
    refused = fewknots("report", out, "--out", tmp_path / "page.html")
    assert refused.code == 1
    assert "no row was held out at the fit" in refused.err
    refused = fewknots("evaluate", out, fitted / "flights.csv")
    assert "the model learned from all 400 rows given" in refused.err


# --- more rows than there are fingerprints --------------------------------------------------------


def test_a_share_of_the_rows(fewknots, fitted, tmp_path, monkeypatch):
    monkeypatch.setattr(learned_rows, "MOST_PRINTS", 200)
    flights(1000).to_csv(tmp_path / "flights.csv", index=False)
    out = tmp_path / "m.fewknots"
    arguments = ["fit", tmp_path / "flights.csv", "-t", "late", "--drop", "id", "--holdout", 0.5]
    done = fewknots(*arguments, *QUICK, "--out", out, "--json")
    assert done.code == 0, done.err
    model = load(out)
    assert 50 < len(model.learned.entries) < 150
    told = fewknots("evaluate", out, tmp_path / "flights.csv", "--json").json
    learned = done.json["rows"]["learned_from"]
    assert told["rows_learned_from"] == pytest.approx(learned, rel=0.25)
    assert 50 < told["rows"] < 150
    assert "about" in told["checked_on"]
    own = fewknots("evaluate", out, "--json").json
    assert own["rows"] == done.json["rows"]["held_out"]
    later = fewknots("evaluate", out, fitted / "later.csv", "--json").json
    assert later["rows"] == 80  # none of those that can be checked was learned from
    assert "that can be checked" in later["checked_on"]
    flights(400, seed=6).iloc[[_unchecked(model)]].to_csv(tmp_path / "one.csv", index=False)
    one = fewknots("evaluate", out, tmp_path / "one.csv", "--json").json
    assert one["rows_learned_from"] is None
    assert "It cannot be known" in one["checked_on"]


def _encoded(model, table):
    import pyarrow as pa

    from fewknots.data.sources import Place

    return model.recipe.encode(pa.Table.from_pandas(table), Place("the table"))


def _entries(model, table):
    return model.learned.prints.entries(_encoded(model, table), (table.late == "yes").to_numpy())


def _unchecked(model):
    return int(np.argmin(model.learned.prints.chosen(_encoded(model, flights(400, seed=6)))))


# --- how sure the verdict is ----------------------------------------------------------------------


def test_a_verdict_has_an_interval(fewknots, fitted, tmp_path):
    done = fewknots("evaluate", fitted / "m.fewknots", fitted / "later.csv")
    told = fewknots("evaluate", fitted / "m.fewknots", fitted / "later.csv", "--json").json
    low, high = told["gain"]["interval"]
    assert low < told["gain"]["nlp"] < high
    last = done.out.splitlines()[-1]
    assert f"(95 % interval of the gain: {low:.4f} to {high:.4f})" in last
    assert ("do not tell which is better" in last) == (low <= 0 <= high)
    flights(10, seed=7).to_csv(tmp_path / "ten.csv", index=False)
    few = fewknots("evaluate", fitted / "m.fewknots", tmp_path / "ten.csv")
    assert "10 rows are too few to tell which is better" in few.out


@pytest.mark.parametrize(
    ("sources", "name"),
    [
        (["flights.csv"], r"line (\d+)"),
        (["copy.parquet"], r"row (\d+)"),
        (["flights.csv", "later.csv"], r"(flights|later)\.csv, line (\d+)"),
    ],
)
def test_rows_on_the_page_are_named_as_in_the_files(fewknots, fitted, tmp_path, sources, name):
    page = tmp_path / "page.html"
    files = [fitted / source for source in sources]
    done = fewknots("report", fitted / "m.fewknots", *files, "--out", page)
    assert done.code == 0, done.err
    listed = [
        re.findall(r"<td[^>]*>(.*?)</td>", line)
        for line in re.findall(r"<tr>(<td.*?)</tr>", page.read_text())
    ]
    listed = [cells for cells in listed if re.fullmatch(name, cells[0])]
    assert len(listed) >= 10
    for cells in listed:
        file, number = sources[0], int(re.search(r"\d+$", cells[0])[0])
        if len(sources) > 1:
            file = cells[0].partition(",")[0]
        if file.endswith("parquet"):
            row = pd.read_parquet(fitted / file).astype(str).iloc[number - 1].tolist()
        else:
            row = (fitted / file).read_text().splitlines()[number - 1].split(",")
        assert cells[4] == row[0]  # the time
        assert cells[2] in row  # the label
