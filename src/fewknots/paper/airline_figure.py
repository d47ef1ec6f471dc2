"""Error and NLP against time, and what the kernel has learned about each input."""

from pathlib import Path
from typing import Any

import numpy as np

from .experiment import Result
from .figures import new_figure, save_figure
from .rivals import RIVALS
from .stochastic_figure import Line, Panel, curves_of, draw_panel


def draw(results: list[Result], folder: Path) -> None:
    """Three panels, as many curves as numbers of inducing points."""
    done = [result for result in results if result.failed is None]
    fits = [result for result in done if result.cell.settings["model"] == "gp"]
    lines = [_line(result) for result in done if result.cell.settings["model"] in RIVALS]
    figure, axes = new_figure(1, 3, 15.0, 5.5)
    for panel, score in zip(axes[0], ("error", "nlp"), strict=False):
        curves = curves_of(fits, _label, "seconds", score)
        draw_panel(panel, Panel("seconds", score), curves, lines)
    axes[0][0].legend(loc="upper right")
    _draw_lengthscales(axes[0][2], fits[-1])
    save_figure(figure, folder)


def _line(result: Result) -> Line:
    curve = result.values["curve"]
    return Line(RIVALS[result.cell.settings["model"]], curve["nlp"][0], curve["error"][0])


def _label(result: Result) -> str:
    return f"fewknots, {result.cell.settings['n_inducing']} inducing points"


def _draw_lengthscales(axes: Any, result: Result) -> None:
    """Shortest, most useful, on top."""
    lengthscales = np.array(result.values["lengthscales"])
    order = np.argsort(-lengthscales)
    names = [result.values["inputs"][i].replace("_", " ") for i in order]
    axes.barh(names, lengthscales[order], color="#3b76af")
    axes.set(
        xscale="log",
        xlabel="lengthscale, in standard deviations of the input",
        xlim=(0.5 * lengthscales.min(), None),
        title=f"Matérn-3/2 of {_label(result)}",
    )
    axes.grid(alpha=0.3, axis="x")
