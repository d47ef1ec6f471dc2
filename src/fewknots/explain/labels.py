"""Labels as numbers."""

import reprlib
from typing import Any

import numpy as np


def places_of(classes: np.ndarray, y: Any, n_rows: int) -> np.ndarray:
    """The place of each label in `classes`; a label that is none of them is an error."""
    y = np.asarray(y)
    if y.shape != (n_rows,):
        raise ValueError(f"y must have one label for each of {n_rows} rows, got shape {y.shape}.")
    is_class = np.stack([y == name for name in classes])
    known = is_class.any(axis=0)
    if not np.all(known):
        row = int(np.argmin(known))
        names = classes.tolist()
        listed = " and ".join(map(repr, names)) if len(names) == 2 else reprlib.repr(names)
        raise ValueError(
            f"the label of row {row} is {y.tolist()[row]!r}, but the classifier knows "
            f"{listed}. (Rows are counted from 0.)"
        )
    return is_class.argmax(axis=0)
