"""The IDA benchmark files, which are not part of this repository, and small files of their form.

Set FEWKNOTS_DATA to a folder with ida_banana.npz and the like to run the tests that need them.
"""

import os
from pathlib import Path

import numpy as np
import pytest


def ida_split(name, split=0):
    """(X, y, X_test, y_test) of one split, or a skipped test where the file is absent."""
    folder = os.environ.get("FEWKNOTS_DATA")
    path = Path(folder or ".") / f"ida_{name}.npz"
    if folder is None or not path.exists():
        pytest.skip(f"needs {path.name} in the folder that FEWKNOTS_DATA names")
    with np.load(path) as file:
        train, test = file["train_index"][split], file["test_index"][split]
        x, y = file["x"], file["y"]
    return x[train], y[train], x[test], y[test]


def write_ida_file(folder, name, n_rows=260, n_train=120, n_inputs=2, seed=0):
    """`ida_<name>.npz` with two noisy classes and ten splits."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_rows, n_inputs))
    y = (np.sin(2.0 * x[:, 0]) + x[:, 1] + 0.3 * rng.normal(size=n_rows) > 0).astype(np.int8)
    orders = np.array([rng.permutation(n_rows) for _ in range(10)], np.int16)
    np.savez(
        folder / f"ida_{name}.npz",
        x=x,
        y=y,
        train_index=orders[:, :n_train],
        test_index=orders[:, n_train:],
        split_is_original=np.zeros(10, bool),
    )
