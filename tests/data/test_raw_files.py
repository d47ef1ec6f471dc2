"""Files read as they stand, rows drawn by number, tables written whole or not at all."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

from fewknots.data.csv_dialect import CsvOptions
from fewknots.data.row_draw import HashSplit
from fewknots.data.table_files import RawFiles
from fewknots.data.table_paths import as_files
from fewknots.data.table_writer import write_table
from fewknots.exceptions import DataError


def all_rows(files, names):
    return pa.Table.from_batches([batch for batch, _ in files.batches(names)])


def test_every_format_gives_the_same_rows(tmp_path):
    table = pa.table({"a": [1.5, 2.5], "w": ["x", "y"], "more": [True, False]})
    pa.csv.write_csv(table, tmp_path / "t.csv")
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    pa.feather.write_feather(table, tmp_path / "t.feather")
    written = [{"w": "x", "a": "1.5"}, {"w": "y", "a": "2.5"}]  # a CSV's cells are text
    for path in tmp_path.iterdir():
        rows = all_rows(RawFiles(str(path)), ["w", "a"]).to_pylist()
        expected = written if path.suffix == ".csv" else table.select(["w", "a"]).to_pylist()
        assert rows == expected


def test_files_of_one_table_and_where_their_rows_are(tmp_path):
    for number in range(3):
        (tmp_path / f"{number}.csv").write_text(f"a,b\n{number},\n{number},x\n")
    files = RawFiles(str(tmp_path))
    places = [str(place) for _, place in files.batches(["a"])]
    assert places == [f"{tmp_path / str(number)}.csv, line 2" for number in range(3)]
    assert all_rows(files, ["a"])["a"].to_pylist() == ["0", "0", "1", "1", "2", "2"]


def test_columns_that_are_missing_or_there_twice(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,a\n1,2,3\n")
    files = RawFiles(tmp_path / "t.csv")
    with pytest.raises(DataError, match="has 2 columns named 'a': rename them"):
        list(files.batches(["a"]))
    with pytest.raises(DataError, match="has no column 'c'"):
        list(files.batches(["c"]))
    assert all_rows(files, ["b"]).to_pydict() == {"b": ["2"]}


@pytest.mark.parametrize("content", ["", "a,b\n"])
def test_no_rows(tmp_path, content):
    (tmp_path / "t.csv").write_text(content)
    with pytest.raises(DataError, match=r"is empty|no rows|cannot be read"):
        list(RawFiles(tmp_path / "t.csv").batches(["a"]))


def test_bytes_that_are_not_text(tmp_path):
    """Only the beginning of a file tells its encoding, so a later byte can contradict it."""
    path = tmp_path / "t.csv"
    n_rows = 2**18
    path.write_bytes(b"a,w\n" + b"1,x\n" * n_rows + b"2,caf\xe9\n")
    files = RawFiles(path)
    said = (
        rf"t\.csv, line {n_rows + 2}: column 'w' holds bytes that are not UTF.*--encoding latin-1"
    )
    with pytest.raises(DataError, match=said):
        list(files.batches(["w"]))
    told = RawFiles(path, CsvOptions(encoding="latin-1"))
    assert all_rows(told, ["w"])["w"][n_rows].as_py() == "café"
    with pytest.raises(DataError, match="is not ascii text"):
        list(RawFiles(path, CsvOptions(encoding="ascii")).batches(["w"]))


class _Stdin:
    def __init__(self, content):
        self.buffer = io.BytesIO(content)


def _parquet(table):
    sink = io.BytesIO()
    pa.parquet.write_table(table, sink)
    return sink.getvalue()


def _stream(table):
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


TABLE = pa.table({"a": [1, 2], "w": ["x", "y"]})


@pytest.mark.parametrize(
    "content", [b"a,w\n1,x\n2,y\n", b"a\tw\n1\tx\n2\ty\n", _parquet(TABLE), _stream(TABLE)]
)
def test_standard_input_is_known_by_its_first_bytes(monkeypatch, content):
    monkeypatch.setattr("sys.stdin", _Stdin(content))
    with as_files(["-"]) as files:
        rows = all_rows(RawFiles(files), ["a", "w"]).to_pylist()
        assert [(int(row["a"]), row["w"]) for row in rows] == [(1, "x"), (2, "y")]


def test_standard_input_that_cannot_be_used(monkeypatch):
    monkeypatch.setattr("sys.stdin", _Stdin(b""))
    with pytest.raises(DataError, match="standard input is empty"), as_files(["-"]):
        pass
    with pytest.raises(DataError, match="together with files"), as_files(["-", "a.csv"]):
        pass


def test_rows_are_drawn_by_their_number():
    lot = HashSplit(0.1, seed=3)
    whole = lot.drawn(0, 100_000)
    pieces = np.concatenate([lot.drawn(first, 1000) for first in range(0, 100_000, 1000)])
    np.testing.assert_array_equal(whole, pieces)
    assert whole.mean() == pytest.approx(0.1, abs=0.004)
    other = HashSplit(0.1, seed=4).drawn(0, 100_000)
    assert (whole & other).mean() == pytest.approx(0.01, abs=0.002)  # as if independent
    neighbours = (whole[1:] & whole[:-1]).mean()
    assert neighbours == pytest.approx(0.01, abs=0.002)


def test_all_none_and_at_most():
    assert HashSplit(1.0, 0).drawn(0, 1000).all()
    assert not HashSplit(0.0, 0).drawn(0, 1000).any()
    assert HashSplit(0.5, 0).at_most(100, 1000).share == 0.1
    assert HashSplit(0.05, 0).at_most(100, 1000).share == 0.05


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet", ".arrow", ".feather"])
def test_tables_are_written_in_pieces(tmp_path, ending):
    path = tmp_path / f"t{ending}"
    words = pa.array(["x", "y"]).dictionary_encode()
    pieces = [pa.table({"a": [1, 2], "w": words}), pa.table({"a": [3], "w": ["z"]})]
    assert write_table(path, pieces) == 3
    rows = all_rows(RawFiles(path), ["a", "w"])
    assert [int(value) for value in rows["a"].to_pylist()] == [1, 2, 3]
    assert rows["w"].to_pylist() == ["x", "y", "z"]


def test_a_table_appears_whole_or_not_at_all(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("before")

    def broken():
        yield pa.table({"a": [1]})
        raise DataError("no more")

    with pytest.raises(DataError, match="no more"):
        write_table(path, broken())
    with pytest.raises(DataError, match="cannot be written"):
        write_table(path, [pa.table({"a": [[1, 2]]})])
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]
