"""The probability over two inputs, the border between the classes, and the inducing points."""

from typing import Any

import numpy as np

from ..explain import Surface, kernel_relevance, strongest, surface, two_to_show, without_names
from ..explain.unnamed_rows import check_kind
from .axes import NEGATIVE, POSITIVE, axes, between_classes

_LEVELS = np.linspace(0.0, 1.0, 21)
_MOST_ROWS = 800  # dots that can still be told apart


class DecisionBoundaryDisplay:
    """Probabilities as colour, p = ½ as a line, inducing points as rings."""

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
        """Over the two inputs that `features` names, or the two most relevant.

        Further inputs are held at their medians in X. With y the rows are drawn as well.
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
            display._draw_rows(rows.X[:, list(columns)], np.asarray(y))
        return display

    def plot(self, ax: Any = None) -> "DecisionBoundaryDisplay":
        """Draw it."""
        self.ax_ = ax = axes(ax)
        self.figure_ = ax.figure
        found = self.surface
        grid = found.across, found.up, found.probability
        self.surface_ = ax.contourf(*grid, _LEVELS, cmap=between_classes())
        if found.probability.min() < 0.5 < found.probability.max():
            ax.contour(*grid, [0.5], colors="black", linewidths=1.5)
        rings = {"s": 30, "facecolor": "white", "edgecolor": "black", "linewidths": 1.5}
        ax.scatter(*found.points.T, **rings, zorder=4)
        # Points may have wandered far off; the picture shows where the rows are.
        ax.set(xlim=found.across[[0, -1]], ylim=found.up[[0, -1]])
        ax.set(xlabel=found.names[0], ylabel=found.names[1])
        return self

    def _draw_rows(self, X: np.ndarray, y: np.ndarray) -> None:
        step = 1 + len(X) // _MOST_ROWS
        for label, colour in zip(self.classes, (NEGATIVE, POSITIVE), strict=True):
            of_class = X[y == label][::step]
            dots = {"s": 12, "color": colour, "edgecolor": "white", "linewidths": 0.5}
            self.ax_.scatter(*of_class.T, **dots, label=str(label))
        self.ax_.legend(loc="upper right")


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
    """
    return DecisionBoundaryDisplay.from_estimator(
        classifier, X, y, features=features, grid=grid, ax=ax
    ).ax_
