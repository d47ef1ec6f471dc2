"""Outputs of experiments: tables for people (Markdown) and programs (CSV), and figures.

Figures are drawn without a screen and saved as PNG and PDF; equal numbers give equal files.
matplotlib is imported with the first figure: everything except drawing works without it.
"""

import csv
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..files.container import replacing
from .experiment import Result

_WITHOUT_DATES = {"png": {"Software": None}, "pdf": {"CreationDate": None, "Producer": None}}
_COLOURS = ("#3b76af", "#c44e52", "#55a868", "#8172b3")
_LINE_STYLES = ("--", ":", "-.")
_NAMES = {
    "seconds": "seconds of training",
    "passes": "passes over the rows",
    "nlp": "hold-out NLP, nats a row",
    "error": "hold-out error",
}
_LEAST_HEIGHT = 0.001  # of the y range, for a curve with a single point
_HEADROOM = 1.6  # y range / (highest line or end of a curve - lowest score)


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A Markdown table whose columns are aligned in the plain text too."""
    lines = [[str(entry) for entry in row] for row in (header, *rows)]
    widths = [max(3, *(len(line[i]) for line in lines)) for i in range(len(header))]
    padded = [
        " | ".join(entry.ljust(width) for entry, width in zip(line, widths, strict=True))
        for line in lines
    ]
    rule = "|".join("-" * (width + 2) for width in widths)
    return "\n".join([f"| {padded[0]} |", f"|{rule}|", *(f"| {line} |" for line in padded[1:])])


def write_csv(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """One line per row; the columns are the keys of all rows, in order of first appearance."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    with replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)


def entry(result: Result, name: str, digits: int) -> str:
    """A number of a result for a table; for a failed cell, the reason."""
    if result.failed is not None:
        return f"failed: {result.failed.splitlines()[0]}"
    return f"{result.values[name]:.{digits}f}"


def curve_rows(results: dict[str, Result], names: Sequence[str]) -> list[dict[str, Any]]:
    """Every point of every curve, or the failure, with these settings of the cell."""
    rows = []
    for result in results.values():
        settings = {name: result.cell.settings[name] for name in names}
        if result.failed is not None:
            rows.append(settings | {"failed": result.failed})
            continue
        columns = result.values["curve"]
        points = zip(*columns.values(), strict=True)
        rows += [settings | dict(zip(columns, point, strict=True)) for point in points]
    return rows


def new_figure(rows: int, columns: int, width: float, height: float, **arguments: Any) -> Any:
    """(figure, rows × columns array of axes), `width` and `height` in inches."""
    import matplotlib

    matplotlib.use("Agg")  # a file, never a window
    from matplotlib import pyplot

    return pyplot.subplots(
        rows,
        columns,
        figsize=(width, height),
        layout="constrained",
        squeeze=False,
        **arguments,
    )


def save_figure(figure: Any, folder: Path, name: str = "figure") -> None:
    """Write `name`.png and `name`.pdf into the folder, and close the figure."""
    from matplotlib import pyplot

    for kind, metadata in _WITHOUT_DATES.items():
        figure.savefig(folder / f"{name}.{kind}", metadata=metadata, dpi=120)
    pyplot.close(figure)


class Line(NamedTuple):
    """The scores of a baseline, drawn as horizontal lines."""

    label: str
    nlp: float
    error: float


def draw_panel(
    axes: Any,
    results: Sequence[Result],
    label: Callable[[Result], str],
    lines: Sequence[Line],
    across: str,
    score: str,
) -> None:
    """Draw curves and baselines; `across` and `score` are columns of a curve."""
    heights = [getattr(line, score) for line in lines]
    for line, height, style in zip(lines, heights, _LINE_STYLES, strict=False):
        axes.axhline(height, color="#444444", linestyle=style, label=line.label)
    curves = [(r.values["curve"][across], r.values["curve"][score]) for r in results]
    for (places, scores), result, colour in zip(curves, results, _COLOURS, strict=False):
        axes.plot(places, scores, color=colour, linewidth=1.6, label=label(result))
        axes.plot(places[-1], scores[-1], "o", color=colour, markersize=4)
    lowest = min([*heights, *(min(scores) for _, scores in curves)])
    ends = max([*heights, *(scores[-1] for _, scores in curves)])
    highest = lowest + max(_HEADROOM * (ends - lowest), _LEAST_HEIGHT)
    axes.set(
        xscale="log",
        xlabel=_NAMES[across],
        ylabel=_NAMES[score],
        ylim=(lowest - 0.05 * (highest - lowest), highest),
    )
    axes.grid(alpha=0.3)
