"""Figure 1: the banana data with growing numbers of inducing points, by three methods.

Rows are methods, columns are numbers of inducing points; the last column is the full method without
inducing points. Each pane is one fit on the first IDA split (400 rows): an RBF kernel with one
lengthscale, inducing points from k-means, everything learned with L-BFGS-B.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..datasets import load
from ..estimators import GPClassifier
from ..explain import Surface, surface, without_names
from ..plots.decision_boundary import draw_border, draw_rows
from .banana_account import account, distance_to_boundary, distinct_places, number_near_centre
from .experiment import Cell, Choice, Options, Result
from .outputs import entry, markdown_table, new_figure, save_figure, write_csv
from .timed_fits import hold_out_scores, timed_fit

_COUNTS = (4, 8, 16, 32, 64)
_QUICK_COUNTS = (8,)
_GRID = 100  # points a side of the probability surface
_COLOURS = {0: "#3b76af", 1: "#c44e52"}
_PANE = 2.3  # inches


class Row(NamedTuple):
    """One row of the figure: the paper's name, the sparse method and the full method."""

    label: str
    sparse: str
    full: str


ROWS = (
    Row("KL", "sparse_kl", "full_kl"),
    Row("MF", "sparse_mean_field", "mean_field"),
    Row("Generalized FITC", "fitc_ep", "ep"),
)


class Banana:
    """`fewknots reproduce banana`."""

    name = "banana"
    title = "Banana: more and more inducing points (figure 1)"
    shows = (
        "the KL method finds a near-optimal boundary with 16 inducing points, pulled towards the "
        "boundary; mean field moves them less; Generalized FITC makes no good use of 64."
    )
    needs: tuple[str, ...] = ("banana",)
    minutes = 1.0
    choices: tuple[Choice, ...] = ()

    def cells(self, options: Options) -> list[Cell]:
        counts = _QUICK_COUNTS if options.quick else _COUNTS
        return [_cell(row, count) for row in ROWS for count in (*counts, None)]

    def run(self, cell: Cell, options: Options) -> dict[str, Any]:
        is_sparse = cell.settings["n_inducing"] is not None
        dataset = load("banana", options.data)
        train, test = dataset.splits[cell.settings["split"]]
        X, y = dataset.X[train], dataset.y[train]
        clf = GPClassifier(
            warp=None,  # the paper's inputs are standardised and no more
            method=cell.settings["method"],
            n_inducing=cell.settings["n_inducing"] or "auto",
            kernel=cell.settings["kernel"],
            ard=cell.settings["ard"],
            optimizer=cell.settings["optimizer"],
            random_state=cell.settings["seed"],
        )
        timed = timed_fit(clf, X, y)
        found = surface(without_names(clf, X), (0, 1), _GRID)
        return {
            **hold_out_scores(clf, dataset.X[test], dataset.y[test]),
            "evidence": clf.log_evidence_,
            "is_bound": clf.evidence_is_bound_,
            "seconds": timed.start_seconds + timed.seconds,
            "compile_seconds": timed.compile_seconds,
            "iterations": clf.n_iter_,
            **(_describe_points(clf, X, found) if is_sparse else {}),
            "across": found.across,
            "up": found.up,
            "surface": np.round(found.probability, 8),
        }

    def write(self, results: dict[str, Result], options: Options, folder: Path) -> str:
        dataset = load("banana", options.data)
        train = dataset.splits[0].train
        panes = _panes(results)
        _draw(panes, dataset.X[train], dataset.y[train], folder)
        write_csv(folder / "results.csv", [_numbers(row, r) for row, r in _listed(panes)])
        header = ("method", "M", "bound or evidence", "NLP", "error", "seconds", "compiling, s")
        table = markdown_table(header, [_line(row, r) for row, r in _listed(panes)])
        return (
            "![the grid of fits](figure.png)\n\n"
            f"{table}\n\n"
            "The KL and MF numbers are lower bounds on the log evidence, Generalized FITC's and "
            "EP's are approximations of it and can be too high. NLP (mean negative log "
            f"probability) and error are on the {len(dataset.splits[0].test)} rows held out. "
            "Seconds are of training alone, k-means included; compiling, once for each method "
            "and shape, is given apart. The last pane of each row uses all rows and no inducing "
            f"points.\n\n{account(panes)}"
        )


def _cell(row: Row, count: int | None) -> Cell:
    settings = {
        "data": "banana",
        "method": row.full if count is None else row.sparse,
        "n_inducing": count,
        "kernel": "rbf",
        "ard": False,
        "optimizer": "collapsed",  # L-BFGS-B for kernel and inducing points, for every method
        "split": 0,
        "seed": 0,
    }
    return Cell(f"banana-{settings['method']}-{count or 'full'}", settings)


def _describe_points(clf: GPClassifier, X: np.ndarray, found: Surface) -> dict[str, Any]:
    """The inducing points, and numbers that describe where they are."""
    points = clf.inducing_points_
    lengthscale = clf.kernel_.input_scale() * X.std(axis=0)  # in the units of X
    return {
        "inducing_points": points,
        "places": distinct_places(points, lengthscale),
        "boundary_distance": distance_to_boundary(points, lengthscale, found),
        "near_centre": number_near_centre(points, X),
    }


def _panes(results: dict[str, Result]) -> list[list[Result]]:
    """The results in the order of the figure."""
    return [
        [r for r in results.values() if r.cell.settings["method"] in (row.sparse, row.full)]
        for row in ROWS
    ]


def _listed(panes: list[list[Result]]) -> list[tuple[Row, Result]]:
    return [(row, r) for row, line in zip(ROWS, panes, strict=True) for r in line]


def _numbers(row: Row, result: Result) -> dict[str, Any]:
    """A line of the CSV."""
    settings = result.cell.settings
    line = {"row": row.label, "method": settings["method"], "n_inducing": settings["n_inducing"]}
    if result.failed is not None:
        return line | {"failed": result.failed}
    drawn = ("across", "up", "surface", "inducing_points")
    return line | {name: value for name, value in result.values.items() if name not in drawn}


def _line(row: Row, result: Result) -> tuple[str, ...]:
    """A line of the README's table."""
    count = result.cell.settings["n_inducing"] or "full"
    if result.failed is not None:
        return (row.label, str(count), entry(result, "evidence", 2), "", "", "", "")
    digits = {"evidence": 2, "nlp": 4, "error": 4, "seconds": 2, "compile_seconds": 1}
    return (row.label, str(count), *(entry(result, name, n) for name, n in digits.items()))


def _draw(panes: list[list[Result]], X: np.ndarray, y: np.ndarray, folder: Path) -> None:
    """One pane per result: training rows, inducing points (black), the p = 0.5 contour."""
    figure, axes = new_figure(
        len(panes),
        len(panes[0]),
        _PANE * len(panes[0]),
        _PANE * len(panes),
        sharex=True,
        sharey=True,
    )
    for line, row, results in zip(axes, ROWS, panes, strict=True):
        line[0].set_ylabel(row.label, fontsize="large")
        for pane, result in zip(line, results, strict=True):
            _draw_pane(pane, result, X, y)
    for pane, result in zip(axes[0], panes[0], strict=True):
        count = result.cell.settings["n_inducing"]
        pane.set_title(f"M = {count}" if count else "full")
    save_figure(figure, folder)


def _draw_pane(pane: Any, result: Result, X: np.ndarray, y: np.ndarray) -> None:
    pane.set(xticks=[], yticks=[])
    draw_rows(pane, X, y, _COLOURS, s=5, alpha=0.5, linewidths=0)
    if result.failed is not None:
        pane.text(0.5, 0.5, "failed", transform=pane.transAxes, ha="center")
        return
    values = result.values
    across, up, probability = (np.array(values[name]) for name in ("across", "up", "surface"))
    points = np.array(values.get("inducing_points", [])).reshape(-1, 2)
    found = Surface(("", ""), (0, 1), across, up, probability, points, held=False)
    draw_border(pane, found, s=14, color="black")
