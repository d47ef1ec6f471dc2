"""What an experiment is: independent cells, and a drawing of their results.

A cell is one fit, or one curve: the smallest piece that is worth keeping when a run is stopped. It
is described by its settings alone, so that a cell done yesterday can be told from one to do again.
"""

from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable


class Cell(NamedTuple):
    """One independent piece of an experiment.

    key : unique within the experiment, and safe as a file name: "thyroid-sparse_kl-8-fold3".
    settings : all that decides the result, as JSON can hold it; "data" names the data set it is
        about, "seed" is where chance begins.
    """

    key: str
    settings: dict[str, Any]


class Choice(NamedTuple):
    """An option that one experiment has beside the common ones; the first value is the default."""

    name: str  # "splits" is `--splits` on the command line
    values: tuple[str, ...]
    help: str


class Options(NamedTuple):
    """What the user asked for. `extras` has a value for every choice of the experiment."""

    quick: bool = False
    data: Path | None = None  # None: the folder that FEWKNOTS_DATA names, and other places
    extras: dict[str, str] = {}  # noqa: RUF012  (never written to)


class Result(NamedTuple):
    """What came of a cell: `values`, or in their place the reason why it failed."""

    cell: Cell
    values: dict[str, Any]  # as JSON gave them back; empty if it failed
    failed: str | None
    seconds: float
    warnings: tuple[str, ...] = ()  # what the fit wanted the user to know


@runtime_checkable
class Experiment(Protocol):
    """One of the paper's experiments."""

    @property
    def name(self) -> str:
        """The command."""
        ...

    @property
    def title(self) -> str:
        """Of the README."""
        ...

    @property
    def shows(self) -> str:
        """What the paper shows, in a sentence."""
        ...

    @property
    def needs(self) -> tuple[str, ...]:
        """Data sets, by the names of fewknots.datasets."""
        ...

    @property
    def minutes(self) -> float:
        """What the full run takes on two cores."""
        ...

    @property
    def choices(self) -> tuple[Choice, ...]:
        """Options of its own."""
        ...

    def cells(self, options: Options) -> list[Cell]:
        """All cells, in the order in which to run them."""
        ...

    def run(self, cell: Cell, options: Options) -> dict[str, Any]:
        """The cell's numbers: JSON, or NumPy arrays and scalars. Whatever it raises is recorded."""
        ...

    def write(self, results: dict[str, Result], options: Options, folder: Path) -> str:
        """Draw figure.png and figure.pdf, write results.csv; return the README's middle part.

        `results` has an entry for every cell, also for those that failed.
        """
        ...


# The paper does not say which it used. Where it can be told from its numbers, it is one.
LENGTHSCALES = Choice(
    "lengthscales",
    ("one", "per-input"),
    "One lengthscale for all inputs, as in the paper, or one for each.",
)


def is_per_input(options: Options) -> bool:
    """What to give as `ard`."""
    return options.extras[LENGTHSCALES.name] == "per-input"
