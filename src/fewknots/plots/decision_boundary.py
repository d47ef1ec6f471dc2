"""The probability over two inputs, the decision boundary, and the inducing points."""

from itertools import cycle
from typing import Any

import numpy as np

from ..explain import Surface, kernel_relevance, strongest, surface, two_to_show, without_names
from ..explain.colours import colour_of, red_green_blue
from ..explain.unnamed_rows import check_kind
from .axes import NEGATIVE, POSITIVE, axes, between_classes

_LEVELS = np.linspace(0.0, 1.0, 21)
_MOST_ROWS = 800  # more dots could not be distinguished
_STRONGEST = 0.75  # opacity of a region where its class is certain
_MARKERS = "o^sDv"  # of classes, which can be told apart in grey, too
_MOST_IN_LEGEND = 10  # more classes have only their names in the picture


class DecisionBoundaryDisplay:
    """Probabilities as colour, p = ½ as a line, inducing points as rings.

    With more than two classes the colour is that of the most probable one, paler where it is less
    probable, and lines are borders between regions.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewknots import GPClassifier, plots
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> clf = GPClassifier("rbf", warp=None, n_inducing=8, random_state=0).fit(X, y)
    >>> display = plots.DecisionBoundaryDisplay.from_estimator(clf, X, y, grid=20)
    >>> display.surface_ is not None
    True
    """

    def __init__(self, surface: Surface, *, classes: Any) -> None:
        self.surface = surface
        self.classes = classes

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        features: tuple[int | str, int | str] | None = None,
        grid: int = 100,
        ax: Any = None,
    ) -> "DecisionBoundaryDisplay":
        """Compute and draw it over two inputs: `features`, or the two most relevant ones.

        The other inputs are held at their medians in X. With y, the rows are drawn too.
        """
        check_kind(estimator)
        rows = without_names(estimator, X)
        if features is None:
            columns = two_to_show(rows, strongest(kernel_relevance(rows)))
            if columns is None:
                raise ValueError("a decision boundary needs two inputs; see plot_effects for one.")
        else:
            first, second = features
            columns = rows.column(first), rows.column(second)
        display = cls(surface(rows, columns, grid), classes=estimator.classes_).plot(ax)
        if y is not None:
            classes = estimator.classes_
            of_class = map(colour_of, range(len(classes)))
            two = len(classes) == 2
            colours = dict(zip(classes, (NEGATIVE, POSITIVE) if two else of_class, strict=True))
            dots = {"s": 12, "edgecolor": "white", "linewidths": 0.5}
            draw_rows(display.ax_, rows.X[:, list(columns)], np.asarray(y), colours, **dots)
            if len(classes) <= _MOST_IN_LEGEND:
                display.ax_.legend(loc="upper right")
        return display

    def plot(self, ax: Any = None) -> "DecisionBoundaryDisplay":
        """Draw it."""
        self.ax_ = ax = axes(ax)
        self.figure_ = ax.figure
        found = self.surface
        if found.probability.ndim == 2:
            grid = found.across, found.up, found.probability
            self.surface_ = ax.contourf(*grid, _LEVELS, cmap=between_classes())
        else:
            self.surface_ = _draw_regions(ax, found, self.classes)
        rings = {"s": 30, "facecolor": "white", "edgecolor": "black", "linewidths": 1.5}
        draw_border(ax, found, **rings)
        ax.set(xlabel=found.names[0], ylabel=found.names[1])
        return self


def draw_border(ax: Any, found: Surface, **dots: Any) -> None:
    """Draw the border between classes, and the inducing points as `dots`, in the rows' range."""
    if found.probability.ndim == 2:
        lines = [(found.probability, 0.5)]
    else:
        lines = [(found.lead(number), 0.0) for number in found.regions]
    for values, level in lines:
        if values.min() < level < values.max():
            ax.contour(found.across, found.up, values, [level], colors="black", linewidths=1.5)
    ax.scatter(*found.points.T, **dots, zorder=3)
    # Inducing points may lie far outside; the plot shows the range of the rows.
    ax.set(xlim=found.across[[0, -1]], ylim=found.up[[0, -1]])


def _draw_regions(ax: Any, found: Surface, classes: Any) -> Any:
    """Draw each region in the colour of its class, paler where it is less sure, and its name."""
    colours = np.array([red_green_blue(colour_of(c)) for c in range(len(classes))]) / 255.0
    picture = np.dstack([colours[found.answer], _STRONGEST * found.certainty])
    half = [0.5 * (values[1] - values[0]) for values in (found.across, found.up)]
    extent = (
        found.across[0] - half[0],
        found.across[-1] + half[0],
        found.up[0] - half[1],
        found.up[-1] + half[1],
    )
    image = ax.imshow(picture, origin="lower", extent=extent, aspect="auto", zorder=0)
    behind = {"facecolor": "white", "alpha": 0.7, "edgecolor": "none", "pad": 1.5}
    for number, place in found.places_for_names().items():
        ax.text(*place, str(classes[number]), ha="center", va="center", bbox=behind, zorder=4)
    return image


def draw_rows(ax: Any, X: np.ndarray, y: np.ndarray, colours: dict[Any, str], **dots: Any) -> None:
    """Draw rows as `dots` in the colour of their class; only some, if there are many."""
    step = 1 + len(X) // _MOST_ROWS
    for (label, colour), marker in zip(colours.items(), cycle(_MARKERS), strict=False):
        of_class = X[y == label][::step]
        ax.scatter(*of_class.T, **{"marker": marker} | dots, color=colour, label=str(label))


def plot_decision_boundary(
    classifier: Any,
    X: Any,
    y: Any = None,
    *,
    features: tuple[int | str, int | str] | None = None,
    grid: int = 100,
    ax: Any = None,
) -> Any:
    """Draw the probability surface over two inputs; returns the ax.

    The arguments are those of `DecisionBoundaryDisplay.from_estimator`.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewknots import GPClassifier, plots
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> clf = GPClassifier("rbf", warp=None, n_inducing=8, random_state=0).fit(X, y)
    >>> ax = plots.plot_decision_boundary(clf, X, y, grid=20)
    """
    return DecisionBoundaryDisplay.from_estimator(
        classifier, X, y, features=features, grid=grid, ax=ax
    ).ax_
