"""Running an experiment: cell after cell, each kept in a file as soon as it is done.

A run may end at any moment, by Ctrl-C or by a power cut. The same command then goes on: a cell
whose file is there, made by this version with the same settings from the same data, is not run
again. One that failed is. The SHA-256 of every data set goes into every cell's file, so that
numbers from one version of the data are never mixed with numbers from another.
"""

import hashlib
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import __version__
from ..datasets import Dataset, load
from ..exceptions import DatasetError
from ..files.container import replacing
from ..stopping import listening
from .experiment import Cell, Experiment, Options, Result

Watch = Callable[["Moment"], None]


class Found(NamedTuple):
    """A data set that is there."""

    source: str
    sha256: str  # of inputs, labels and splits


class DataSets(NamedTuple):
    """What was found of what an experiment needs, and why the rest was not."""

    found: dict[str, Found]
    missing: dict[str, str]


def gather(names: tuple[str, ...], folder: Path | None) -> DataSets:
    """Look at every data set once. DatasetError if none is there: then there is nothing to run."""
    found, missing = {}, {}
    for name in names:
        try:
            dataset = load(name, folder)
        except DatasetError as error:
            missing[name] = str(error)
        else:
            found[name] = Found(dataset.source, _sha256(dataset))
    if missing and not found:
        raise DatasetError("\n\n".join(missing.values()))
    return DataSets(found, missing)


def _sha256(dataset: Dataset) -> str:
    digest = hashlib.sha256()
    for array in (dataset.X, dataset.y, *(rows for split in dataset.splits for rows in split)):
        digest.update(f"{array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


class Moment(NamedTuple):
    """Where a run stands: before a cell (`result` is None) or after one."""

    done: int
    total: int
    cell: Cell
    result: Result | None = None
    kept: bool = False  # the result is from an earlier run


def run_cells(
    experiment: Experiment, options: Options, data: DataSets, folder: Path, watch: Watch
) -> dict[str, Result]:
    """Every cell's result, from its file or from running it."""
    cells = experiment.cells(options)
    files = folder / "cells"
    files.mkdir(parents=True, exist_ok=True)
    identity = {name: found.sha256 for name, found in data.found.items()}
    results: dict[str, Result] = {}
    with listening() as interruption:
        # A fit ended by Ctrl-C would leave a number in the table that no other run gives.
        interruption.keeps_nothing = True
        for done, cell in enumerate(cells):
            path = files / f"{cell.key}.json"
            made_of = {"fewknots": __version__, "settings": _as_json(cell.settings)}
            made_of["data"] = identity
            result = _kept(path, cell, made_of)
            kept = result is not None
            if result is None:
                watch(Moment(done, len(cells), cell))
                result = _without_data(cell, data) or _run(experiment, cell, options)
                _keep(path, result, made_of)
            results[cell.key] = result
            watch(Moment(done + 1, len(cells), cell, result, kept))
    return results


def _without_data(cell: Cell, data: DataSets) -> Result | None:
    """The failure of a cell whose data could not be had; None if they could."""
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
    said = dict.fromkeys(f"{w.category.__name__}: {w.message}" for w in seen)  # each once
    return Result(cell, values, failed, time.perf_counter() - started, tuple(said))


def _keep(path: Path, result: Result, made_of: dict[str, Any]) -> None:
    outcome = {"values": result.values} if result.failed is None else {"failed": result.failed}
    record = {
        "key": result.cell.key,
        **made_of,
        "seconds": result.seconds,
        "warnings": list(result.warnings),
        **outcome,
    }
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(record) + "\n", encoding="utf-8")


def _kept(path: Path, cell: Cell, made_of: dict[str, Any]) -> Result | None:
    """The result in the cell's file; None if there is none that can stand for a new run."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        same = all(record[part] == made_of[part] for part in made_of)
        if not same or "failed" in record:
            return None
        values, seconds = record["values"], record["seconds"]
        return Result(cell, values, None, seconds, tuple(record["warnings"]))
    except (OSError, ValueError, KeyError, TypeError):  # none, or not one of ours
        return None


def _as_json(values: dict[str, Any]) -> dict[str, Any]:
    """As reading it back from a file gives it, so that a first run and a resumed one agree."""
    return json.loads(json.dumps(values, default=lambda array: array.tolist()))
