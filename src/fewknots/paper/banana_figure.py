"""The grid of panes of figure 1."""

from pathlib import Path
from typing import Any

import numpy as np

from .experiment import Result
from .figures import new_figure, save_figure

_COLOURS = {0: "#3b76af", 1: "#c44e52"}
_PANE = 2.3  # inches


def draw(
    labels: list[str], panes: list[list[Result]], X: np.ndarray, y: np.ndarray, folder: Path
) -> None:
    """One pane a result: training rows by class, inducing points black, the p = 0.5 contour."""
    figure, axes = new_figure(
        len(panes),
        len(panes[0]),
        _PANE * len(panes[0]),
        _PANE * len(panes),
        sharex=True,
        sharey=True,
    )
    for line, label, results in zip(axes, labels, panes, strict=True):
        line[0].set_ylabel(label, fontsize="large")
        for pane, result in zip(line, results, strict=True):
            _draw_pane(pane, result, X, y)
    for pane, result in zip(axes[0], panes[0], strict=True):
        count = result.cell.settings["n_inducing"]
        pane.set_title(f"M = {count}" if count else "full")
    save_figure(figure, folder)


def _draw_pane(pane: Any, result: Result, X: np.ndarray, y: np.ndarray) -> None:
    pane.set(xticks=[], yticks=[])
    for label, colour in _COLOURS.items():
        of_class = y == label
        pane.scatter(*X[of_class].T, s=5, color=colour, alpha=0.5, linewidths=0)
    if result.failed is not None:
        pane.text(0.5, 0.5, "failed", transform=pane.transAxes, ha="center")
        return
    values = result.values
    pane.contour(values["across"], values["up"], values["surface"], [0.5], colors="black")
    points = np.array(values.get("inducing_points", [])).reshape(-1, 2)
    pane.scatter(*points.T, s=14, color="black", zorder=3)
    # Points may wander far off; the panes show where the data are.
    pane.set(xlim=values["across"][:: len(values["across"]) - 1])
    pane.set(ylim=values["up"][:: len(values["up"]) - 1])
