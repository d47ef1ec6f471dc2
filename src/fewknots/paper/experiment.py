"""An experiment: independent cells, and a function that draws their results.

A cell is one fit, or one curve: the smallest piece that is saved when a run is stopped. Its
settings describe it completely, so that a saved cell with the same settings need not run again.
"""

from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable


class Cell(NamedTuple):
    """One independent piece of an experiment.

    key : unique in the experiment, and a valid file name: "thyroid-sparse_kl-8-fold3".
    settings : everything that decides the result, as JSON; "data" is the name of the data set,
        "seed" the random seed.
    """

    key: str
    settings: dict[str, Any]


class Choice(NamedTuple):
    """An option of one experiment, besides the common ones; the first value is the default."""

    name: str  # "splits" is `--splits` on the command line
    values: tuple[str, ...]
    help: str


class Options(NamedTuple):
    """The user's options. `extras` has a value for every choice of the experiment."""

    quick: bool = False
    data: Path | None = None  # None: the folder in FEWKNOTS_DATA, and other sources
    extras: dict[str, str] = {}  # noqa: RUF012  (never written to)


class Result(NamedTuple):
    """The result of a cell: `values`, or the reason why it failed."""

    cell: Cell
    values: dict[str, Any]  # as read from JSON; empty if it failed
    failed: str | None
    seconds: float
    warnings: tuple[str, ...] = ()  # warnings of the fit


@runtime_checkable
class Experiment(Protocol):
    """One of the paper's experiments."""

    @property
    def name(self) -> str:
        """The name of the command."""
        ...

    @property
    def title(self) -> str:
        """The title of the README."""
        ...

    @property
    def shows(self) -> str:
        """What the paper shows, in a sentence."""
        ...

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of data sets in fewknots.datasets."""
        ...

    @property
    def minutes(self) -> float:
        """Duration of the full run on two cores."""
        ...

    @property
    def choices(self) -> tuple[Choice, ...]:
        """Options that only this experiment has."""
        ...

    def cells(self, options: Options) -> list[Cell]:
        """All cells, in the order in which to run them."""
        ...

    def run(self, cell: Cell, options: Options) -> dict[str, Any]:
        """The cell's numbers: JSON, or NumPy arrays and scalars. Exceptions are recorded."""
        ...

    def write(self, results: dict[str, Result], options: Options, folder: Path) -> str:
        """Draw figure.png and figure.pdf, write results.csv; return the main part of the README.

        `results` has an entry for every cell, including failed ones.
        """
        ...


# The paper does not say which it used. Its numbers, where they show it, agree with "one".
LENGTHSCALES = Choice(
    "lengthscales",
    ("one", "per-input"),
    "One lengthscale for all inputs, as in the paper, or one for each.",
)


def is_per_input(options: Options) -> bool:
    """The value of the argument `ard`."""
    return options.extras[LENGTHSCALES.name] == "per-input"
