"""Curves of hold-out scores over a logarithmic time axis, and the efficient frontier of them."""

from pathlib import Path
from typing import Any

import numpy as np

from .experiment import Result
from .figures import new_figure, save_figure
from .frontier import Curve, efficient_frontier

_COLOURS = {"KLSp": "#c44e52", "MFSp": "#3b76af", "EPFitc": "#55a868"}
_STYLES = (":", "--", "-")  # for more and more inducing points
_SCORES = {"nlp": "hold-out NLP, nats a row", "error": "hold-out error"}
_ZOOM = 0.15  # of the whole range, from the best score up


def curves(results: list[Result], score: str) -> list[Curve]:
    """One a result, held by its method's name in the paper."""
    return [
        Curve(
            result.cell.settings["family"],
            np.array(result.values["curve"]["seconds"]),
            np.array(result.values["curve"][score]),
        )
        for result in results
    ]


def draw(results: list[Result], folder: Path, zoomed: bool) -> None:
    """A panel for each score; with `zoomed`, beside it the lowest part again, larger."""
    columns = 2 if zoomed else 1
    figure, axes = new_figure(len(_SCORES), columns, 6.5 * columns + 1.5, 7.5, sharex=True)
    for line, (score, label) in zip(axes, _SCORES.items(), strict=True):
        for panel in line:
            _draw_panel(panel, results, score)
        line[0].set_ylabel(label)
        if zoomed:
            line[1].set(ylim=_lowest_part(results, score), title=f"{label}, enlarged")
    for panel in axes[-1]:
        panel.set(xscale="log", xlabel="seconds of training")
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside right upper")
    save_figure(figure, folder)


def _draw_panel(panel: Any, results: list[Result], score: str) -> None:
    drawn = curves(results, score)
    frontier = efficient_frontier(drawn)
    panel.step(
        frontier.seconds,
        frontier.scores,
        where="post",
        color="#bbbbbb",
        linewidth=7,
        solid_capstyle="round",
        label="efficient frontier",
    )
    counts = sorted({result.cell.settings["n_inducing"] for result in results})
    end = frontier.seconds[-1]
    for result, curve in zip(results, drawn, strict=True):
        count = result.cell.settings["n_inducing"]
        style = _STYLES[counts.index(count) - len(counts)]
        colour = _COLOURS[curve.holder]
        panel.plot(
            curve.seconds,
            curve.scores,
            style,
            color=colour,
            linewidth=1.4,
            label=f"{curve.holder}, M = {count}",
        )
        # Where the fit ended by itself, and what it has from then on.
        panel.plot(curve.seconds[-1], curve.scores[-1], "o", color=colour, markersize=4)
        panel.hlines(curve.scores[-1], curve.seconds[-1], end, color=colour, linewidth=0.5)
    panel.grid(alpha=0.3)


def _lowest_part(results: list[Result], score: str) -> tuple[float, float]:
    """The limits of a zoomed panel: the best score, and a share of the range above it."""
    drawn = curves(results, score)
    lowest = min(curve.scores.min() for curve in drawn)
    highest = max(curve.scores.max() for curve in drawn)
    height = _ZOOM * (highest - lowest)
    return lowest - 0.05 * height, lowest + height
