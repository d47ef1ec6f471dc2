"""The probability as a function of two inputs, with the others at typical values."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from .unnamed_rows import UnnamedRows, check_rows

_MARGIN = 0.05  # beyond the outermost rows
_FEW = 2  # inputs with so few distinct values are not drawn if there are others


class Surface(NamedTuple):
    """A grid of probabilities, and the inducing points in the same two coordinates."""

    names: tuple[str, str]
    columns: tuple[int, int]
    across: Float[np.ndarray, " G"]
    up: Float[np.ndarray, " G"]
    probability: Float[np.ndarray, "G G"]  # [up, across]
    points: Float[np.ndarray, "M 2"]
    held: bool  # whether there are other inputs, held at fixed values


def surface(
    rows: UnnamedRows,
    columns: tuple[int, int],
    grid: int = 80,
    held_at: Float[np.ndarray, " D"] | None = None,
) -> Surface:
    """`grid` × `grid` probabilities of `classes_[1]` over two inputs.

    held_at : a row with values of the other inputs; None means their medians.
    """
    check_rows(rows)
    first, second = columns
    if first == second:
        raise ValueError(f"a surface needs two different inputs, got {rows.names[first]!r} twice.")
    across, up = (_axis(rows.X[:, column], grid) for column in columns)
    row = np.median(rows.X, axis=0) if held_at is None else held_at
    made_up = np.repeat(row[None], grid * grid, axis=0)
    made_up[:, first] = np.tile(across, grid)
    made_up[:, second] = np.repeat(up, grid)
    return Surface(
        (rows.names[first], rows.names[second]),
        (first, second),
        across,
        up,
        rows.classifier.predict_proba(made_up)[:, 1].reshape(grid, grid),
        _points(rows.classifier)[:, list(columns)],
        rows.X.shape[1] > 2,
    )


def _points(classifier: Any) -> Float[np.ndarray, "M D"]:
    """The inducing points in the units of X; for method="local" the training rows."""
    return classifier._standardiser.undo(np.asarray(classifier.posterior_.points, np.float64))


def two_to_show(rows: UnnamedRows, order: list[int]) -> tuple[int, int] | None:
    """The first two of `order` with more than two distinct values, in ascending order.

    None if there is only one input.
    """
    check_rows(rows, classifier=False)
    if len(order) < 2:
        return None
    sample = rows.sample(10_000)
    broad = [c for c in order[:50] if len(np.unique(sample[:, c])) > _FEW]
    first, second, *_ = broad + [c for c in order if c not in broad]
    return min(first, second), max(first, second)


def _axis(values: np.ndarray, grid: int) -> np.ndarray:
    low, high = values.min(), values.max()
    margin = _MARGIN * (high - low) or 0.5  # a constant input still gets an axis
    return np.linspace(low - margin, high + margin, grid)
