"""An experiment: independent cells, and a function that draws their results.

A cell is one fit, or one curve: the smallest piece that is saved when a run is stopped. Its
settings describe it completely, so that a saved cell with the same settings need not run again.

A run saves each cell in a file as soon as it is done. It may end at any moment, by Ctrl-C or a
power failure. The same command then continues it: a cell that has a file, written by this version
with the same settings and data, is not run again, unless it failed. The SHA-256 of every data set
is stored in every cell's file, so that numbers from different versions of the data are never mixed.
"""

import hashlib
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from .. import __version__
from ..datasets import Dataset, load
from ..exceptions import DatasetError
from ..files.container import replacing
from ..stopping import listening

OnProgress = Callable[["RunProgress"], None]


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


class FoundData(NamedTuple):
    """A data set that was found."""

    source: str
    sha256: str  # of inputs, labels and splits


class DataSets(NamedTuple):
    """The data sets of an experiment: those found, and why others were not."""

    found: dict[str, FoundData]
    missing: dict[str, str]


def gather(names: tuple[str, ...], folder: Path | None) -> DataSets:
    """Load every data set once. DatasetError if none was found."""
    found, missing = {}, {}
    for name in names:
        try:
            dataset = load(name, folder)
        except DatasetError as error:
            missing[name] = str(error)
        else:
            found[name] = FoundData(dataset.source, _sha256(dataset))
    if missing and not found:
        raise DatasetError("\n\n".join(missing.values()))
    return DataSets(found, missing)


def _sha256(dataset: Dataset) -> str:
    digest = hashlib.sha256()
    for array in (dataset.X, dataset.y, *(rows for split in dataset.splits for rows in split)):
        digest.update(f"{array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


class RunProgress(NamedTuple):
    """The state of a run: before a cell (`result` is None) or after it."""

    done: int
    total: int
    cell: Cell
    result: Result | None = None
    kept: bool = False  # the result is from an earlier run


def run_cells(
    experiment: Experiment, options: Options, data: DataSets, folder: Path, watch: OnProgress
) -> dict[str, Result]:
    """The result of every cell, from its file or from running it."""
    cells = experiment.cells(options)
    files = folder / "cells"
    files.mkdir(parents=True, exist_ok=True)
    identity = {name: found.sha256 for name, found in data.found.items()}
    results: dict[str, Result] = {}
    with listening() as interruption:
        # A fit stopped by Ctrl-C would give a number that cannot be reproduced.
        interruption.keeps_nothing = True
        for done, cell in enumerate(cells):
            path = files / f"{cell.key}.json"
            origin = {"fewknots": __version__, "settings": _as_json(cell.settings)}
            origin["data"] = identity
            result = _load_cell(path, cell, origin)
            kept = result is not None
            if result is None:
                watch(RunProgress(done, len(cells), cell))
                result = _without_data(cell, data) or _run(experiment, cell, options)
                _save_cell(path, result, origin)
            results[cell.key] = result
            watch(RunProgress(done + 1, len(cells), cell, result, kept))
    return results


def _without_data(cell: Cell, data: DataSets) -> Result | None:
    """The failure of a cell whose data were not found; None if they were."""
    missing = data.missing.get(cell.settings["data"])
    return None if missing is None else Result(cell, {}, f"DatasetError: {missing}", 0.0)


def _run(experiment: Experiment, cell: Cell, options: Options) -> Result:
    values, failed = {}, None
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            values = _as_json(experiment.run(cell, options))
        except Exception as error:
            failed = f"{type(error).__name__}: {error}"
    warned = dict.fromkeys(f"{w.category.__name__}: {w.message}" for w in seen)  # each once
    return Result(cell, values, failed, time.perf_counter() - started, tuple(warned))


def _save_cell(path: Path, result: Result, origin: dict[str, Any]) -> None:
    outcome = {"values": result.values} if result.failed is None else {"failed": result.failed}
    record = {
        "key": result.cell.key,
        **origin,
        "seconds": result.seconds,
        "warnings": list(result.warnings),
        **outcome,
    }
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(record) + "\n", encoding="utf-8")


def _load_cell(path: Path, cell: Cell, origin: dict[str, Any]) -> Result | None:
    """The result in the cell's file; None if there is none, or if the cell has to run again."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        same = all(record[part] == origin[part] for part in origin)
        if not same or "failed" in record:
            return None
        values, seconds = record["values"], record["seconds"]
        return Result(cell, values, None, seconds, tuple(record["warnings"]))
    except (OSError, ValueError, KeyError, TypeError):  # no file, or not a file of ours
        return None


def _as_json(values: dict[str, Any]) -> dict[str, Any]:
    """The values as read from a JSON file, so that a first run and a resumed run agree."""
    return json.loads(json.dumps(values, default=lambda array: array.tolist()))
