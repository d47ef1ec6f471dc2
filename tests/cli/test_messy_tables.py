"""Tables as people have them: decimal commas, umlauts, gaps, identifiers, leaks, bad rows."""

import csv
import io
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from fewknots import load
from fewknots.cli.output import column_table
from fewknots.tables.recipe.profile import ColumnProfile

from ..flights_table import flights

OPTIONS = ["--inducing", 8, "--max-time", 1]


def customers(n_rows=300, seed=0):
    """Cells as a German office program writes them, and a column of each suspicious sort."""
    rng = np.random.default_rng(seed)
    left = rng.random(n_rows) < 0.4
    size = 170 + 5 * rng.normal(size=n_rows) + 6 * left
    turnover = [f"{x:,.2f}".translate(str.maketrans(",.", ".,")) for x in rng.gamma(2, 900, n_rows)]
    for row, word in enumerate(["NA", "n/a", "-", "NA?", ""]):
        turnover[2 * row] = word
    return pd.DataFrame(
        {
            "Kunde": range(1000, 1000 + n_rows),
            "PLZ": [f"{code:05d}" for code in rng.choice([1067, 10115, 80331], n_rows)],
            "Größe": [f"{x:.1f}".replace(".", ",") for x in size],
            "Umsatz": turnover,
            "Tag": np.datetime64("2023-01-01") + rng.integers(0, 365, n_rows),
            "Stadt": rng.choice(["München", "Köln"], n_rows),
            "Grund": np.where(left, "gekündigt", ""),
            "fest": 1,
            "weg": np.where(left, "ja", "nein"),
        }
    )


def write(table, path, encoding="latin-1"):
    table.to_csv(path, sep=";", index=False, encoding=encoding, lineterminator="\r\n")
    return path


@pytest.fixture(scope="module")
def office(tmp_path_factory):
    folder = tmp_path_factory.mktemp("office")
    write(customers(), folder / "kunden.csv")
    command = [
        sys.executable,
        "-m",
        "fewknots",
        "fit",
        "kunden.csv",
        "-t",
        "weg",
        "--positive",
        "ja",
    ]
    command += ["--column", "Kunde=skip", "--column", "Grund=skip", "--column", "PLZ=text"]
    done = subprocess.run(
        [*command, *map(str, OPTIONS)], cwd=folder, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return folder


def read_back(text):
    return list(csv.DictReader(io.StringIO(text), delimiter=";"))


def test_fit_says_what_it_took_each_column_for(fewknots, tmp_path):
    path = write(customers(), tmp_path / "kunden.csv")
    arguments = ["fit", path, "-t", "weg", *OPTIONS, "--out", tmp_path / "m.fewknots"]
    done = fewknots(*arguments, "--json")
    assert done.code == 0, done.err
    lines = {line["name"]: line for line in done.json["columns"]}
    assert list(lines) == list(customers(20).columns)
    taken = {name: line["taken_as"] for name, line in lines.items()}
    assert taken == {
        "Kunde": "number",
        "PLZ": "number",
        "Größe": "number",
        "Umsatz": "number",
        "Tag": "date",
        "Stadt": "text",
        "Grund": "text",
        "fest": "skipped",
        "weg": "target",
    }
    assert lines["Umsatz"]["gaps"] == 5
    assert lines["Stadt"]["holds"].startswith("2 levels: ")
    assert lines["Stadt"]["notes"] == []
    for name, note in (
        ("Kunde", "an identifier?"),
        ("PLZ", "a zip code"),
        ("Grund", "a leak?"),
        ("fest", "never changes"),
    ):
        assert note in lines[name]["notes"][0]
    assert done.json["written"] == [
        {"separator": ";", "decimal": ",", "quote": '"', "encoding": "latin-1"}
    ]
    shown = fewknots(*arguments)
    assert shown.code == 0, shown.err
    before, _, after = shown.out.partition("A wrong guess?")
    assert "separator semicolon, decimal comma, encoding latin-1" in before
    for word in ("taken as", "an identifier?", "a leak?", "never changes", "Größe"):
        assert word in before
    assert "NLP" in after  # the table comes before training, the scores after it


def test_of_very_wide_tables_the_odd_columns_are_shown(capsys):
    plain = [ColumnProfile(f"c{number}", "number", "0 to 1", 0) for number in range(200)]
    odd = ColumnProfile("[bold]", "number", "1 to 9", 0, ("an identifier? every value differs",))
    column_table([*plain, odd, ColumnProfile("y", "target", "0 (50 %), 1 (50 %)", 0)], "")
    shown = capsys.readouterr().out
    assert "[bold]" in shown  # the user's text is no markup
    assert "target" in shown
    assert "And 152 more columns; --json lists all." in shown


def test_columns_are_corrected(office):
    recipe = load(office / "kunden.fewknots").recipe
    assert "PLZ=01067" in recipe.feature_names
    assert recipe.names == ("PLZ", "Größe", "Umsatz", "Tag", "Stadt")


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--column", "Kunde"], 2, "NAME=KIND"),
        (["--column", "Kunde=float"], 2, "text, number, date, skip"),
        (["--column", "never=text"], 1, "has no column 'never'"),
        (["--column", "weg=text"], 1, "is the target"),
        (["--separator", "::"], 1, "one character"),
        (["--encoding", "klingon"], 1, "unknown encoding"),
        (["--decimal", ";"], 1, "a point or a comma"),
        (["--separator", ","], 1, "line 2 has 2 fields, but the header has 1"),
        (["--encoding", "utf-8"], 1, "--encoding"),
    ],
)
def test_options_that_do_not_fit(fewknots, tmp_path, options, code, message):
    path = write(customers(30), tmp_path / "kunden.csv")
    done = fewknots("fit", path, "-t", "weg", *options)
    assert done.code == code
    assert message in done.err
    assert done.err.count("\n") == 1


def spoiled():
    """Rows 2 to 5 (from 0) cannot be scored, each for another reason."""
    table = customers(20, seed=1).drop(columns=["weg", "fest"]).astype(str)
    table.loc[2, "Größe"] = ""
    table.loc[3, "Größe"] = "groß"
    table.loc[4, "Tag"] = "gestern"
    table.loc[5, ["Größe", "Tag"]] = ["NA", "31.12.2023"]
    table.loc[6, "Umsatz"] = "NA"  # gaps that the model knows
    table.loc[7, "Stadt"] = "NA"  # a word
    return table


def test_rows_that_cannot_be_scored(fewknots, office, tmp_path):
    path = write(spoiled(), tmp_path / "neu.csv")
    done = fewknots("predict", office / "kunden.fewknots", path)
    assert done.code == 0, done.err
    assert done.err.count("\n") == 1
    assert "Note: 4 of 20 rows could not be scored" in done.err
    assert "neu.csv, line 4: column 'Größe' has no value, and none was missing" in done.err
    rows = read_back(done.out)
    reasons = {row: cells["why_not_scored"] for row, cells in enumerate(rows)}
    bad = {row: reason for row, reason in reasons.items() if reason}
    assert list(bad) == [2, 3, 4, 5]
    assert bad[3] == "column 'Größe' is 'groß', which is not a number"
    assert "column 'Tag' is 'gestern', which is not a date" in bad[4]
    assert "'Größe' has no value" in bad[5]
    assert "'Tag' is '31.12.2023'" in bad[5]
    for row, cells in enumerate(rows):
        p = [cells["p_ja"], cells["p_nein"]]
        if row in bad:
            assert [*p, cells["prediction"]] == ["", "", ""]
        else:
            assert sum(float(cell.replace(",", ".")) for cell in p) == pytest.approx(1.0)
            assert cells["prediction"] in ("ja", "nein")
    # the others are scored as if these were not there
    write(spoiled().drop(index=[2, 3, 4, 5]), tmp_path / "good.csv")
    good = fewknots("predict", office / "kunden.fewknots", tmp_path / "good.csv", "--strict")
    assert good.code == 0, good.err
    assert "why_not_scored" not in good.out
    expected = [float(cells["p_ja"].replace(",", ".")) for cells in read_back(good.out)]
    found = [float(c["p_ja"].replace(",", ".")) for row, c in enumerate(rows) if row not in bad]
    assert found == pytest.approx(expected, rel=1e-9)
    out = tmp_path / "scored.parquet"
    told = fewknots("predict", office / "kunden.fewknots", path, "--out", out, "--json")
    assert told.json == {"out": str(out), "rows": 20, "not_scored": 4}
    scored = pd.read_parquet(out)
    assert scored.p_ja.isna().sum() == 4
    lines = fewknots("predict", office / "kunden.fewknots", path, "--json").out.splitlines()
    assert json.loads(lines[2])["p_ja"] is None
    assert json.loads(lines[0])["why_not_scored"] is None


def test_strict_refuses(fewknots, office, tmp_path):
    path = write(spoiled(), tmp_path / "neu.csv")
    out = tmp_path / "scored.csv"
    done = fewknots("predict", office / "kunden.fewknots", path, "--strict", "--out", out)
    assert done.code == 1
    assert "neu.csv, line 4: column 'Größe' has no value" in done.err
    assert not out.exists()


def test_no_row_can_be_scored(fewknots, office, tmp_path):
    table = customers(15, seed=3)
    table["Größe"] = "groß"
    path = write(table, tmp_path / "neu.csv")
    done = fewknots("predict", office / "kunden.fewknots", path, "--keep", "Kunde")
    assert done.code == 0
    assert "15 of 15 rows could not be scored" in done.err
    refused = fewknots("evaluate", office / "kunden.fewknots", path)
    assert refused.code == 1
    assert "none of the 15 rows can be scored" in refused.err


@pytest.mark.parametrize("command", ["evaluate", "report"])
def test_other_commands_leave_such_rows_out_and_say_so(fewknots, office, tmp_path, command):
    table = customers(60, seed=2).astype(str)
    table.loc[7, "Größe"] = "groß"
    table.loc[9, "weg"] = ""
    table.loc[11, "weg"] = "NA"
    path = write(table, tmp_path / "neu.csv")
    out = ["--out", tmp_path / "page.html"] if command == "report" else []
    done = fewknots(command, office / "kunden.fewknots", path, *out, "--json")
    assert done.code == 0, done.err
    assert "Note: 3 of 60 rows cannot be scored or have no label" in done.err
    assert (done.json["rows"], done.json["left_out"]) == (57, 3)
    strict = fewknots(command, office / "kunden.fewknots", path, *out, "--strict")
    assert strict.code == 1
    assert "line 9: column 'Größe' is 'groß'" in strict.err


def test_cells_are_copied_to_the_letter(fewknots, home, tmp_path):
    """`T17:01` became a space and `37.0` became `37`."""
    new = flights(3, seed=4).drop(columns="late").astype(str)
    new["when"] = ["2023-05-01T17:01", "2023-05-01 17:01:00", "2023-05-01"]
    new["distance"] = ["37.0", "1e3", "+0037"]
    new["weekend"] = ["True", "FALSE", "true"]
    new["id"] = ['he said "no"', "a,b", " 007 "]
    new.to_csv(tmp_path / "new.csv", index=False)
    done = fewknots("predict", home / "m.fewknots", tmp_path / "new.csv")
    assert done.code == 0, done.err
    rows = list(csv.DictReader(io.StringIO(done.out)))
    for name in new.columns:
        assert [row[name] for row in rows] == new[name].tolist()
    assert done.out.splitlines()[1].startswith("2023-05-01T17:01,37.0,")
    out = tmp_path / "scored.csv"
    fewknots("predict", home / "m.fewknots", tmp_path / "new.csv", "--out", out)
    assert out.read_text() == done.out


def test_parquet_keeps_its_types(fewknots, home, tmp_path):
    out = tmp_path / "scored.parquet"
    done = fewknots("predict", home / "m.fewknots", home / "flights.parquet", "--out", out)
    assert done.code == 0, done.err
    before, after = (pa.parquet.read_table(p) for p in (home / "flights.parquet", out))
    for name in before.column_names:
        assert after[name].type == before[name].type
        assert after[name].equals(before[name])


def test_rows_of_parquet_count_from_one(fewknots, home, tmp_path):
    table = flights(10, seed=5)
    table.loc[4, "distance"] = np.nan
    table.to_parquet(tmp_path / "new.parquet")
    done = fewknots("predict", home / "m.fewknots", tmp_path / "new.parquet", "--strict")
    assert done.code == 1
    assert "new.parquet, row 5: column 'distance' has no value" in done.err
    assert "(Rows are counted from 1.)" in done.err


def test_a_file_may_be_written_in_another_way_than_the_first(fewknots, office, tmp_path):
    """The dialect belongs to a file, not to the model."""
    table = customers(12, seed=6)
    write(table, tmp_path / "german.csv")
    for name in ("Größe", "Umsatz"):
        table[name] = table[name].str.replace(".", "").str.replace(",", ".")
    table.to_csv(tmp_path / "english.csv", index=False, encoding="utf-16")
    found = []
    for name in ("german.csv", "english.csv"):
        done = fewknots("predict", office / "kunden.fewknots", tmp_path / name, "--json")
        assert done.code == 0, done.err
        found.append([json.loads(line)["p_ja"] for line in done.out.splitlines()])
    assert found[0] == found[1]


def test_standard_input_in_any_dialect(office, tmp_path):
    content = write(customers(12, seed=6), tmp_path / "neu.csv").read_bytes()
    command = [sys.executable, "-m", "fewknots", "predict", office / "kunden.fewknots", "-"]
    done = subprocess.run(command, input=content, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr
    rows = read_back(done.stdout.decode())
    assert len(rows) == 12
    assert all(row["p_ja"] for row in rows)


def test_the_guess_can_be_overruled(fewknots, tmp_path):
    """1,234 in every cell of a semicolon file is taken for a decimal comma."""
    rng = np.random.default_rng(0)
    thousands = [f"{n:,}" for n in rng.integers(1000, 9999, 80)]
    table = pd.DataFrame({"x": thousands, "y": rng.integers(0, 2, 80)})
    table.to_csv(tmp_path / "t.csv", sep=";", index=False)
    ranges = []
    for options in ([], ["--decimal", "."]):
        arguments = ["fit", tmp_path / "t.csv", "-t", "y", *OPTIONS, "--json", *options]
        done = fewknots(*arguments, "--out", tmp_path / "m.fewknots")
        assert done.code == 0, done.err
        ranges.append(float(done.json["columns"][0]["holds"].partition(" to ")[0]))
    assert ranges[0] == pytest.approx(ranges[1] / 1000)
    assert ranges[1] >= 1000
