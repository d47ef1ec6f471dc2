"""Table 1 as a picture: a panel for each data set, our entries beside the paper's."""

from pathlib import Path
from typing import Any

from .experiment import Result
from .figures import new_figure, save_figure
from .table1_account import Folds, by_column, our_score
from .table1_paper import COLUMNS, DATA_SETS, LABELS, PAPER, Column
from .table1_scores import Score

_COLOURS = {
    "KL": "#8c564b",
    "EP": "#7f7f7f",
    "EPFitc": "#55a868",
    "KLSp": "#c44e52",
    "MFSp": "#3b76af",
}
_APART = 0.16  # of the distance between two columns: ours to the left, the paper's to the right
_ROOM = 0.06  # of the range shown, below it, and twice above for the word "Large"


def draw(results: list[Result], folder: Path) -> None:
    """Dots are medians, bars intervals; full for ours, hollow for the paper's."""
    folds = by_column(results)
    names = [name for name in DATA_SETS if any(key[1] == name for key in folds)]
    across = min(3, max(1, len(names)))
    down = max(1, -(-len(names) // across))
    figure, axes = new_figure(down, across, 4.6 * across, 3.0 * down + 0.6, sharex=True)
    for panel, name in zip(axes.flat, names, strict=False):
        _draw_panel(panel, folds, name)
    for panel in axes.flat[len(names) :]:
        panel.axis("off")
    for line in axes:
        line[0].set_ylabel("hold-out NLP")
    _legend(figure)
    save_figure(figure, folder)


def _draw_panel(panel: Any, folds: Folds, name: str) -> None:
    panel.set_title(LABELS.get(name, name))
    pairs = [(column, our_score(folds, name, column), PAPER[name, column]) for column in COLUMNS]
    shown = [
        score
        for _, ours, paper in pairs
        for score in (ours, paper)
        if score is not None and not score.is_large
    ]
    top = max(score.median + score.interval for score in shown)
    bottom = max(0.0, min(score.median - score.interval for score in shown))
    room = _ROOM * (top - bottom)
    limits = (max(0.0, bottom - room), top + 2 * room)
    for place, (column, ours, paper) in enumerate(pairs):
        if ours is not None:
            _draw_score(panel, place - _APART, ours, column, full=True)
        _draw_score(panel, place + _APART, paper, column, full=False)
    panel.set_ylim(*limits)
    panel.set_xticks(range(len(COLUMNS)), [_short(c) for c in COLUMNS], rotation=60, fontsize=8)
    panel.grid(axis="y", alpha=0.3)


def _draw_score(panel: Any, place: float, shown: Score, column: Column, full: bool) -> None:
    colour = _COLOURS[column.family]
    if shown.is_large:
        style = {"color": colour, "ha": "center", "va": "top", "rotation": 90, "fontsize": 7}
        panel.text(place, 0.98, "Large →", transform=panel.get_xaxis_transform(), **style)
        return
    panel.errorbar(
        place,
        shown.median,
        shown.interval,
        fmt="o",
        color=colour,
        markersize=5,
        markerfacecolor=colour if full else "white",
        elinewidth=1.6 if full else 0.9,
    )


def _short(column: Column) -> str:
    return column.label.replace(" M=", "\n")


def _legend(figure: Any) -> None:
    from matplotlib.lines import Line2D

    plain: Any = {"color": "black", "marker": "o", "markersize": 5}
    handles = [
        Line2D([], [], label="fewknots", linewidth=1.6, **plain),
        Line2D([], [], label="paper", linewidth=0.9, markerfacecolor="white", **plain),
    ]
    figure.legend(handles=handles, loc="outside upper right", ncols=2)
