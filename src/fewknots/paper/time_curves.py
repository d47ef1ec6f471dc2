"""Figure 2 and the supplement: hold-out scores against training time, by three methods.

`image` and `banana-time` are the same experiment on two data sets: for several numbers of inducing
points, sparse KL and Generalized FITC by L-BFGS-B and sparse mean field by scaled conjugate
gradients, as in the paper. A cell is one curve. A fit ends when it has converged or after a number
of iterations that is smaller the more inducing points there are, not after a time: so the scores
in the table do not depend on the machine.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ..datasets import load
from ..estimators import GPClassifier
from .experiment import Cell, Choice, Options, Result
from .followed_fit import followed_fit
from .lengthscales import LENGTHSCALES, is_per_input
from .tables import curve_rows, write_csv
from .time_account import account
from .time_figure import draw


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
_MOST_WORK = 120_000  # iterations times inducing points
_QUICK_ITERATIONS = 30


@dataclass(frozen=True)
class TimeCurves:
    """`fewknots reproduce image` and `banana-time`."""

    name: str
    dataset: str
    title: str
    shows: str
    minutes: float
    counts: tuple[int, ...]  # of inducing points
    zoomed: bool  # whether to draw the end of the race again, larger
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
            **{name: cell.settings[name] for name in names}, random_state=cell.settings["seed"]
        )
        held_out = (dataset.X[test], dataset.y[test])
        return followed_fit(clf, dataset.X[train], dataset.y[train], held_out)

    def write(self, results: dict[str, Result], options: Options, folder: Path) -> str:
        write_csv(folder / "results.csv", curve_rows(results, ("family", "method", "n_inducing")))
        done = [result for result in results.values() if result.failed is None]
        if done:
            draw(done, folder, self.zoomed)
        return account(list(results.values()))


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
