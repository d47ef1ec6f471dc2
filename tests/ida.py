"""The IDA benchmark files, which are not part of this repository.

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
