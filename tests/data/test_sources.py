import decimal
import gzip
import os
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

from fewknots.data.sources import Source, open_source
from fewknots.exceptions import DataError

N = 1000


def table(n=N, seed=0, **changes):
    rng = np.random.default_rng(seed)
    columns = {
        "id": pa.array([f"r{i:04}" for i in range(n)]),
        "a": pa.array(rng.normal(size=n)),
        "b": pa.array(rng.integers(-9, 9, n), pa.int16()),
        "late": pa.array(rng.choice(["no", "yes"], n)),
        "w": pa.array(rng.uniform(0, 2, n)),
    }
    columns |= changes
    return pa.table({name: pa.array(c) for name, c in columns.items() if c is not None})


def write_stream(rows, path):
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, rows.schema) as writer:
        writer.write_table(rows, 300)


def write_csv_gz(rows, path):
    with pa.CompressedOutputStream(str(path), "gzip") as file:
        pa.csv.write_csv(rows, file)


def write_tsv(rows, path):
    pa.csv.write_csv(rows, path, pa.csv.WriteOptions(delimiter="\t"))


WRITERS = {
    "t.parquet": lambda rows, path: pa.parquet.write_table(rows, path, row_group_size=300),
    "t.pq": pa.parquet.write_table,
    "t.csv": pa.csv.write_csv,
    "t.tsv": write_tsv,
    "t.csv.gz": write_csv_gz,
    "t.feather": lambda rows, path: pa.feather.write_feather(rows, str(path), chunksize=300),
    "t.arrow": write_stream,
    "t.ipc": write_stream,
}


def write(rows, path):
    WRITERS["t" + "".join(path.suffixes)](rows, path)
    return path


def read(source, rows=65_536, keep=()):
    """All blocks as one: X, labels, weights, and the sizes of the blocks."""
    blocks = list(source.blocks(rows, keep))
    assert all(b.X.dtype == np.float64 and b.X.flags.c_contiguous for b in blocks)
    labels = None if blocks[0].labels is None else np.concatenate([b.labels for b in blocks])
    weights = None if blocks[0].weights is None else np.concatenate([b.weights for b in blocks])
    return np.concatenate([b.X for b in blocks]), labels, weights, [len(b.X) for b in blocks]


def features(rows, *names):
    return np.column_stack([rows[name].to_numpy() for name in names or ("a", "b")]).astype(float)


def message(error):
    return str(error.value).replace(os.sep, "/")


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_its_rows_any_number_of_times(tmp_path, name):
    rows = table()
    path = write(rows, tmp_path / name)
    source = open_source(path, target="late", features=["b", "a"], weight="w")
    assert isinstance(source, Source)
    assert (source.feature_names, source.n_features) == (("b", "a"), 2)
    for size in (65_536, 128):
        X, labels, weights, sizes = read(source, size)
        np.testing.assert_array_equal(X, features(rows, "b", "a"))
        assert labels.tolist() == rows["late"].to_pylist()
        np.testing.assert_array_equal(weights, rows["w"].to_numpy())
        assert max(sizes) <= size


def test_row_counts_where_the_file_tells(tmp_path):
    paths = {name: write(table(), tmp_path / name) for name in ("t.parquet", "t.feather", "t.csv")}
    counts = {name: open_source(path, features=["a"]).n_rows for name, path in paths.items()}
    assert counts == {"t.parquet": N, "t.feather": N, "t.csv": None}


def test_without_target_every_other_column_is_a_feature(tmp_path):
    path = write(table(id=None, late=None), tmp_path / "t.parquet")
    source = open_source(str(path))
    assert source.feature_names == ("a", "b", "w")
    block = next(source.blocks())
    assert (block.labels, block.weights, block.table) == (None, None, None)


@pytest.mark.parametrize("name", ["t.parquet", "t.csv", "t.arrow", "t.feather"])
def test_kept_columns_come_along_untouched(tmp_path, name):
    rows = table(id=[f"{i:04}" for i in range(N)])
    source = open_source(write(rows, tmp_path / name), features=["a"])
    kept = [block.table for block in source.blocks(300, keep=["id", "a"])]
    found, expected = pa.Table.from_batches(kept), rows.select(["id", "a"])
    if name == "t.csv":  # as text, to the letter
        written = pa.csv.ConvertOptions(column_types={"id": pa.string(), "a": pa.string()})
        as_text = pa.csv.read_csv(tmp_path / name, convert_options=written)
        expected = as_text.select(["id", "a"])
    assert found.combine_chunks().equals(expected.combine_chunks())
    with pytest.raises(DataError, match=r"no column 'nothing'.*'id', 'a'"):
        list(source.blocks(keep=["nothing"]))


@pytest.mark.parametrize("how", ["folder", "pattern", "list"])
def test_many_files_are_one_table(tmp_path, how):
    parts = {"b/1.csv": table(300, 1), "a.csv": table(200, 0), "c.csv": table(100, 2)}
    for name, rows in parts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        write(rows, tmp_path / name)
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".hidden.csv").write_text("x\n")
    (tmp_path / "notes.txt").write_text("x\n")
    given = {
        "folder": tmp_path,
        "pattern": str(tmp_path / "**" / "*.csv"),
        "list": [tmp_path / "a.csv", str(tmp_path / "b/1.csv"), tmp_path / "c.csv"],
    }[how]
    source = open_source(given, target="late", features=["a", "b"])
    want = pa.concat_tables([parts["a.csv"], parts["b/1.csv"], parts["c.csv"]])
    X, labels, _, sizes = read(source)
    np.testing.assert_array_equal(X, features(want))
    assert labels.tolist() == want["late"].to_pylist()
    assert sizes == [200, 300, 100]
    places = [block.place for block in source.blocks(150)]
    assert places[3][:2] == (str(tmp_path / "b/1.csv"), 150)
    assert str(places[3].row(7)) == f"{tmp_path / 'b/1.csv'}, line 159"  # the header is line 1


@pytest.mark.parametrize(
    ("type_", "exact"),
    [
        *((type_, True) for type_ in (pa.bool_(), pa.int8(), pa.uint16())),
        *((type_, True) for type_ in (pa.float16(), pa.float32())),
        *((type_, False) for type_ in (pa.int32(), pa.uint64(), pa.float64())),
        (pa.decimal128(7, 2), False),
    ],
    ids=str,
)
def test_every_type_of_number_is_a_feature(tmp_path, type_, exact):
    values = [1, 0, 1, 1]
    if pa.types.is_decimal(type_):
        values = [decimal.Decimal("1.25"), decimal.Decimal("-3"), decimal.Decimal(0)]
    elif pa.types.is_floating(type_):
        values = [np.float16(0.5), np.float16(-2)]
    path = tmp_path / "t.parquet"
    if pa.types.is_boolean(type_):
        values = [bool(v) for v in values]
    rows = pa.table({"a": pa.array(values, type_), "y": [i % 2 for i in range(len(values))]})
    pa.parquet.write_table(rows, path)
    source = open_source(path, target="y")
    assert source.exact_in_float32 is exact
    np.testing.assert_array_equal(read(source)[0][:, 0], [float(v) for v in values])


def test_an_inexact_weight_makes_the_table_inexact(tmp_path):
    rows = table(id=None, late=None, a=None)
    path = write(rows, tmp_path / "t.parquet")
    assert open_source(path, features=["b"]).exact_in_float32
    assert not open_source(path, features=["b"], weight="w").exact_in_float32


@pytest.mark.parametrize(
    "labels",
    [
        pa.array(["no", "yes", "no"]),
        pa.array(["no", "yes", "no"]).dictionary_encode(),
        pa.array(["no", "yes", "no"], pa.large_string()),
        pa.array([True, False, True]),
        pa.array([-1, 1, 1], pa.int8()),
        pa.array([0.0, 1.0, 1.0]),
        pa.array([decimal.Decimal(1), decimal.Decimal(2), decimal.Decimal(1)]),
    ],
    ids=lambda labels: str(labels.type).partition("<")[0],
)
def test_labels_are_what_the_file_says(tmp_path, labels):
    path = tmp_path / "t.parquet"
    pa.parquet.write_table(pa.table({"a": [1.0, 2.0, 3.0], "y": labels}), path)
    assert read(open_source(path, target="y"))[1].tolist() == labels.to_pylist()


def test_a_csv_of_whole_numbers_may_have_a_fraction_far_down(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,y\n" + "1,0\n" * 300_000 + "0.5,1\n")
    X, labels, _, _ = read(open_source(path, target="y"))
    assert (X[-1, 0], labels[-1], len(X)) == (0.5, "1", 300_001)


def test_a_csv_may_be_wide(tmp_path):
    path = tmp_path / "t.csv"
    names = [f"column_{i:090}" for i in range(3000)]
    path.write_text(",".join(["y", *names]) + "\n" + ",".join(["1"] * 3001) + "\n")
    assert read(open_source(path, target="y"))[0].shape == (1, 3000)


# What is wrong with a table, and where


@pytest.mark.parametrize("name", ["t.parquet", "t.csv", "t.feather"])
@pytest.mark.parametrize("column", ["a", "b", "late", "w"])
def test_missing_values_are_found(tmp_path, name, column):
    rows = table()
    values = rows[column].to_pylist()
    values[431] = None
    path = write(table(**{column: values}), tmp_path / name)
    # an editor shows the header as line 1; viewers of Parquet count from 1
    where = "line 433" if name == "t.csv" else "row 432"
    with pytest.raises(DataError, match=f"t.*, {where}: column '{column}' has no value"):
        read(open_source(path, target="late", features=["a", "b"], weight="w"), 100)


@pytest.mark.parametrize(
    ("column", "value", "complaint"),
    [
        ("a", np.nan, "has no value"),
        ("a", -np.inf, "is infinite"),
        ("a", 1e101, "is 1e\\+101, too large .* 1e\\+100"),
        ("w", np.nan, "has no value"),
        ("w", np.inf, "is infinite"),
        ("w", -0.5, "weight -0.5.*cannot be negative"),
    ],
)
def test_impossible_numbers_are_found(tmp_path, column, value, complaint):
    values = table()[column].to_numpy().copy()
    values[431] = value
    path = write(table(**{column: values}), tmp_path / "t.parquet")
    source = open_source(path, target="late", features=["a", "b"], weight="w")
    with pytest.raises(DataError, match=f"t.parquet, row 432: column '{column}' .*{complaint}"):
        read(source, 100)


@pytest.mark.parametrize(
    "values",
    [
        pa.array(["x"] * N),
        pa.array(["x"] * N).dictionary_encode(),
        pa.array([b"x"] * N),
        pa.array([1] * N, pa.timestamp("s")),
        pa.array([[1.0]] * N),
    ],
    ids=lambda values: str(values.type).partition("<")[0],
)
@pytest.mark.parametrize("name", ["t.parquet", "t.arrow"])
def test_features_that_are_not_numbers_are_refused(tmp_path, name, values):
    path = write(table(a=values), tmp_path / name)
    with pytest.raises(DataError, match=r"column 'a' of .*t.* holds .*not numbers.*features="):
        open_source(path, target="late", features=["a", "b"])


@pytest.mark.parametrize("row", [3, 200_000], ids=["first block", "later"])
def test_text_in_a_csv_feature_is_found_with_its_row(tmp_path, row):
    lines = [f"{i}.0,0,{i}" for i in range(200_001)]
    lines[row] = "oops,1,5"
    path = tmp_path / "t.csv"
    path.write_text("a,y,b\n" + "\n".join(lines) + "\n")
    with pytest.raises(DataError, match=f"t.csv, line {row + 2}: column 'a' is 'oops'.*features"):
        read(open_source(path, target="y", features=["b", "a"]))


def test_a_date_is_no_label(tmp_path):
    path = write(table(late=pa.array([1] * N, pa.date32())), tmp_path / "t.parquet")
    with pytest.raises(
        DataError, match=r"column 'late' of .*t.parquet, the target, holds .*date32"
    ):
        open_source(path, target="late", features=["a"])


@pytest.mark.parametrize("role", ["target", "weight", "features"])
def test_unknown_columns_list_the_known(tmp_path, role):
    path = write(table(), tmp_path / "t.csv")
    wrong = {"features": ["a"], role: ["lat"] if role == "features" else "lat"}
    with pytest.raises(DataError, match=r"t.csv has no column 'lat'.*'id', 'a', 'b', 'late', 'w'"):
        open_source(path, **wrong)


def test_contradictory_columns(tmp_path):
    path = write(table(), tmp_path / "t.parquet")
    with pytest.raises(DataError, match="'late' is both target and feature"):
        open_source(path, target="late", features=["a", "late"])
    with pytest.raises(DataError, match="'a' is named 2 times"):
        open_source(path, features=["a", "a"])
    with pytest.raises(TypeError, match="list of column names"):
        open_source(path, features="a")
    with pytest.raises(TypeError, match="3 is not a name"):
        open_source(path, target=3)
    (tmp_path / "t.csv").write_text("a,a,y\n1,2,3\n")
    with pytest.raises(DataError, match=r"t.csv has 2 columns named 'a'"):
        open_source(tmp_path / "t.csv", target="y")
    (tmp_path / "y.csv").write_text("y\n1\n")
    with pytest.raises(DataError, match="no column left"):
        open_source(tmp_path / "y.csv", target="y")


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".arrow"])
def test_files_that_disagree(tmp_path, suffix):
    first = write(table(), tmp_path / f"a{suffix}")
    second = write(table(b=None), tmp_path / f"b{suffix}")
    with pytest.raises(DataError, match=f"b\\{suffix} has no column 'b'"):
        open_source([first, second], target="late", features=["a", "b"])
    write(table(b=["x"] * N), second)
    with pytest.raises(DataError, match=f"b\\{suffix}.*'x'|'b' of .*b\\{suffix} holds text"):
        open_source([first, second], target="late", features=["a", "b"])
    write(table(late=[0] * N), second)
    with pytest.raises(DataError, match=f"'late' holds numbers in .*b\\{suffix} and text in .*a"):
        open_source([first, second], target="late", features=["a", "b"])
    write(table(b=np.arange(N)), second)  # int64 after int16 is no disagreement
    source = open_source([first, second], target="late", features=["b"])
    assert source.exact_in_float32 is False
    assert len(read(source)[0]) == 2 * N


def test_files_of_two_kinds(tmp_path):
    write(table(), tmp_path / "a.parquet")
    write(table(), tmp_path / "b.csv")
    with pytest.raises(DataError, match=r"a.parquet and .*b.csv are files of different kinds"):
        open_source(tmp_path)


@pytest.mark.parametrize("name", ["t.parquet", "t.csv.gz", "t.feather", "t.arrow", "t.csv"])
def test_files_cut_off_in_the_middle(tmp_path, name):
    path = write(table(50_000), tmp_path / name)
    content = path.read_bytes()
    cut = len(content) // 2
    if name == "t.csv":
        cut = content.rindex(b"\n", 0, cut) + 12  # in the middle of a line
    path.write_bytes(content[:cut])
    said = rf"{name} cannot be read from (row|line) \d+ on: it is damaged"
    if name == "t.csv":
        said = r"t.csv, line \d+ has 2 fields, but the header has 5.*separator comma.*cut off there"
    with pytest.raises(DataError, match=said):
        read(open_source(path, target="late", features=["a", "b"], weight="w"))


def test_a_damaged_file_is_read_as_far_as_it_is_good(tmp_path):
    rows = table(50_000)
    path = write(rows, tmp_path / "t.parquet")
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 20_000] = bytes(20_000)
    path.write_bytes(content)
    read_so_far = []
    source = open_source(path, target="late", features=["a", "b"])
    with pytest.raises(DataError) as error:
        read_so_far.extend(source.blocks(1000))
    good = sum(len(block.X) for block in read_so_far)
    assert f"cannot be read from row {good + 1} on" in message(error)
    assert 0 < good < 50_000


def test_a_truncated_gz_names_the_row_it_got_to(tmp_path):
    text = "a,y\n" + "".join(f"{i}.5,{i % 2}\n" for i in range(400_000))
    content = gzip.compress(text.encode(), 1)
    path = tmp_path / "t.csv.gz"
    path.write_bytes(content[: len(content) * 3 // 4])
    with pytest.raises(DataError, match=r"t.csv.gz cannot be read from line [1-9]\d+ on") as error:
        read(open_source(path, target="y"))
    assert "Truncated" in message(error)
    # all that can be read, however far pyarrow's threads are apart: three quarters, nearly
    assert 290_000 < int(re.search(r"from line (\d+)", message(error))[1]) < 300_000


@pytest.mark.parametrize("name", ["t.parquet", "t.csv", "t.feather", "t.arrow"])
def test_empty_tables(tmp_path, name):
    path = tmp_path / name
    path.touch()
    with pytest.raises(DataError, match=f"{name} is empty: it has 0 bytes"):
        open_source(path)
    write(table(0), path)
    with pytest.raises(DataError, match=f"no rows in .*{name}"):
        read(open_source(path, target="late", features=["a"]))
    full = write(table(), path.with_stem("u"))  # but an empty file among others is no error
    assert len(read(open_source([path, full], target="late", features=["a"]))[0]) == N


def test_what_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="no file or folder"):
        open_source(tmp_path / "t.parquet")
    with pytest.raises(FileNotFoundError, match="no file matches the pattern"):
        open_source(str(tmp_path / "*.parquet"))
    with pytest.raises(FileNotFoundError, match="holds no table"):
        open_source(tmp_path)
    (tmp_path / "t.xlsx").write_text("x")
    with pytest.raises(DataError, match=r"t.xlsx: this kind .*\.parquet"):
        open_source(tmp_path / "t.xlsx")
    with pytest.raises(ValueError, match="empty list"):
        open_source([])


# Arrays


def arrays():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(500, 2)), rng.integers(0, 2, 500), rng.uniform(size=500)])
    return X, np.where(X[:, 2] == 1, "yes", "no")


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("how", ["array", "npy", "memmap"])
def test_arrays(tmp_path, how, order):
    X, y = arrays()
    path = tmp_path / "X.npy"
    np.save(path, np.asarray(X, order=order))
    np.save(tmp_path / "y.npy", y)
    given = {"array": X, "npy": path, "memmap": np.load(path, mmap_mode="r")}[how]
    source = open_source(given, target=2, weight=-1)
    assert (source.n_rows, source.n_features, source.feature_names) == (500, 2, None)
    got, labels, weights, sizes = read(source, 64)
    np.testing.assert_array_equal(got, X[:, :2])
    np.testing.assert_array_equal(labels, X[:, 2])
    np.testing.assert_array_equal(weights, X[:, 3])
    assert max(sizes) == 64
    for beside in (y, list(y), tmp_path / "y.npy"):
        got, labels, _, _ = read(open_source(given, target=beside, features=[1, 0]), 64)
        np.testing.assert_array_equal(got, X[:, [1, 0]])
        np.testing.assert_array_equal(labels, y)


def test_float32_arrays_are_exact():
    X = np.ones((3, 2), np.float32)
    assert open_source(X, target=[0, 1, 1]).exact_in_float32
    assert not open_source(X, weight=np.ones(3)).exact_in_float32
    assert not open_source(X.astype(np.int32)).exact_in_float32


def test_errors_of_arrays(tmp_path):
    X, y = arrays()
    path = tmp_path / "X.npy"
    X[77, 1] = np.nan
    np.save(path, X)
    with pytest.raises(DataError, match=r"X.npy, row 77: column 1 has no value"):
        read(open_source(path, target=0), 50)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(DataError, match=r"X.npy cannot be read"):
        open_source(path)
    with pytest.raises(DataError, match=r"target= has shape \(499,\).*500 rows"):
        open_source(X, target=y[1:])
    with pytest.raises(DataError, match="no column 4: it has 4"):
        open_source(X, target=4)
    with pytest.raises(TypeError, match="columns of an array have numbers"):
        open_source(X, features=["a"])
    with pytest.raises(DataError, match="1 dimensions"):
        open_source(X[0])
    with pytest.raises(DataError, match="holds <U3, not numbers"):
        open_source(y[:, None])
    with pytest.raises(DataError, match="no rows"):
        open_source(X[:0])
    with pytest.raises(DataError, match="the array, row 3: the target has no value"):
        read(open_source(X[:5, :1], target=["a", "b", "a", None, "b"]))


# Iterators


def test_iterators_of_arrays():
    X, y = arrays()

    def parts():
        for start in range(0, 500, 130):
            piece = slice(start, start + 130)
            yield X[piece, :2], y[piece], X[piece, 3]

    source = open_source(parts)
    assert (source.n_rows, source.n_features, source.feature_names) == (None, 2, None)
    for _ in range(2):
        got, labels, weights, sizes = read(source, 100)
        np.testing.assert_array_equal(got, X[:, :2])
        np.testing.assert_array_equal(labels, y)
        np.testing.assert_array_equal(weights, X[:, 3])
        assert sizes == [100, 30] * 3 + [100, 10]
    assert [block.labels for block in open_source(lambda: [X, X]).blocks()] == [None, None]


@pytest.mark.parametrize(
    "convert",
    [lambda t: t, lambda t: t.combine_chunks().to_batches()[0], pa.Table.to_pandas, pl.from_arrow],
    ids=["Table", "RecordBatch", "pandas", "polars"],
)
def test_iterators_of_tables(convert):
    rows = table()

    def parts():
        for start in (0, 400, 800):
            yield convert(rows.slice(start, 400))

    source = open_source(parts, target="late", features=["a", "b"], weight="w")
    assert source.feature_names == ("a", "b")
    for _ in range(2):
        X, labels, weights, sizes = read(source, 300, keep=["id"])
        np.testing.assert_array_equal(X, features(rows))
        assert labels.tolist() == rows["late"].to_pylist()
        np.testing.assert_array_equal(weights, rows["w"].to_numpy())
        assert sizes == [300, 100, 300, 100, 200]
    kept = [name for block in source.blocks(keep=["id"]) for name in block.table["id"].to_pylist()]
    assert kept == rows["id"].to_pylist()


@pytest.mark.parametrize(
    ("items", "complaint"),
    [
        ([(np.ones((3, 2)), [0, 1, 1]), (np.ones((3, 1)), [0, 1, 1])], "block 1 .* 1 columns.* 2"),
        ([(np.ones((3, 2)), [0, 1])], r"block 0 .*X has 3 rows, but y has shape \(2,\)"),
        ([(np.ones((3, 2)), [0, 1, 0], [1.0])], "block 0 .*weights has shape"),
        ([(np.ones((1, 2)), [0], ["x"])], "block 0 .*weights that are not numbers"),
        ([(np.ones((3, 2)), [0, 1, 0], [1, -1, 1])], "block 0, row 1: .*weight -1"),
        ([(np.array([["a"]]), [0])], "block 0 .* 2-D array of numbers"),
        ([np.ones((2, 2)), (np.array([[1, 2], [np.nan, 3]]),)], "block 1, row 1: column 0 has no"),
        ([(1, 2, 3, 4)], "block 0 .*a tuple of 4"),
        ([np.ones((2, 2)), table(3)], "block 1 .*a Table"),
        ([], "without items"),
        ([np.ones((0, 2))], "without rows"),
    ],
)
def test_errors_of_iterators_name_the_block(items, complaint):
    with pytest.raises(DataError, match=complaint):
        read(open_source(lambda: iter(items)))


def test_errors_of_tables_from_iterators():
    good = table().to_pandas()
    later = {"b": good.drop(columns="b"), "a": good.assign(a="x"), "late": good.copy()}
    later["late"].loc[5, "late"] = None
    patterns = {
        "b": "block 1 has no column 'b'",
        "a": "column 'a' of block 1 holds (text|categories)",
        "late": "block 1, row 5: column 'late' has no value",
    }
    for name, bad in later.items():
        source = open_source(lambda bad=bad: iter([good, bad]), target="late", features=["a", "b"])
        with pytest.raises(DataError, match=patterns[name]):
            read(source)
    with pytest.raises(DataError, match="block 1 of the iterator is a tuple, but block 0 is a t"):
        read(open_source(lambda: iter([good, (1, 2)]), target="late", features=["a"]))
    indexed = good.set_index(pd.Index(range(5, N + 5)))  # an index is no column
    source = open_source(lambda: [indexed], target="late", features=["a"])
    assert next(source.blocks(keep=["id"])).table.schema.names == ["id"]


def test_an_iterator_is_not_a_source():
    items = [(np.ones((2, 2)), [0, 1])]
    with pytest.raises(TypeError, match="function that returns a fresh one"):
        open_source(iter(items))
    shared = iter(items * 3)
    with pytest.raises(TypeError, match="same iterator twice"):
        read(open_source(lambda: shared))
    with pytest.raises(TypeError, match="leave out target="):
        open_source(lambda: items, target="y")
    with pytest.raises(TypeError, match=r"source is a DataFrame.*belongs in fit"):
        open_source(pd.DataFrame({"a": [1]}))
