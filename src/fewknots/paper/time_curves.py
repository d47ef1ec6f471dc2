"""Figure 2 and the supplement: hold-out scores against training time, by three methods.

`image` and `banana-time` are the same experiment on two data sets: for several numbers of inducing
points, sparse KL and Generalized FITC by L-BFGS-B and sparse mean field by scaled conjugate
gradients, as in the paper. A cell is one curve. A fit ends when it has converged, or after a number
of iterations that is smaller for more inducing points; there is no time limit, so the scores in the
table do not depend on the machine.
"""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..datasets import load
from ..estimators import GPClassifier
from .experiment import LENGTHSCALES, Cell, Choice, Options, Result, is_per_input
from .frontier import Curve, efficient_frontier
from .outputs import curve_rows, markdown_table, new_figure, save_figure, write_csv
from .timed_fits import followed_fit

_MOST_WORK = 120_000  # iterations times inducing points
_QUICK_ITERATIONS = 30
_LEAST_SHARE = 0.04  # of the logarithmic time: shorter stretches are not listed
_HEADER = (
    "method",
    "M",
    "NLP",
    "error",
    "training, s",
    "iterations",
    "largest rise of NLP",
    "choosing points, s",
    "compiling, s",
)
_COLOURS = {"KLSp": "#c44e52", "MFSp": "#3b76af", "EPFitc": "#55a868"}
_STYLES = (":", "--", "-")  # for growing numbers of inducing points
_SCORES = {"nlp": "hold-out NLP, nats a row", "error": "hold-out error"}
_ZOOM = 0.15  # of the whole range, from the best score up


class Family(NamedTuple):
    """The curves of one method: the paper's name, ours, and the optimizer."""

    label: str
    method: str
    optimizer: str


FAMILIES = (
    Family("KLSp", "sparse_kl", "collapsed"),
    Family("MFSp", "sparse_mean_field", "scg"),
    Family("EPFitc", "fitc_ep", "collapsed"),
)


@dataclass(frozen=True)
class TimeCurves:
    """`fewknots reproduce image` and `banana-time`."""

    name: str
    dataset: str
    title: str
    shows: str
    minutes: float
    counts: tuple[int, ...]  # of inducing points
    zoomed: bool  # whether to draw the lowest part of the curves again, enlarged
    choices: tuple[Choice, ...] = (LENGTHSCALES,)

    @property
    def needs(self) -> tuple[str, ...]:
        return (self.dataset,)

    def cells(self, options: Options) -> list[Cell]:
        counts = self.counts[:1] if options.quick else self.counts
        return [self._cell(family, count, options) for family in FAMILIES for count in counts]

    def _cell(self, family: Family, count: int, options: Options) -> Cell:
        settings = {
            "data": self.dataset,
            "split": 0,
            "family": family.label,
            "method": family.method,
            "optimizer": family.optimizer,
            "n_inducing": count,
            "kernel": "rbf",
            "ard": is_per_input(options),
            "max_iter": _QUICK_ITERATIONS if options.quick else _MOST_WORK // count,
            "seed": 0,
        }
        return Cell(f"{self.dataset}-{family.method}-{count}", settings)

    def run(self, cell: Cell, options: Options) -> dict[str, Any]:
        dataset = load(self.dataset, options.data)
        train, test = dataset.splits[cell.settings["split"]]
        names = ("method", "optimizer", "n_inducing", "kernel", "ard", "max_iter")
        clf = GPClassifier(
            warp=None,  # the paper's inputs are standardised and no more
            **{name: cell.settings[name] for name in names},
            random_state=cell.settings["seed"],
        )
        held_out = (dataset.X[test], dataset.y[test])
        return followed_fit(clf, dataset.X[train], dataset.y[train], held_out)

    def write(self, results: dict[str, Result], options: Options, folder: Path) -> str:
        write_csv(folder / "results.csv", curve_rows(results, ("family", "method", "n_inducing")))
        done = [result for result in results.values() if result.failed is None]
        if done:
            _draw(done, folder, self.zoomed)
        return _account(list(results.values()))


IMAGE = TimeCurves(
    name="image",
    dataset="image",
    title="Image: hold-out scores against training time (figure 2 and supplement)",
    shows=(
        "the efficient frontier of NLP against time is held by the sparse KL method; sparse mean "
        "field jumps about in NLP and is well behaved in error."
    ),
    minutes=3.0,
    counts=(4, 50, 200),
    zoomed=False,
)
BANANA_TIME = TimeCurves(
    name="banana-time",
    dataset="banana",
    title="Banana: hold-out scores against training time (supplement)",
    shows=(
        "NLP and error against time on banana, for the same methods, and the lowest part of both "
        "enlarged."
    ),
    minutes=1.0,
    counts=(4, 16, 64),
    zoomed=True,
)


def _account(results: list[Result]) -> str:
    """Table, frontier, and the paper's claims checked."""
    done = [result for result in results if result.failed is None]
    parts = [
        "![hold-out scores against time](figure.png)",
        markdown_table(_HEADER, [_line(result) for result in results]),
        "NLP and error are on the rows held out, at the end of training. Time is of training "
        "alone, without scoring, compiling (once for each method and shape) and choosing the first "
        "inducing points (the same for all methods); the last two have columns of their own. A fit "
        "ends when ten iterations gain nothing, or at the largest number of iterations for its M "
        "(marked with +). The largest rise is that of the NLP above its lowest value so far: a "
        "measure of how unsteady the optimisation is.",
    ]
    if done:
        parts += [_frontier(done, "nlp", "NLP"), _frontier(done, "error", "error"), _more(done)]
    return "\n\n".join(parts)


def _line(result: Result) -> tuple[str, ...]:
    settings, values = result.cell.settings, result.values
    name = (settings["family"], str(settings["n_inducing"]))
    if result.failed is not None:
        return (*name, f"failed: {result.failed.splitlines()[0]}", "", "", "", "", "", "")
    curve = values["curve"]
    return (
        *name,
        f"{curve['nlp'][-1]:.4f}",
        f"{curve['error'][-1]:.4f}",
        f"{values['seconds']:.2f}",
        f"{values['iterations']}{'' if values['converged'] else '+'}",
        f"{largest_rise(np.array(curve['nlp'])):.4f}",
        f"{values['start_seconds']:.2f}",
        f"{values['compile_seconds']:.1f}",
    )


def largest_rise(scores: np.ndarray) -> float:
    """The largest rise of a curve above its lowest value so far."""
    return float(np.max(scores - np.minimum.accumulate(scores)))


def _frontier(done: list[Result], score: str, name: str) -> str:
    frontier = efficient_frontier(_curves(done, score))
    start, end = frontier.seconds[0], frontier.seconds[-1]
    shares = ", ".join(f"{holder} {share:.0%}" for holder, share in frontier.shares().items())
    held = "; ".join(
        f"{holder} {_seconds(stretch_start)} to {_seconds(stretch_end)} s"
        for stretch_start, stretch_end, holder in frontier.long_stretches(_LEAST_SHARE)
    )
    return (
        f"**The efficient frontier of {name}** (at any time the lowest of all curves), from "
        f"{_seconds(start)} to {_seconds(end)} s, by shares of logarithmic time: {shares}. In "
        f"order, without stretches shorter than {_LEAST_SHARE:.0%} of it: {held}."
    )


def _seconds(seconds: float) -> str:
    """Two digits, or all digits of a whole number."""
    return f"{seconds:.2g}" if seconds < 10 else f"{seconds:.0f}"


def _more(done: list[Result]) -> str:
    """Whether every method is better with more inducing points, as in the paper."""
    answers = []
    for family in dict.fromkeys(result.cell.settings["family"] for result in done):
        ends = [
            (result.cell.settings["n_inducing"], result.values["curve"]["nlp"][-1])
            for result in done
            if result.cell.settings["family"] == family
        ]
        better = all(after[1] < before[1] for before, after in pairwise(ends))
        numbers = ", ".join(f"{nlp:.3f}" for _, nlp in ends)
        answers.append(f"{family} {'yes' if better else 'no'} ({numbers})")
    return f"**Is NLP lower with every step up in M?** {'; '.join(answers)}."


def _curves(results: list[Result], score: str) -> list[Curve]:
    """One curve per result; its holder is the paper's name of the method."""
    return [
        Curve(
            result.cell.settings["family"],
            np.array(result.values["curve"]["seconds"]),
            np.array(result.values["curve"][score]),
        )
        for result in results
    ]


def _draw(results: list[Result], folder: Path, zoomed: bool) -> None:
    """A panel for each score; with `zoomed`, another one with the lowest part enlarged."""
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
    drawn = _curves(results, score)
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
        # A dot at the end of the fit, and its score from then on.
        panel.plot(curve.seconds[-1], curve.scores[-1], "o", color=colour, markersize=4)
        panel.hlines(curve.scores[-1], curve.seconds[-1], end, color=colour, linewidth=0.5)
    panel.grid(alpha=0.3)


def _lowest_part(results: list[Result], score: str) -> tuple[float, float]:
    """The limits of a zoomed panel: the best score, and a share of the range above it."""
    drawn = _curves(results, score)
    lowest = min(curve.scores.min() for curve in drawn)
    highest = max(curve.scores.max() for curve in drawn)
    height = _ZOOM * (highest - lowest)
    return lowest - 0.05 * height, lowest + height
