"""What a checkpoint must hold for each way of training to go on from it: nothing trips later.

A seal tells damage but not forgery: who can write a file can also seal it. So the numbers are
looked at before they are used.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..files.container import shown

_PACE = {"from_step", "from_share", "end"}
_STANDING = {"done", "pace", "slowdown", "retries", "seconds", "lowest", "scores"}
_HISTORY = ("history.iteration", "history.seconds", "history.bound")


class Saved(NamedTuple):
    """What a checkpoint holds."""

    header: dict[str, Any]
    arrays: dict[str, np.ndarray]


def of_minibatches(saved: Saved) -> None:
    """A stochastic run's (stochastic.py), and part of every other's with inducing points."""
    _check_numbers(saved.header, counts=("n_inducing",))
    if saved.header["n_inducing"] > max(array.size for array in saved.arrays.values()):
        raise ValueError("it has fewer inducing points than it says")


def of_neighbourhoods(saved: Saved) -> None:
    """A local fit's (local/training.py)."""
    scale = saved.arrays["search.scale"]
    if scale.dtype != np.float64 or not np.all(scale > 0):
        raise ValueError("its search has no metric")


def of_rounds(saved: Saved) -> None:
    """A run's in rounds (rounds.py)."""
    _check_numbers(saved.header, ("little_rounds",), ("jitter", "radius", "natural"))
    if type(saved.header["is_over"]) is not bool:
        raise ValueError("it does not say whether it is over")
    directions, strengths = (saved.arrays[f"bends.{i}"] for i in range(2))
    if directions.ndim != 2 or strengths.shape != directions.shape[:1]:
        raise ValueError("its curvature corrections are of different numbers")
    of_minibatches(saved)


def of_sampled_rounds(saved: Saved) -> None:
    """A run's in rounds on a part of the rows each (sampled_rounds.py)."""
    _check_numbers(saved.header, measures=("jitter",))
    of_minibatches(saved)


def check_common(saved: Saved) -> None:
    """The part that all have: where the run stands, and what was reported so far."""
    _check_standing(saved.header)
    if not all(name in saved.arrays for name in _HISTORY):
        raise ValueError("its history is incomplete")
    length = saved.arrays["history.bound"].size
    for name, array in saved.arrays.items():
        kind = "i" if name == "history.iteration" else "f"
        if name.startswith("history.") and (array.shape != (length,) or array.dtype.kind != kind):
            raise ValueError(f"its array {shown(name)} is no column of the others' length")


def _check_standing(header: dict[str, Any]) -> None:
    if "standing" not in header:  # in rounds, kept by an older fewknots
        return _check_numbers(header, ("seed", "rounds" if "rounds" in header else "done"))
    standing = header["standing"]
    pace = standing["pace"]
    if standing.keys() != _STANDING or pace.keys() != _PACE:
        raise ValueError("its standing has other parts")
    _check_numbers(header, counts=("seed", "planned_steps"))
    _check_numbers(standing, ("done", "retries"), ("slowdown", "seconds", "lowest"))
    _check_numbers(pace, ("from_step", "end"), ("from_share",))
    if not all(map(_is_measure, standing["scores"])):
        raise ValueError("one of its scores is not a number")
    if pace["end"] > header["planned_steps"]:
        raise ValueError("it has more steps than were planned")


def _check_numbers(
    held: Mapping[str, Any], counts: tuple[str, ...] = (), measures: tuple[str, ...] = ()
) -> None:
    for name in counts:
        if type(held[name]) is not int or not 0 <= held[name] < 2**63:
            raise ValueError(f"its {name} is {shown(held[name])}")
    for name in measures:
        if not _is_measure(held[name]):
            raise ValueError(f"its {name} is {shown(held[name])}")


def _is_measure(value: Any) -> bool:
    return type(value) is float and math.isfinite(value)
