"""A whole run, from the data to the output folder.

README.md describes the results; run.json records versions, machine and settings, so that the
numbers can be reproduced.
"""

import json
import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
import numpy as np

from .. import __version__
from ..files.container import replacing
from ..numerics.precision import usable_cores
from .experiment import DataSets, Experiment, OnProgress, Options, Result, gather, run_cells


def reproduce(
    experiment: Experiment, options: Options, folder: Path, watch: OnProgress
) -> dict[str, Result]:
    """Run the cells that have no result yet, then write figure, numbers, README.md and run.json."""
    data = gather(experiment.needs, options.data)
    folder.mkdir(parents=True, exist_ok=True)
    results = run_cells(experiment, options, data, folder, watch)
    account = experiment.write(results, options, folder)
    run = record(experiment, options, data, results)
    _write(folder / "run.json", json.dumps(run, indent=1, default=str) + "\n")
    _write(folder / "README.md", readme(experiment, options, data, results, account, run))
    return results


def readme(
    experiment: Experiment,
    options: Options,
    data: DataSets,
    results: dict[str, Result],
    account: str,
    run: dict,
) -> str:
    """The text of README.md; `account` is the experiment's part, `run` the record."""
    machine, versions = run["machine"], run["versions"]
    reduced = (
        "**A reduced run (`--quick`): it shows that everything works, but does not reproduce the "
        "paper's results.**"
    )
    parts = [
        f"# {experiment.title}",
        f"What the paper shows: {experiment.shows}",
        reduced if options.quick else "",
        account.strip(),
        _failures(results),
        _warnings(results),
        "## How this was made",
        f"`{command(experiment, options)}`, {run['seconds']:.0f} s in all on "
        f"{machine['cores']} cores ({machine['cpu']}, {machine['device']}), "
        f"with fewknots {versions['fewknots']}, JAX {versions['jax']}, "
        f"Python {versions['python']}.",
        "\n".join(f"- data `{name}`: {found.source}" for name, found in data.found.items()),
        "\n".join(f"- no data `{name}`: {why}" for name, why in data.missing.items()),
        "Every number above comes from the cells in `cells/`, which say their settings and seeds; "
        "`run.json` has versions, machine and seconds. The same command in the same place takes "
        "up these cells; in an empty place it runs them all again. `results.csv` has the numbers "
        "for programs, `figure.pdf` the figure for print.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def command(experiment: Experiment, options: Options) -> str:
    """The command that makes this folder."""
    words = ["fewknots reproduce", experiment.name]
    words += [f"--{name} {value}" for name, value in _chosen(experiment, options).items()]
    return " ".join([*words, "--quick"] if options.quick else words)


def default_folder(experiment: Experiment, options: Options) -> Path:
    """The default output folder; each combination of options has its own."""
    parts = [experiment.name, *_chosen(experiment, options).values()]
    return Path("reproduced") / "-".join([*parts, "quick"] if options.quick else parts)


def _chosen(experiment: Experiment, options: Options) -> dict[str, str]:
    """The choices that are not the defaults."""
    defaults = {choice.name: choice.values[0] for choice in experiment.choices}
    return {name: value for name, value in options.extras.items() if value != defaults[name]}


def _failures(results: dict[str, Result]) -> str:
    failed = {key: result.failed for key, result in results.items() if result.failed}
    if not failed:
        return ""
    listed = "\n".join(f"- `{key}`: {why}" for key, why in failed.items())
    return f"## Failed\n\n{len(failed)} of {len(results)} cells failed:\n\n{listed}"


def _warnings(results: dict[str, Result]) -> str:
    """Each warning once, with the cells that gave it."""
    cells: dict[str, list[str]] = {}
    for key, result in results.items():
        for warning in result.warnings:
            cells.setdefault(warning, []).append(f"`{key}`")
    if not cells:
        return ""
    listed = "\n".join(f"- {warning} ({', '.join(keys)})" for warning, keys in cells.items())
    return f"## Warnings\n\n{listed}"


def _write(path: Path, text: str) -> None:
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def record(
    experiment: Experiment, options: Options, data: DataSets, results: dict[str, Result]
) -> dict[str, Any]:
    """Seeds, versions, machine, options, data, and the seconds of every cell."""
    cells = {key: _cell(result) for key, result in results.items()}
    seeds = {result.cell.settings["seed"] for result in results.values()}
    return {
        "experiment": experiment.name,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "options": {"quick": options.quick, **options.extras},
        "seeds": sorted(seeds),
        "versions": {
            "fewknots": __version__,
            "python": platform.python_version(),
            "jax": jax.__version__,
            "numpy": np.__version__,
            **{name: version(name) for name in ("scipy", "scikit-learn")},
        },
        "machine": machine(),
        "data": {name: found._asdict() for name, found in data.found.items()},
        "data_missing": data.missing,
        "seconds": sum(result.seconds for result in results.values()),
        "cells": cells,
    }


def _cell(result: Result) -> dict[str, Any]:
    entry: dict[str, Any] = {"settings": result.cell.settings, "seconds": result.seconds}
    if result.failed is not None:
        entry["failed"] = result.failed
    if result.warnings:
        entry["warnings"] = list(result.warnings)
    return entry


def machine() -> dict[str, Any]:
    """CPU, number of cores, device, and the load average of the last five minutes.

    If the load average is well above one during an experiment, its seconds are not reliable.
    """
    device = jax.devices()[0]
    return {
        "cpu": _cpu_model(),
        "cores": usable_cores(),
        "load_average": round(os.getloadavg()[1], 2) if hasattr(os, "getloadavg") else None,
        "platform": platform.platform(),
        "device": f"{device.platform}: {device.device_kind}",
    }


def _cpu_model() -> str:
    """The model name of the CPU, if the system provides it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            named = [line.split(":", 1)[1].strip() for line in lines if "model name" in line]
    except OSError:
        named = []
    return named[0] if named else platform.processor() or platform.machine()
