"""Data sets in .npz files, which have these keys:

    any table    x (N×D), y (N,) of 0 and 1; feature_names (D,), if known;
                 train_index, test_index (S×n, rows of x), if split;
                 split_is_original (S,), of an IDA set: True for a split published with it
    mnist.npz    train_images, test_images (N×28×28, uint8), train_labels, test_labels (N, uint8)

No file holds Python objects, so reading a file cannot run code.
"""

import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np

from ..exceptions import DatasetError
from ..files.container import replacing
from .dataset import Contents, Split, numbered

Arrays = Mapping[str, np.ndarray]


def write(path: Path, arrays: Arrays) -> None:
    """Write arrays to a compressed .npz file, atomically."""
    # Pass an open file: numpy would add .npz to the temporary file's name.
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **cast(dict[str, Any], arrays))


def read_table(path: Path) -> Contents:
    """Read one table; numbers that are not float64 in the file become float32."""
    arrays = _arrays(path, ("x", "y"))
    x, y = arrays["x"], arrays["y"]
    _check(path, x.ndim == 2 and x.dtype.kind in "biuf", "x is not a two-dimensional table")
    _check(path, y.shape == (len(x),), f"y has shape {y.shape} and x has {len(x)} rows")
    _check(path, np.isin(y, (0, 1)).all(), "y holds other values than 0 and 1")
    X = x if x.dtype == np.float64 else x.astype(np.float32)
    _check(path, np.isfinite(X).all(), "x holds infinite or missing values")
    names = arrays.get("feature_names")
    splits = _splits(path, arrays, len(x))
    return Contents(
        X,
        y.astype(int),
        numbered("x", X.shape[1]) if names is None else tuple(str(name) for name in names),
        splits,
        _remark(splits, arrays.get("split_is_original")),
    )


def read_mnist_odd_even(path: Path) -> Contents:
    """MNIST's pixels in [0, 1], and whether the digit is odd; MNIST's own split."""
    found = read_mnist_digits(path)
    return found._replace(y=found.y % 2, remark=f"{found.remark}; 1 is odd")


def read_mnist_digits(path: Path) -> Contents:
    """MNIST's pixels in [0, 1], and the digits; MNIST's own split."""
    keys = ("train_images", "train_labels", "test_images", "test_labels")
    arrays = _arrays(path, keys)
    train, train_digits, test, test_digits = (arrays[key] for key in keys)
    for images, digits in ((train, train_digits), (test, test_digits)):
        shape, kind = images.shape, images.dtype
        _check(path, shape == (len(digits), 28, 28), f"images have shape {shape}")
        _check(path, kind == np.uint8, f"images hold {kind}, not uint8")
    n_train, n_rows = len(train), len(train) + len(test)
    # Divide in place: a second copy of 70,000 images would need 200 MB more.
    X = np.empty((n_rows, 784), np.float32)
    np.divide(train.reshape(-1, 784), np.float32(255.0), out=X[:n_train])
    np.divide(test.reshape(-1, 784), np.float32(255.0), out=X[n_train:])
    y = np.concatenate([train_digits, test_digits]).astype(int)
    split = Split(np.arange(n_train), np.arange(n_train, n_rows))
    return Contents(X, y, numbered("pixel", 784), (split,), "MNIST's own split")


def _arrays(path: Path, needed: tuple[str, ...]) -> Arrays:
    try:
        with path.open("rb") as file, np.load(file) as archive:
            arrays = {key: archive[key] for key in archive.files}
    except (OSError, EOFError, ValueError, AttributeError, zipfile.BadZipFile, zlib.error) as error:
        raise unusable(path, f"it is damaged or no .npz file ({error})") from error
    missing = [key for key in needed if key not in arrays]
    _check(path, not missing, f"it has no {' and no '.join(missing)}")
    return arrays


def _splits(path: Path, arrays: Arrays, n_rows: int) -> tuple[Split, ...]:
    if "train_index" not in arrays or "test_index" not in arrays:
        return ()
    train, test = (arrays[key].astype(np.intp) for key in ("train_index", "test_index"))
    _check(path, train.ndim == test.ndim == 2 and len(train) == len(test), "splits do not pair up")
    for index in (train, test):
        inside = ((index >= 0) & (index < n_rows)).all()
        _check(path, inside, f"a split names rows outside 0 to {n_rows - 1}")
    return tuple(Split(*pair) for pair in zip(train, test, strict=True))


def _remark(splits: tuple[Split, ...], original: np.ndarray | None) -> str:
    if not splits:
        return "no published splits"
    if original is None:
        return "the splits in the file"
    published = int(np.sum(original))
    if published == len(splits):
        return "IDA's published splits"
    return (
        f"{published} of {len(splits)} splits are confirmed as published by IDA, the others were "
        "drawn with IDA's sizes"
    )


def _check(path: Path, fine: object, what: str) -> None:
    if not fine:
        raise unusable(path, what)


def unusable(path: Path, what: str) -> DatasetError:
    """The error for a file that exists but cannot be used."""
    return DatasetError(
        f"{path} cannot be used: {what}. Put a sound copy in its place, or take it away and other "
        "sources will be tried."
    )
