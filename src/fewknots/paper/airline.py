"""Figure 3: flight delays, scores against time, and two baselines.

A Matérn-3/2 plus a linear kernel, one lengthscale per input, trained by minibatches on about a
million flights; 100,000 random flights are held out. Horizontal lines are scikit-learn's linear
model (by LIBLINEAR, as in the paper) and its gradient boosting. A cell is one model.
"""

import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ..datasets import Dataset, load
from ..estimators import GPClassifier
from .experiment import Cell, Choice, Options, Result
from .outputs import (
    Line,
    curve_rows,
    draw_panel,
    markdown_table,
    new_figure,
    save_figure,
    write_csv,
)
from .timed_fits import followed_fit, hold_out_scores

_DATA = "flights"
_COUNTS = (200, 400)
_QUICK_COUNTS = (20,)
_QUICK_STEPS = 100
_QUICK_ROWS = 50_000
_NEXT_LOOK = 1.1  # large, because predicting 100,000 rows takes long
RIVALS = {"linear": "linear model (LIBLINEAR)", "boosting": "gradient boosting (defaults)"}
_Rows = tuple[np.ndarray, np.ndarray]
_HEADER = ("model", "NLP", "error", "training, s", "steps", "passes", "linear model passed after")
_PAPERS_LINEAR = ("the paper's linear model, on its data", "0.642", "0.37", "", "", "", "")


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
        train = train[: cell.settings["rows"]]  # a random sample: the rows are shuffled
        rows = dataset.X[train].astype(np.float64), dataset.y[train]
        held_out = dataset.X[test].astype(np.float64), dataset.y[test]
        if cell.settings["model"] in RIVALS:
            return _fit_rival(cell.settings["model"], rows, held_out, cell.settings["seed"])
        clf = GPClassifier(
            warp=None,  # the paper's inputs are standardised and no more
            kernel=cell.settings["kernel"],
            optimizer="natural_gradient",  # what so many rows get by default
            n_inducing=cell.settings["n_inducing"],
            max_iter=cell.settings["max_iter"],
            random_state=cell.settings["seed"],
        )
        curve = followed_fit(clf, *rows, held_out, next_look=_NEXT_LOOK)
        return curve | _relevance(clf, dataset)

    def write(self, results: dict[str, Result], options: Options, folder: Path) -> str:
        write_csv(folder / "results.csv", curve_rows(results, ("model", "n_inducing")))
        if any(r.failed is None and r.cell.settings["model"] == "gp" for r in results.values()):
            _draw(list(results.values()), folder)
        return _account(list(results.values()))


def _cell(key: str, model: str, n_inducing: int | None, options: Options) -> Cell:
    settings = {
        "data": _DATA,
        "rows": _QUICK_ROWS if options.quick else None,  # None: all
        "model": model,
        "n_inducing": n_inducing,
        "kernel": "matern32 + linear",
        "max_iter": _QUICK_STEPS if options.quick else None,  # None: depends on the rows
        "seed": 0,
    }
    return Cell(key, settings)


def _fit_rival(name: str, rows: _Rows, held_out: _Rows, seed: int) -> dict[str, Any]:
    """The scores of one of RIVALS, as a curve with one point."""
    model: Any
    if name == "linear":
        linear = LogisticRegression(solver="liblinear", random_state=seed)
        model = make_pipeline(StandardScaler(), linear)
    else:
        model = HistGradientBoostingClassifier(random_state=seed)
    started = time.perf_counter()
    model.fit(*rows)
    seconds = time.perf_counter() - started
    point = {"seconds": seconds} | hold_out_scores(model, *held_out)
    return {"curve": {key: [value] for key, value in point.items()}, "seconds": seconds}


def _relevance(clf: GPClassifier, dataset: Dataset) -> dict[str, Any]:
    """Learned kernel parameters, in units of the inputs' standard deviations."""
    matern, linear = clf.kernel_.k1, clf.kernel_.k2
    return {
        "inputs": list(dataset.feature_names),
        "lengthscales": matern.lengthscale,
        "matern_variance": matern.variance,
        "linear_variances": linear.variance,
    }


def _account(results: list[Result]) -> str:
    """Scores, when the linear model is passed, lengthscales."""
    done = {result.cell.key: result for result in results if result.failed is None}
    linear = done.get("airline-linear")
    fits = [result for result in done.values() if result.cell.settings["model"] == "gp"]
    parts = [
        "![scores against time, and lengthscales](figure.png)" if fits else "",
        markdown_table(_HEADER, [_PAPERS_LINEAR, *(_entry(r, linear) for r in results)]),
        "NLP and error are on the 100,000 flights held out. Time is of training alone, without "
        "compiling, choosing the first inducing points and scoring the flights held out. These "
        "are not the paper's 5.9 million flights of 2008: what can be compared is the distance to "
        "the linear model.",
    ]
    if fits:
        parts.append(_kernel(fits[-1]))
    return "\n\n".join(part for part in parts if part)


def _entry(result: Result, linear: Result | None) -> tuple[str, ...]:
    settings, values = result.cell.settings, result.values
    name = RIVALS.get(settings["model"], f"fewknots, M = {settings['n_inducing']}")
    if result.failed is not None:
        return (name, f"failed: {result.failed.splitlines()[0]}", "", "", "", "", "")
    curve = values["curve"]
    scores = (f"{curve['nlp'][-1]:.4f}", f"{curve['error'][-1]:.4f}", f"{values['seconds']:.1f}")
    if settings["model"] in RIVALS:
        return (name, *scores, "", "", "")
    progress = (str(values["iterations"]), f"{curve['passes'][-1]:.1f}")
    return (name, *scores, *progress, "" if linear is None else passed(curve, linear))


def passed(curve: dict[str, list[float]], linear: Result) -> str:
    """The first time at which a curve is below the linear model in both scores."""
    goal = linear.values["curve"]
    below = (np.array(curve["nlp"]) < goal["nlp"][0]) & (
        np.array(curve["error"]) < goal["error"][0]
    )
    return f"{curve['seconds'][int(np.argmax(below))]:.1f} s" if below.any() else "never"


def _kernel(result: Result) -> str:
    values = result.values
    lengthscales = np.array(values["lengthscales"])
    variances = np.array(values["linear_variances"])
    order = np.argsort(lengthscales)
    table = markdown_table(
        ("input", "lengthscale", "variance of the linear part"),
        [
            (values["inputs"][i], f"{lengthscales[i]:.2f}", f"{variances[i]:.4f}")
            for i in order.tolist()
        ],
    )
    # Inputs are standardised: prior variance of a row = Matérn variance + sum of linear variances.
    share = variances.sum() / (variances.sum() + float(values["matern_variance"]))
    useful = ", ".join(values["inputs"][i] for i in order[:3].tolist())
    return (
        f"{table}\n\nLengthscales are in standard deviations, with "
        f"{result.cell.settings['n_inducing']} inducing points; the shorter, the more an input "
        f"matters. The three shortest are {useful}. The Matérn's variance is "
        f"{float(values['matern_variance']):.2f}; the linear part has {share:.0%} of the prior "
        "variance of a typical flight."
    )


def _draw(results: list[Result], folder: Path) -> None:
    """Three panels, with a curve for each number of inducing points."""
    done = [result for result in results if result.failed is None]
    fits = [result for result in done if result.cell.settings["model"] == "gp"]
    lines = [_line(result) for result in done if result.cell.settings["model"] in RIVALS]
    figure, axes = new_figure(1, 3, 15.0, 5.5)
    for panel, score in zip(axes[0], ("error", "nlp"), strict=False):
        draw_panel(panel, fits, _label, lines, "seconds", score)
    axes[0][0].legend(loc="upper right")
    _draw_lengthscales(axes[0][2], fits[-1])
    save_figure(figure, folder)


def _line(result: Result) -> Line:
    curve = result.values["curve"]
    return Line(RIVALS[result.cell.settings["model"]], curve["nlp"][0], curve["error"][0])


def _label(result: Result) -> str:
    return f"fewknots, {result.cell.settings['n_inducing']} inducing points"


def _draw_lengthscales(axes: Any, result: Result) -> None:
    """Bars of lengthscales, the shortest (most relevant) on top."""
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
