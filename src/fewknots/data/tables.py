"""Tables from anywhere (numpy, pandas, polars, pyarrow) to errors that name the column.

scikit-learn turns all of these into arrays and checks them. What it cannot do is say which
column is at fault; that is done here, before it looks.
"""

from typing import Any

import numpy as np

from ..exceptions import InputWarning, warn

# Squares of larger numbers, summed, leave the range of float64.
LARGEST_VALUE = 1e100
_A_FEW_ROWS = 1000


def with_numeric_columns(X: Any) -> Any:
    """X itself, or a pyarrow table as something scikit-learn reads; text columns raise."""
    if type(X).__module__.partition(".")[0] == "pyarrow":
        X = X.to_pandas()
    names = getattr(X, "columns", None)
    dtypes = getattr(X, "dtypes", None)
    if names is None or dtypes is None:
        return X
    text = [str(name) for name, dtype in zip(names, dtypes, strict=True) if _is_text(dtype)]
    if text:
        raise ValueError(
            f"could not convert string to float: column {_quoted(text)} of X holds text or "
            "categories. Encode it as numbers first, for instance with "
            "sklearn.preprocessing.OneHotEncoder, or leave it out."
        )
    return X


def _is_text(dtype: Any) -> bool:
    name = str(dtype).lower()
    return name.startswith(("str", "utf8", "categorical", "category", "enum", "large_string"))


def check_magnitude(X: np.ndarray, names: np.ndarray | None) -> None:
    """Refuse values whose squares would overflow."""
    if max(np.max(X), -np.min(X)) <= LARGEST_VALUE:
        return
    row, column = np.unravel_index(np.argmax(np.abs(X)), X.shape)
    raise ValueError(
        f"{_column(int(column), names)} of X holds {X[row, column]:g} in row {row}, too large to "
        f"compute with: the limit is {LARGEST_VALUE:g}. Rescale that column."
    )


def warn_of_constant_columns(X: np.ndarray, names: np.ndarray | None) -> None:
    """Tell the user about inputs that never change."""
    constant = np.flatnonzero(np.ptp(X[:_A_FEW_ROWS], axis=0) == 0)  # most columns end here
    constant = constant[np.ptp(X[:, constant], axis=0) == 0]
    if len(constant) == 0:
        return
    if len(constant) == X.shape[1]:
        message = (
            "all rows of X are identical, so there is nothing to learn from: the predicted "
            "probabilities will be those of the classes in y."
        )
    else:
        listed = ", ".join(_column(int(column), names) for column in constant[:5])
        more = f" and {len(constant) - 5} more" if len(constant) > 5 else ""
        message = f"{listed}{more} of X never changes and says nothing about y."
    warn(message, InputWarning)


def _column(index: int, names: np.ndarray | None) -> str:
    return f"column {index}" if names is None else f"column {names[index]!r}"


def _quoted(names: list[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:5])
    return shown + (f" and {len(names) - 5} more" if len(names) > 5 else "")
