"""Figure 3: flight delays, scores against time, and the models to beat.

A Matérn-3/2 plus a linear kernel, one lengthscale an input, trained by minibatches on about a
million flights; 100,000 flights are held out at random. Horizontal lines are scikit-learn's linear
model (through LIBLINEAR, as in the paper) and its gradient boosting. A cell is one model.
"""

from pathlib import Path
from typing import Any

import numpy as np

from ..datasets import Dataset, load
from ..estimators import GPClassifier
from .airline_account import account
from .airline_figure import draw
from .experiment import Cell, Choice, Options, Result
from .followed_fit import followed_fit
from .rivals import RIVALS, fit_rival
from .tables import curve_rows, write_csv

_DATA = "flights"
_COUNTS = (200, 400)
_QUICK_COUNTS = (20,)
_QUICK_STEPS = 100
_QUICK_ROWS = 50_000
_NEXT_LOOK = 1.1  # 100,000 rows take a while to predict


class Airline:
    """`fewknots reproduce airline`."""

    name = "airline"
    title = "Airline: will the flight be late? (figure 3)"
    shows = (
        "error and NLP fall below the linear model's (37 %, 0.642) within minutes; the linear part "
        "of the kernel is negligible; time of day and time of year matter most."
    )
    needs: tuple[str, ...] = (_DATA,)
    minutes = 8.0
    choices: tuple[Choice, ...] = ()

    def cells(self, options: Options) -> list[Cell]:
        counts = _QUICK_COUNTS if options.quick else _COUNTS
        rivals = [_cell(f"airline-{name}", name, None, options) for name in RIVALS]
        return rivals + [_cell(f"airline-gp-{count}", "gp", count, options) for count in counts]

    def run(self, cell: Cell, options: Options) -> dict[str, Any]:
        dataset = load(_DATA, options.data)
        train, test = dataset.splits[0]
        train = train[: cell.settings["rows"]]  # they are in no order
        rows = dataset.X[train].astype(np.float64), dataset.y[train]
        held_out = dataset.X[test].astype(np.float64), dataset.y[test]
        if cell.settings["model"] in RIVALS:
            return fit_rival(cell.settings["model"], rows, held_out, cell.settings["seed"])
        clf = GPClassifier(
            kernel=cell.settings["kernel"],
            optimizer="natural_gradient",  # what so many rows get by default
            n_inducing=cell.settings["n_inducing"],
            max_iter=cell.settings["max_iter"],
            random_state=cell.settings["seed"],
        )
        told = followed_fit(clf, *rows, held_out, next_look=_NEXT_LOOK)
        return told | _relevance(clf, dataset)

    def write(self, results: dict[str, Result], options: Options, folder: Path) -> str:
        write_csv(folder / "results.csv", curve_rows(results, ("model", "n_inducing")))
        if any(r.failed is None and r.cell.settings["model"] == "gp" for r in results.values()):
            draw(list(results.values()), folder)
        return account(list(results.values()))


def _cell(key: str, model: str, n_inducing: int | None, options: Options) -> Cell:
    settings = {
        "data": _DATA,
        "rows": _QUICK_ROWS if options.quick else None,  # None: all
        "model": model,
        "n_inducing": n_inducing,
        "kernel": "matern32 + linear",
        "max_iter": _QUICK_STEPS if options.quick else None,  # None: as many as the rows deserve
        "seed": 0,
    }
    return Cell(key, settings)


def _relevance(clf: GPClassifier, dataset: Dataset) -> dict[str, Any]:
    """What the kernel has learned about the inputs, in units of their standard deviations."""
    matern, linear = clf.kernel_.k1, clf.kernel_.k2
    return {
        "inputs": list(dataset.feature_names),
        "lengthscales": matern.lengthscale,
        "matern_variance": matern.variance,
        "linear_variances": linear.variance,
    }
