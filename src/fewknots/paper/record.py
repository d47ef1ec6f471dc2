"""run.json: what a folder's numbers were made with, so that they can be made again."""

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import jax
import numpy as np

from .. import __version__
from .experiment import Experiment, Options, Result
from .inputs import DataSets


def record(
    experiment: Experiment, options: Options, data: DataSets, results: dict[str, Result]
) -> dict[str, Any]:
    """Seeds, versions, machine, options, data, and what every cell cost."""
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
    told: dict[str, Any] = {"settings": result.cell.settings, "seconds": result.seconds}
    if result.failed is not None:
        told["failed"] = result.failed
    if result.warnings:
        told["warnings"] = list(result.warnings)
    return told


def machine() -> dict[str, Any]:
    """What computes, on how many cores it may, and how busy they were in the last five minutes.

    A load average well above one, while one experiment runs, is a reason to mistrust its seconds.
    """
    device = jax.devices()[0]
    known = hasattr(os, "sched_getaffinity")
    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)) if known else os.cpu_count(),
        "load_average": round(os.getloadavg()[1], 2) if hasattr(os, "getloadavg") else None,
        "platform": platform.platform(),
        "device": f"{device.platform}: {device.device_kind}",
    }


def _cpu_model() -> str:
    """The name the maker gives it, where the system tells."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            named = [line.split(":", 1)[1].strip() for line in lines if "model name" in line]
    except OSError:
        named = []
    return named[0] if named else platform.processor() or platform.machine()
