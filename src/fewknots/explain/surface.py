"""The probability as a function of two inputs, with the others at typical values.

With more than two classes each has a grid. The most probable class divides the plane into regions,
whose borders, strongest points and names `plots` and `report` draw.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.ndimage import distance_transform_edt

from .unnamed_rows import UnnamedRows, check_rows

_MARGIN = 0.05  # beyond the outermost rows
_FEW = 2  # inputs with so few distinct values are not drawn if there are others


class Surface(NamedTuple):
    """A grid of probabilities, and the inducing points in the same two coordinates.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewknots import GPClassifier, explain
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> clf = GPClassifier("rbf", warp=None, n_inducing=8, random_state=0).fit(X, y)
    >>> rows = explain.without_names(clf, X)
    >>> explain.surface(rows, (0, 1), grid=20).names
    ('x0', 'x1')
    """

    names: tuple[str, str]
    columns: tuple[int, int]
    across: Float[np.ndarray, " G"]
    up: Float[np.ndarray, " G"]
    probability: Float[np.ndarray, "G G ..."]  # [up, across]; with more than two classes, of each
    points: Float[np.ndarray, "M 2"]
    held: bool  # whether there are other inputs, held at fixed values

    @property
    def answer(self) -> Int[np.ndarray, "G G"]:
        """The number of the most probable class."""
        if self.probability.ndim == 2:
            return (self.probability > 0.5).astype(int)
        return self.probability.argmax(axis=-1)

    @property
    def regions(self) -> list[int]:
        """The numbers of the classes that are the most probable one somewhere."""
        return [int(number) for number in np.unique(self.answer)]

    @property
    def certainty(self) -> Float[np.ndarray, "G G"]:
        """Certainty of the most probable class: 0 if all are equally probable, 1 if its
        probability is 1.
        """
        even = 1.0 / self.probability.shape[-1]
        return (self.probability.max(axis=-1) - even) / (1.0 - even)

    def lead(self, number: int) -> Float[np.ndarray, "G G"]:
        """Probability of a class less that of its strongest rival: 0 on the region's border."""
        others = np.delete(self.probability, number, axis=-1).max(axis=-1)
        return self.probability[..., number] - others

    def places_for_names(self) -> dict[int, tuple[float, float]]:
        """For each class with a region, the point that is farthest from the region's border."""
        places = {}
        for number in self.regions:
            inside = np.pad(self.answer == number, 1)  # the edge of the picture is a border too
            depth = distance_transform_edt(inside)[1:-1, 1:-1]
            row, column = np.unravel_index(np.argmax(depth), depth.shape)
            places[number] = float(self.across[column]), float(self.up[row])
        return places


def surface(
    rows: UnnamedRows,
    columns: tuple[int, int],
    grid: int = 80,
    held_at: Float[np.ndarray, " D"] | None = None,
) -> Surface:
    """`grid` × `grid` probabilities over two inputs: of `classes_[1]`, or of each of many classes.

    held_at : a row with values of the other inputs; None means their medians.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewknots import GPClassifier, explain
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> clf = GPClassifier("rbf", warp=None, n_inducing=8, random_state=0).fit(X, y)
    >>> rows = explain.without_names(clf, X)
    >>> explain.surface(rows, (0, 1), grid=20).probability.shape
    (20, 20)
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
    probability = rows.classifier.predict_proba(made_up).reshape(grid, grid, -1)
    return Surface(
        (rows.names[first], rows.names[second]),
        (first, second),
        across,
        up,
        probability if probability.shape[-1] > 2 else probability[..., 1],
        _points(rows.classifier)[:, list(columns)],
        rows.X.shape[1] > 2,
    )


def _points(classifier: Any) -> Float[np.ndarray, "M D"]:
    """The inducing points in the units of X; for method="local" the training rows."""
    return classifier._standardiser.undo(np.asarray(classifier.posterior_.points, np.float64))


def two_to_show(rows: UnnamedRows, order: list[int]) -> tuple[int, int] | None:
    """The first two of `order` with more than two distinct values, in ascending order.

    None if there is only one input.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewknots import GPClassifier, explain
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> clf = GPClassifier("rbf", warp=None, n_inducing=8, random_state=0).fit(X, y)
    >>> rows = explain.without_names(clf, X)
    >>> explain.two_to_show(rows, [1, 0])
    (0, 1)
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
