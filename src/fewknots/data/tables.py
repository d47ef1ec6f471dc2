"""What the numbers of a table must be like, in errors and warnings that name the column."""

import numpy as np

from ..exceptions import InputWarning, warn

# Squares of larger numbers, summed, leave the range of float64.
LARGEST_VALUE = 1e100
_A_FEW_ROWS = 1000


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
