import errno
import json
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fewknots.data.sources import open_source
from fewknots.data.spool import Spool
from fewknots.data.standardise import Moments
from fewknots.exceptions import DataError


def spool_of(tmp_path, X, y, weights=None, classes=None):
    return Spool.written(open_source(X, target=y, weight=weights), tmp_path, classes)


@pytest.fixture
def rows():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(5000, 3)) * [1.0, 1e-3, 50.0] + [1.7e9, 0.0, -3.0]
    return X, rng.choice(["no", "yes"], 5000), rng.uniform(0.0, 3.0, 5000)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_come_back_in_any_order(tmp_path, rows, dtype):
    X, y, weights = rows[0].astype(dtype), rows[1], rows[2].astype(dtype)
    rng = np.random.default_rng(2)
    runs = (rng.integers(0, 300, 40)[:, None] * 16 + np.arange(16)).ravel()
    orders = [rng.permutation(5000), np.arange(5000), runs, [7, 7, 6, 5], [0], [4999, 0], []]
    with spool_of(tmp_path, X, y, weights) as spool:
        assert spool.dtype == dtype
        assert (spool.n_rows, spool.n_features) == (5000, 3)
        assert spool.classes.tolist() == ["no", "yes"]
        for order in orders:
            order = np.array(order, np.int64)
            got, codes, got_weights = spool.take(order)
            assert got.dtype == got_weights.dtype == dtype
            np.testing.assert_array_equal(got, X[order])
            np.testing.assert_array_equal(codes, y[order] == "yes")
            np.testing.assert_array_equal(got_weights, weights[order])
        for part, piece in enumerate(spool.blocks(1024)):
            want = spool.take(np.arange(1024 * part, min(1024 * part + 1024, 5000)))
            for a, b in zip(piece, want, strict=True):
                np.testing.assert_array_equal(a, b)
        assert part == 4
        for outside in ([-1], [5000]):
            with pytest.raises(IndexError, match="0 to 4999"):
                spool.take(np.array(outside))


def test_labels_sorted_so_that_the_second_comes_late(tmp_path):
    for labels in ([0, 1], [1, 0], [True, False], ["b", "a"], [2.0, -1.0]):
        y = np.repeat(np.array(labels), 70_000)
        with spool_of(tmp_path, np.arange(140_000.0)[:, None], y) as spool:
            assert spool.classes.tolist() == sorted(labels)
            _, codes, weights = spool.take(np.array([0, 69_999, 70_000]))
            first = int(labels[0] == max(labels))
            assert codes.tolist() == [first, first, 1 - first]
            assert weights.tolist() == [1, 1, 1]
            assert spool.class_totals.tolist() == [70_000, 70_000]


def test_text_labels_from_a_table_are_classes_as_scikit_learn_has_them(tmp_path):
    pa.csv.write_csv(pa.table({"a": [1, 2, 3], "y": ["yes", "no", "yes"]}), tmp_path / "t.csv")
    with Spool.written(open_source(tmp_path / "t.csv", target="y"), tmp_path) as spool:
        assert spool.classes.dtype == object
        assert spool.classes.tolist() == ["no", "yes"]
        assert spool.feature_names == ("a",)
        assert spool.class_totals.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("cells", "classes", "codes"),
    [
        (["1", "2", "1.0"], [1.0, 2.0], [0, 1, 0]),
        (["TRUE", "false", "true"], [False, True], [1, 0, 1]),
        (["1", "1", "2", "1", "none of them"], ["1", "2", "none of them"], [0, 0, 1, 0, 2]),
        (["TRUE", "true", "maybe"], ["TRUE", "maybe", "true"], [0, 2, 1]),
    ],
)
@pytest.mark.parametrize("size", [1, 2, 10])
def test_labels_of_a_csv_have_the_type_of_the_whole_column(
    cells, classes, codes, size, tmp_path, monkeypatch
):
    monkeypatch.setattr("fewknots.data.spool.ROWS_IN_A_BLOCK", size)
    pa.csv.write_csv(pa.table({"a": range(len(cells)), "y": cells}), tmp_path / "t.csv")
    for known in (None, np.array(classes)):
        source = open_source(tmp_path / "t.csv", target="y")
        with Spool.written(source, tmp_path, known) as spool:
            assert spool.classes.tolist() == classes
            assert spool.take(np.arange(len(cells)))[1].tolist() == codes
            assert spool.class_totals.tolist() == np.bincount(codes).tolist()


def test_moments_are_those_of_all_rows_at_once(tmp_path, rows):
    X, y, weights = (np.concatenate([part] * 30) for part in rows)  # several blocks
    X[:, 0] += np.arange(len(X)) // 65_536  # that differ
    with spool_of(tmp_path, X, y, weights) as spool:
        exact = (X - X[0]).astype(np.longdouble)
        mean = np.average(exact, axis=0, weights=weights)
        scale = np.sqrt(np.average((exact - mean) ** 2, axis=0, weights=weights))
        error = np.abs(spool.mean - (mean + X[0]).astype(float))
        assert (error <= 1e-12 * scale + np.spacing(np.abs(spool.mean))).all()
        np.testing.assert_allclose(spool.scale, scale.astype(float), rtol=1e-12)
        np.testing.assert_array_equal(spool.minimum, X.min(axis=0))
        np.testing.assert_array_equal(spool.maximum, X.max(axis=0))
        totals = [weights[y == "no"].sum(), weights[y == "yes"].sum()]
        np.testing.assert_allclose(spool.class_totals, totals, rtol=1e-12)


@given(
    st.lists(st.lists(st.integers(-50, 50), min_size=1, max_size=9), min_size=1, max_size=6),
    st.integers(0, 10**9),
)
@settings(max_examples=50, deadline=None)
def test_moments_do_not_depend_on_the_blocks(parts, offset):
    values = np.array([value for part in parts for value in part], float)
    weights = np.arange(len(values)) % 3.0
    moments, start = Moments(np.array([offset + values[0]])), 0
    for part in parts:
        stop = start + len(part)
        moments.add(offset + values[start:stop, None], weights[start:stop])
        start = stop
    if weights.sum() > 0:
        mean = np.average(values, weights=weights)
        scale = np.sqrt(np.average((values - mean) ** 2, weights=weights))
        np.testing.assert_allclose(moments.mean - offset, mean, atol=1e-6)
        np.testing.assert_allclose(moments.scale, scale if scale > 1e-9 else 1.0, rtol=1e-9)


def test_constant_columns_keep_scale_one(tmp_path):
    X = np.column_stack([np.full(10, 0.1), np.arange(10.0)])
    with spool_of(tmp_path, X, np.arange(10) % 2, np.linspace(0, 1, 10)) as spool:
        assert spool.scale[0] == 1.0
        assert spool.mean[0] == 0.1
        assert spool.scale[1] > 2.0


def test_the_digest_knows_the_data(tmp_path, rows):
    X, y, weights = rows
    changed = X.copy()
    changed[4999, 2] = np.nextafter(changed[4999, 2], 0)
    variants = [(X, y, weights), (changed, y, weights), (X, y[::-1], weights), (X, y, weights / 2)]
    variants += [(X, np.where(y == "no", "0", "yes"), weights), (X[::-1].copy(), y, weights)]
    digests = []
    for variant in [*variants, (X, y, weights)]:
        with spool_of(tmp_path, *variant) as spool:
            digests.append(spool.digest)
    assert digests[0] == digests[-1]
    assert len(set(digests)) == len(variants)
    with spool_of(tmp_path, X, y, weights, np.array(["yes", "no"])) as spool:
        assert spool.digest == digests[0]


# What cannot be learnt from


def test_a_label_that_is_none_of_the_classes_is_named_with_its_row(tmp_path):
    for part, labels in enumerate((["a", "b", "a"], ["b", "b", "c"])):
        pa.csv.write_csv(pa.table({"x": [1, 2, 3], "y": labels}), tmp_path / f"{part}.csv")
    with pytest.raises(DataError, match=r"1.csv, line 4: column 'y' is 'c', but .* 'a' and 'b'"):
        Spool.written(open_source(tmp_path, target="y"), tmp_path, np.array(["a", "b"]))
    with pytest.raises(DataError, match=r"the array, row 2: the target is 7, but .* 0 and 1"):
        spool_of(tmp_path, np.ones((4, 1)), np.array([0, 1, 7, 9]), classes=np.array([0, 1]))
    with pytest.raises(DataError, match=r"row 0: the target is 5, but .* 0 and 1"):
        spool_of(tmp_path, np.ones((2, 1)), np.array([5, 1]), classes=np.array([0, 1]))


def test_labels_without_end_are_no_classes(tmp_path):
    with pytest.raises(DataError, match=r"row 1000: .* more than 1,000 classes. Is the target a"):
        spool_of(tmp_path, np.ones((1200, 1)), np.arange(1200))


def test_three_labels_are_coded_in_their_order(tmp_path):
    with spool_of(tmp_path, np.ones((5, 1)), np.array(["b", "c", "a", "b", "c"])) as spool:
        assert spool.classes.tolist() == ["a", "b", "c"]
        assert spool.take(np.arange(5))[1].tolist() == [1, 2, 0, 1, 2]
        assert spool.class_totals.tolist() == [1, 2, 2]


def test_text_among_numbers_is_no_second_label(tmp_path):
    def parts():
        yield np.ones((2, 1)), np.array([1, 1])
        yield np.ones((2, 1)), np.array(["1", "1"])

    with pytest.raises(DataError, match=r"block 1, row 0: y is '1', but .* 1: text and numbers"):
        Spool.written(open_source(parts), tmp_path)


def test_one_label_is_not_enough(tmp_path):
    X, y = np.arange(4.0)[:, None], np.array(["b", "b", "b", "b"])
    with pytest.raises(DataError, match="the target is 'b' in every row"):
        spool_of(tmp_path, X, y)
    y[0] = "a"
    with pytest.raises(DataError, match="the target is 'b' in every row that counts"):
        spool_of(tmp_path, X, y, weights=np.array([0, 1, 1, 1]))
    with pytest.raises(DataError, match="every row has weight 0"):
        spool_of(tmp_path, X, y, weights=np.zeros(4))
    with spool_of(tmp_path, X, np.array(["b"] * 4), classes=np.array(["b", "a"])) as spool:
        assert spool.classes.tolist() == ["a", "b"]
        assert spool.take(np.arange(4))[1].tolist() == [1, 1, 1, 1]
        assert spool.class_totals.tolist() == [0, 4]
    with pytest.raises(ValueError, match="two labels or more, not 1"):
        spool_of(tmp_path, X, y, classes=np.array(["b", "b"]))
    with spool_of(tmp_path, X, y, classes=np.array(["c", "b", "a"])) as spool:
        assert spool.take(np.arange(4))[1].tolist() == [0, 1, 1, 1]
        assert spool.class_totals.tolist() == [1, 3, 0]


def test_a_source_without_labels(tmp_path):
    with pytest.raises(ValueError, match="gives no labels"):
        Spool.written(open_source(np.ones((3, 1))), tmp_path)


# Disk and memory


def test_nothing_is_left_in_the_folder(tmp_path, rows):
    with spool_of(tmp_path, *rows):
        assert os.listdir(tmp_path) == [] or os.name != "posix"
    assert os.listdir(tmp_path) == []


def test_a_disk_too_small_is_noticed_before_writing(tmp_path):
    class Endless:
        """A source that says it has more rows than any disk can hold."""

        feature_names = None
        target_name, n_features, n_rows, exact_in_float32 = "y", 3, 10**15, False

        def blocks(self, rows=1, keep=()):
            raise AssertionError("no row should be read")

    with pytest.raises(OSError, match=r"needs 40,000,000,000,000,000 bytes .*TMPDIR") as error:
        Spool.written(Endless(), tmp_path)
    assert error.value.errno == errno.ENOSPC
    assert error.value.filename == str(tmp_path)


@pytest.mark.skipif(os.name != "posix", reason="limits on files are set as POSIX does")
def test_a_disk_that_fills_up_says_what_to_do(tmp_path):
    import resource

    X = np.ones((200_000, 2))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, limits[1]))
    try:
        with pytest.raises(OSError, match=r"more than .* bytes .*TMPDIR") as error:
            spool_of(tmp_path, X, np.arange(len(X)) % 2)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert error.value.filename == str(tmp_path)
    assert os.listdir(tmp_path) == []


SPOOL_ALL = """
import json, sys
from pathlib import Path
import numpy as np
from fewknots.data.sources import open_source
from fewknots.data.spool import Spool

def peak():
    # not getrusage, whose peak a process takes over from the one that started it
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024

peaks = []
for path in sys.argv[1:]:
    source = open_source(path, target=0 if path.endswith("npy") else "y")
    with Spool.written(source, Path(path).parent) as spool:
        for _ in spool.blocks(65_536):
            pass
        spool.take(np.arange(0, spool.n_rows, 1000))
        peaks.append((spool.n_rows, peak()))
print(json.dumps(peaks))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_does_not_grow_with_the_rows(tmp_path):
    """One process reads a short table in every format, then long ones: its peak stays."""
    paths = []
    for n in (150_000, 1_500_000):
        values = np.random.default_rng(0).integers(-99, 99, (n, 4)).astype(np.float32)
        values[:, 0] = values[:, 0] > 0
        np.save(tmp_path / f"{n}.npy", values)
        table = pa.table({name: values[:, i] for i, name in enumerate("yabc")})
        pa.parquet.write_table(table, tmp_path / f"{n}.parquet")
        pa.csv.write_csv(table, tmp_path / f"{n}.csv")
        with pa.ipc.new_file(str(tmp_path / f"{n}.arrow"), table.schema) as writer:
            writer.write_table(table, 65_536)
        paths += [tmp_path / f"{n}.{suffix}" for suffix in ("npy", "parquet", "csv", "arrow")]
    command = [sys.executable, "-c", SPOOL_ALL, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows, peaks = zip(*json.loads(done.stdout), strict=True)
    assert rows == (150_000,) * 4 + (1_500_000,) * 4
    assert peaks[-1] - peaks[3] < 40, peaks  # MB; the long table as float64 is 48 MB
