"""Columns of text that hold something else: found out from the first values, or said."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from fewknots.data.csv_dialect import CsvOptions
from fewknots.data.table_files import RawFiles
from fewknots.exceptions import DataError
from fewknots.tables.reading import NoProgress, Task, survey
from fewknots.tables.recipe import Recipe

MANY = 100_000  # lines of a CSV, several times what is looked at first


def surveyed(path, options=None, **kinds):
    files = RawFiles(str(path), options or CsvOptions())
    return files, survey(files, Task("y", kinds=kinds), NoProgress())


def encoded(files, found):
    names = list(found.recipe.names)
    return np.concatenate([found.recipe.encode(b, p) for b, p in files.batches(names)])


def csv_of(path, columns, separator=","):
    columns = {**columns, "y": [row % 2 for row in range(len(next(iter(columns.values()))))]}
    pd.DataFrame(columns).to_csv(path, index=False, sep=separator)
    return path


def profile(found, name):
    (line,) = (line for line in found.columns if line.name == name)
    return line


@pytest.mark.parametrize("word", ["NA", "N/A", "NA?", "-", "null", "unknown"])
def test_a_gap_far_below_the_first_block(tmp_path, word):
    numbers = [f"{row % 97}.5" for row in range(MANY)]
    numbers[MANY - 3] = word
    files, found = surveyed(csv_of(tmp_path / "t.csv", {"x": numbers}))
    assert found.recipe.feature_names == ("x", "x (missing)")
    assert profile(found, "x").gaps == 1
    X = encoded(files, found)
    assert np.flatnonzero(X[:, 1]).tolist() == [MANY - 3]


def test_a_column_that_begins_empty_may_hold_numbers(tmp_path):
    numbers = ["NA"] * MANY + ["1.5", "2,500", "-"]
    _, found = surveyed(csv_of(tmp_path / "t.csv", {"x": numbers}))
    line = profile(found, "x")
    assert (line.taken_as, line.holds, line.gaps) == ("number", "1.5 to 2500", MANY + 1)


def test_a_column_that_begins_empty_may_hold_words(tmp_path):
    words = ["NA"] * MANY + ["yes"] * 20
    _, found = surveyed(csv_of(tmp_path / "t.csv", {"x": words}))
    assert found.recipe.feature_names == ("x=NA", "x=yes")  # in text it is a word


def test_text_far_below_numbers(tmp_path):
    numbers = [str(row % 7) for row in range(MANY)]
    numbers[MANY - 2] = "seven"
    path = csv_of(tmp_path / "t.csv", {"x": numbers})
    said = f"t.csv, line {MANY}: column 'x' is 'seven', which is not a number.*--column x=text"
    with pytest.raises(DataError, match=said):
        surveyed(path)
    _, as_text = surveyed(path, x="text")
    assert "x=3" in as_text.recipe.feature_names
    files, as_number = surveyed(path, x="number")
    line = profile(as_number, "x")
    assert (line.taken_as, line.gaps) == ("number", 1)
    assert line.notes == ("1 cells are not numbers: gaps",)
    again = Recipe.from_header(json.loads(json.dumps(as_number.recipe.header())))
    assert again == as_number.recipe
    assert encoded(files, as_number)[MANY - 2, 1] == 1.0
    _, skipped = surveyed(
        csv_of(tmp_path / "s.csv", {"x": numbers, "z": numbers[:-3] + ["1"] * 3}), x="skip"
    )
    assert skipped.recipe.names == ("z",)


def test_the_first_rows_are_mostly_numbers(tmp_path):
    numbers = [f"{row}.5" for row in range(100)]
    numbers[7] = "seven"
    _, found = surveyed(csv_of(tmp_path / "t.csv", {"x": numbers, "z": range(100)}))
    line = profile(found, "x")
    assert line.taken_as == "skipped"  # a hundred different texts
    assert "mostly numbers, but 'seven' in line 9" in line.notes


def test_a_kind_that_no_cell_has(tmp_path):
    path = csv_of(tmp_path / "t.csv", {"x": ["a", "b"] * 10, "z": range(20)})
    for kind, message in (("number", "holds no number"), ("date", "holds no date such as")):
        with pytest.raises(DataError, match=message):
            surveyed(path, x=kind)
    with pytest.raises(DataError, match="'y' is the target, not an input"):
        surveyed(path, y="text")
    with pytest.raises(DataError, match="has no column 'never'"):
        surveyed(path, never="text")


def test_every_kind_in_a_german_file(tmp_path):
    path = tmp_path / "t.csv"
    columns = {
        "Größe": ["1,75", "1.001,5", "NA", "0,5"] * 10,
        "Tag": ["2023-01-05", "2023-08-01 17:30", "", "2023-12-24T12:00"] * 10,
        "ja": ["true", "False", "TRUE", "-"] * 10,
        "Wort": ["NA", "Öl", "Öl", "NA"] * 10,
    }
    csv_of(path, columns, ";")
    path.write_bytes(path.read_text(encoding="utf-8").encode("latin-1"))
    files, found = surveyed(path)
    taken = [(line.name, line.taken_as, line.holds, line.gaps) for line in found.columns]
    assert taken == [
        ("Größe", "number", "0.5 to 1001.5", 10),
        ("Tag", "date", "2023-01-05 00:00 to 2023-12-24 12:00", 10),
        ("ja", "boolean", "false, true", 10),
        ("Wort", "text", "2 levels: NA, Öl", 0),
        ("y", "target", "0 (50.0%), 1 (50.0%)", 0),
    ]
    X = encoded(files, found)
    np.testing.assert_allclose(X[:4, 0], [1.75, 1001.5, (1.75 + 1001.5 + 0.5) / 3, 0.5])


@pytest.mark.parametrize("dtype", [pa.string(), pa.large_string()])
def test_dates_stored_as_text_in_parquet_are_dates(tmp_path, dtype):
    days = [str(day) for day in np.arange("2023-01-01", "2023-05-01", dtype="datetime64[D]")]
    days[4] = "NA"
    csv_of(tmp_path / "t.csv", {"day": days})
    rows = pa.table({"day": pa.array(days, dtype), "y": [row % 2 for row in range(len(days))]})
    pa.parquet.write_table(rows, tmp_path / "t.parquet")
    from_csv, from_parquet = (surveyed(tmp_path / name) for name in ("t.csv", "t.parquet"))
    assert from_parquet[1].recipe == from_csv[1].recipe
    assert profile(from_parquet[1], "day").taken_as == "date"
    np.testing.assert_array_equal(encoded(*from_parquet), encoded(*from_csv))


def test_moments_with_a_zone(tmp_path):
    local = [f"2023-0{month}-01T12:00:00+02:00" for month in range(1, 9)]
    files, found = surveyed(csv_of(tmp_path / "t.csv", {"t": local}))
    X = encoded(files, found)
    circle = found.recipe.feature_names.index("t: time of day (cos)")
    np.testing.assert_allclose(X[:, circle], np.cos(2 * np.pi * 10 / 24))  # at Greenwich
    # A model that knows a zone sees the same moments by that zone's clocks.
    zoned = pa.array(local).cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("us", "Asia/Tokyo"))
    rows = pa.table({"t": zoned, "y": [0, 1] * 4})
    pa.parquet.write_table(rows, tmp_path / "t.parquet")
    there, in_tokyo = surveyed(tmp_path / "t.parquet")
    as_text = next(b for b, _ in RawFiles(tmp_path / "t.csv").batches(["t"]))
    place = next(p for _, p in there.batches(["t"]))
    np.testing.assert_allclose(
        in_tokyo.recipe.encode(as_text, place), encoded(there, in_tokyo), atol=1e-9
    )


def test_numbers_stored_as_text_in_parquet_were_meant_to_be_text(tmp_path):
    rows = pa.table({"zip": ["01067", "10115"] * 10, "x": ["1,5", "2"] * 10, "y": [0, 1] * 10})
    pa.parquet.write_table(rows, tmp_path / "t.parquet")
    _, found = surveyed(tmp_path / "t.parquet")
    assert profile(found, "zip").taken_as == "text"
    assert "numbers stored as text" in profile(found, "zip").notes
    files, as_numbers = surveyed(tmp_path / "t.parquet", CsvOptions(decimal=","), x="number")
    assert encoded(files, as_numbers)[:2, -1].tolist() == [1.5, 2.0]


def test_labels_of_a_csv_keep_their_meaning(tmp_path):
    (tmp_path / "t.csv").write_text("x;y\n" + "1,5;0\n2,5;1,0\n" * 5)
    _, found = surveyed(tmp_path / "t.csv")
    assert (found.labels.negative, found.labels.positive) == (0, 1)
    assert not isinstance(found.labels.negative, str)
    (tmp_path / "t.csv").write_text("x,y\n1.5,0\n2.5,NA\n3.5,1\n")
    with pytest.raises(DataError, match=r"line 3: column 'y' has no value"):
        surveyed(tmp_path / "t.csv")
