"""Panels of hold-out scores while minibatches go by, with horizontal lines to beat."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .experiment import Result

_COLOURS = ("#3b76af", "#c44e52", "#55a868", "#8172b3")
_LINE_STYLES = ("--", ":", "-.")
_NAMES = {
    "seconds": "seconds of training",
    "passes": "passes over the rows",
    "nlp": "hold-out NLP, nats a row",
    "error": "hold-out error",
}
_LEAST_HEIGHT = 0.001  # a single point has none
_HEADROOM = 1.6  # times what there is between the lowest score and the highest line or end


class Panel(NamedTuple):
    """What is across and what is up, by the names of a curve's columns."""

    across: str
    score: str


class Line(NamedTuple):
    """Something to beat: its scores are two numbers."""

    label: str
    nlp: float
    error: float


class Curve(NamedTuple):
    """One fit's scores."""

    label: str
    places: np.ndarray
    scores: np.ndarray


def curves_of(
    results: Sequence[Result], label: Callable[[Result], str], across: str, score: str
) -> list[Curve]:
    """One of each result."""
    columns = [(label(result), result.values["curve"]) for result in results]
    return [Curve(name, np.array(c[across]), np.array(c[score])) for name, c in columns]


def draw_panel(axes: Any, panel: Panel, curves: Sequence[Curve], lines: Sequence[Line]) -> None:
    """Curves on a logarithmic axis, and the lines."""
    for line, style in zip(lines, _LINE_STYLES, strict=False):
        axes.axhline(getattr(line, panel.score), color="#444444", linestyle=style, label=line.label)
    for curve, colour in zip(curves, _COLOURS, strict=False):
        axes.plot(curve.places, curve.scores, color=colour, linewidth=1.6, label=curve.label)
        axes.plot(curve.places[-1], curve.scores[-1], "o", color=colour, markersize=4)
    heights = [getattr(line, panel.score) for line in lines]
    lowest = min([*heights, *(curve.scores.min() for curve in curves)])
    ends = max([*heights, *(curve.scores[-1] for curve in curves)])
    highest = lowest + max(_HEADROOM * (ends - lowest), _LEAST_HEIGHT)
    axes.set(
        xscale="log",
        xlabel=_NAMES[panel.across],
        ylabel=_NAMES[panel.score],
        ylim=(lowest - 0.05 * (highest - lowest), highest),
    )
    axes.grid(alpha=0.3)
