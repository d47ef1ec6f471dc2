"""Table 1: nine data sets, eight methods, the negative log probability (NLP) of rows held out.

The paper says little of how the table was made. What reproduces it: the ten splits of the IDA
benchmark, standardised inputs, an RBF kernel with one lengthscale for all inputs, the probit
likelihood. `--lengthscales` and `--splits` try the other ways.
"""

from pathlib import Path
from typing import Any

from ..datasets import load
from ..estimators import GPClassifier
from ..exceptions import DatasetError
from ..kernels import RBF
from .experiment import Cell, Choice, Options, Result
from .lengthscales import LENGTHSCALES, is_per_input
from .scores import hold_out_scores
from .table1_account import account
from .table1_checks import CHECKS, Check
from .table1_figure import draw
from .table1_paper import AS_PRINTED, COLUMNS, DATA_SETS, Column
from .table1_splits import FOLDS, SPLITS, number_of_points, ten_splits
from .tables import write_csv

# Nine tenths of these are thousands of rows: with --splits folds, only for a few inducing points.
_MANY_ROWS = ("twonorm", "ringnorm", "waveform")
_QUICK_SETS = ("thyroid", "heart")
_QUICK_FOLDS = 2
_QUICK_COLUMNS = tuple(c for c in COLUMNS if c.label in ("KL", "EPFitc M=8", "KLSp M=8"))


class Table1:
    """`fewknots reproduce table1`."""

    name = "table1"
    title = "Nine data sets, eight methods (Table 1)"
    shows = (
        "sparse KL and Generalized FITC predict alike, their intervals overlap or sparse KL is "
        "better; mean field is often over-confident."
    )
    needs: tuple[str, ...] = DATA_SETS
    minutes = 40.0
    choices: tuple[Choice, ...] = (LENGTHSCALES, SPLITS)

    def cells(self, options: Options) -> list[Cell]:
        """Folds innermost: they have the same shapes, for which JAX compiles once."""
        names = _QUICK_SETS if options.quick else DATA_SETS
        columns = _QUICK_COLUMNS if options.quick else (*COLUMNS, *AS_PRINTED)
        folds = range(_QUICK_FOLDS if options.quick else FOLDS)
        as_the_paper = all(options.extras[c.name] == c.values[0] for c in self.choices)
        checks = CHECKS if as_the_paper and not options.quick else ()
        return [
            *(
                _cell(name, column, fold, options)
                for name in names
                if _is_there(name, options)
                for column in columns
                if _is_feasible(name, column, options)
                for fold in folds
            ),
            *(
                _check_cell(check, fold, options)
                for check in checks
                if _is_there(check.data, options)
                for fold in folds
            ),
        ]

    def run(self, cell: Cell, options: Options) -> dict[str, Any]:
        settings = cell.settings
        dataset = load(settings["data"], options.data)
        splits = ten_splits(dataset, settings["splits"], settings["seed"])
        train, test = splits[settings["fold"]]
        points = settings["points"]
        clf = GPClassifier(
            method=settings["method"],
            n_inducing="auto" if points is None else number_of_points(dataset, splits, points),
            kernel=RBF(**settings["kernel"]),
            ard=settings["ard"],
            learn_kernel=settings["learn_kernel"],
            random_state=settings["seed"],
        ).fit(dataset.X[train], dataset.y[train])
        return {
            **hold_out_scores(clf, dataset.X[test], dataset.y[test]),
            "evidence": clf.log_evidence_,
            "n_inducing": None if points is None else len(clf.inducing_points_),
            "lengthscale": clf.kernel_.lengthscale,
            "variance": clf.kernel_.variance,
            "iterations": clf.n_iter_,
            "converged": clf.converged_,
        }

    def write(self, results: dict[str, Result], options: Options, folder: Path) -> str:
        write_csv(folder / "results.csv", [_row(result) for result in results.values()])
        draw(list(results.values()), folder)
        return account(list(results.values()), options.extras)


def _is_there(name: str, options: Options) -> bool:
    """A data set that cannot be had is left out; the README tells which and why."""
    try:
        load(name, options.data)
    except DatasetError:
        return False
    return True


def _is_feasible(name: str, column: Column, options: Options) -> bool:
    return options.extras[SPLITS.name] == "ida" or name not in _MANY_ROWS or column.points == 8


def _cell(name: str, column: Column, fold: int, options: Options) -> Cell:
    settings = {
        "part": "table",
        "data": name,
        "splits": options.extras[SPLITS.name],
        "fold": fold,
        "family": column.family,
        "method": column.method,
        "points": column.points,
        "kernel": {},  # an RBF that starts from the data
        "learn_kernel": True,
        "ard": is_per_input(options),
        "seed": 0,
    }
    points = "all" if column.points is None else f"{column.points:g}"
    return Cell(f"{name}-{column.method}-{points}-fold{fold}", settings)


def _check_cell(check: Check, fold: int, options: Options) -> Cell:
    cell = _cell(check.data, check.column, fold, options)
    held = {"part": "check", "kernel": check.kernel, "learn_kernel": False}
    return Cell(f"check-{cell.key}", cell.settings | held)


def _row(result: Result) -> dict[str, Any]:
    """A line of the CSV."""
    named = ("part", "data", "splits", "fold", "family", "method", "points", "ard")
    told = {name: result.cell.settings[name] for name in named}
    if result.failed is not None:
        return told | {"seconds": result.seconds, "status": f"failed: {result.failed}"}
    values = dict(result.values)
    converged = values.pop("converged")
    return (
        told
        | values
        | {
            "seconds": result.seconds,
            "status": "converged" if converged else "stopped before it converged",
        }
    )
