import csv

import pytest

from fewknots.paper.experiment import Cell, Result
from fewknots.paper.outputs import entry, markdown_table, write_csv


def test_a_markdown_table_lines_up():
    assert markdown_table(("a", "long name"), [("x", 1), ("yyyy", 2.5)]) == (
        "| a    | long name |\n|------|-----------|\n| x    | 1         |\n| yyyy | 2.5       |"
    )


def test_csv_has_the_columns_of_all_rows(tmp_path):
    write_csv(tmp_path / "t.csv", [{"a": 1}, {"a": 2, "b": "x,y"}])
    with (tmp_path / "t.csv").open(newline="") as file:
        assert list(csv.DictReader(file)) == [{"a": "1", "b": ""}, {"a": "2", "b": "x,y"}]


def test_an_entry_is_a_number_or_the_reason_there_is_none():
    done = Result(Cell("k", {}), {"nlp": 0.12345}, None, 1.0)
    assert entry(done, "nlp", 3) == "0.123"
    failed = Result(Cell("k", {}), {}, "ValueError: no\nmore", 1.0)
    assert entry(failed, "nlp", 3) == "failed: ValueError: no"
    with pytest.raises(KeyError):
        entry(done, "error", 3)
