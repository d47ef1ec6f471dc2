"""Files of a local folder: what is read from them, and what is said of bad ones."""

import numpy as np
import pytest

from fewknots.datasets import load
from fewknots.datasets.array_files import read_mnist_digits, read_mnist_odd_even, read_table, write
from fewknots.exceptions import DatasetError


def table(n_rows=12, n_inputs=2):
    rng = np.random.default_rng(0)
    order = np.stack([rng.permutation(n_rows) for _ in range(3)]).astype(np.int16)
    return {
        "x": rng.normal(size=(n_rows, n_inputs)),
        "y": np.arange(n_rows, dtype=np.int8) % 2,
        "train_index": order[:, :8],
        "test_index": order[:, 8:],
        "split_is_original": np.array([True, False, False]),
    }


def test_an_ida_file_with_its_splits(tmp_path):
    arrays = table()
    write(tmp_path / "ida_banana.npz", arrays)
    found = load("banana", tmp_path)
    assert found.name == "banana"
    np.testing.assert_array_equal(found.X, arrays["x"])
    np.testing.assert_array_equal(found.y, arrays["y"])
    assert found.y.dtype == int
    assert found.feature_names == ("x1", "x2")
    assert len(found.splits) == 3
    np.testing.assert_array_equal(found.splits[1].train, arrays["train_index"][1])
    np.testing.assert_array_equal(found.splits[1].test, arrays["test_index"][1])
    assert "ida_banana.npz in a local folder" in found.source
    assert "differs from that in fewknots" in found.source
    assert "1 of 3 splits are confirmed as published" in found.source
    assert str(tmp_path) not in found.source


def test_small_numbers_stay_small(tmp_path):
    arrays = {"x": np.ones((4, 10), np.int16), "y": np.array([0, 1, 1, 0])}
    names = np.array([f"input {i}" for i in range(10)])
    write(tmp_path / "magic.npz", arrays | {"feature_names": names})
    found = load("magic", tmp_path)
    assert found.X.dtype == np.float32
    assert found.splits == ()
    assert found.feature_names[9] == "input 9"
    assert "no published splits" in found.source


def test_mnist_is_odd_against_even(tmp_path):
    rng = np.random.default_rng(0)
    images = rng.integers(256, size=(7, 28, 28), dtype=np.uint8)
    digits = np.array([0, 1, 2, 3, 7, 8, 9], np.uint8)
    path = tmp_path / "mnist.npz"
    parts = {"train_images": images[:5], "train_labels": digits[:5]}
    write(path, parts | {"test_images": images[5:], "test_labels": digits[5:]})
    found = read_mnist_odd_even(path)
    assert found.X.dtype == np.float32
    np.testing.assert_allclose(found.X, images.reshape(7, 784) / 255.0, rtol=1e-6)
    np.testing.assert_array_equal(found.y, [0, 1, 0, 1, 1, 0, 1])
    np.testing.assert_array_equal(read_mnist_digits(path).y, digits)
    ((train, test),) = found.splits
    assert (train.tolist(), test.tolist()) == ([0, 1, 2, 3, 4], [5, 6])
    assert found.feature_names[0] == "pixel1"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.full(12, 2)}, "y holds other values than 0 and 1"),
        ({"y": np.zeros(11)}, r"y has shape \(11,\) and x has 12 rows"),
        ({"x": np.full((12, 2), np.nan)}, "x holds infinite or missing values"),
        ({"x": np.zeros(12)}, "x is not a two-dimensional table"),
        ({"test_index": np.full((3, 4), 12)}, "rows outside 0 to 11"),
        ({"test_index": np.zeros((2, 4), int)}, "splits do not pair up"),
    ],
)
def test_a_file_that_contradicts_itself_is_named(tmp_path, change, message):
    path = tmp_path / "ida_banana.npz"
    write(path, table() | change)
    with pytest.raises(DatasetError, match=rf"ida_banana\.npz cannot be used: .*{message}"):
        read_table(path)


@pytest.mark.parametrize("damage", ["cut off", "text", "altered", "objects", "no y"])
def test_a_damaged_file_is_named_and_not_passed_over(tmp_path, damage):
    path = tmp_path / "ida_twonorm.npz"
    write(path, table(n_inputs=20))
    content = path.read_bytes()
    if damage == "cut off":
        path.write_bytes(content[: len(content) // 2])
    elif damage == "text":
        path.write_text("x, y")
    elif damage == "altered":
        middle = len(content) // 3
        path.write_bytes(content[:middle] + bytes(8) + content[middle + 8 :])
    elif damage == "objects":
        np.savez(path, x=np.array([object()]), y=np.zeros(1))
    else:
        np.savez(path, x=np.zeros((2, 20)))
    with pytest.raises(DatasetError, match=r"ida_twonorm\.npz cannot be used"):
        load("twonorm", tmp_path)


def test_another_data_set_under_a_known_name(tmp_path):
    write(tmp_path / "ida_heart.npz", table())
    with pytest.raises(DatasetError, match=r"holds 2 inputs .* where 13 were expected"):
        load("heart", tmp_path)


def test_writing_leaves_no_other_files(tmp_path):
    write(tmp_path / "a.npz", table())
    assert [path.name for path in tmp_path.iterdir()] == ["a.npz"]
