"""Checkpoints of a long run in a folder, so that only the last few seconds can be lost.

Each checkpoint is one file with a checksum (container.py), written under a temporary name and then
renamed: it is complete or it does not exist. The last two are kept. A resumed run uses the newest
undamaged file that belongs to the same run. This is checked by its *fingerprint*: the digest of the
data and every setting that the result depends on.

`of_minibatches` and the similar functions say what a checkpoint must contain for each kind of
training. A checksum shows damage but not forgery. So all numbers are checked before they are used.
"""

import math
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from ..exceptions import CheckpointError, CheckpointWarning, ModelFileError, warn
from ..files import container
from ..files.container import shown
from ..progress import Reporter

_FORMAT = 2  # 2: q and the sums over rows have an axis for latent functions
_PATTERN = "step-*.checkpoint"
_KEPT = 2
_MOST_SHARE = 0.05  # share of the time that may be spent on writing
_PACE = {"from_step", "from_share", "end"}
_STANDING = {"done", "pace", "slowdown", "retries", "seconds", "lowest", "scores"}
_HISTORY = ("history.iteration", "history.seconds", "history.bound")


class Saved(NamedTuple):
    """The contents of a checkpoint."""

    header: dict[str, Any]
    arrays: dict[str, np.ndarray]


class Checkpoints:
    """The checkpoints of one run in one folder."""

    def __init__(
        self,
        folder: str | os.PathLike[str],
        fingerprint: dict[str, Any],
        check: Callable[[Saved], None],
    ):
        """`check` raises an error for contents that a run cannot continue from."""
        self.folder = Path(folder)
        self.check = check
        self.fingerprint = fingerprint
        self._next = 0.0
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CheckpointError(
                f"checkpoint={str(folder)!r} cannot be used as a folder ({error.strerror})."
            ) from error
        for torn in self.folder.glob(".step-*"):  # left over from a killed process
            torn.unlink(missing_ok=True)

    def latest(self) -> Saved | None:
        """The newest usable checkpoint; None if there has never been one."""
        paths = sorted(self.folder.glob(_PATTERN), reverse=True)
        reasons = []
        for path in paths:
            try:
                return self._read(path)
            except (ModelFileError, CheckpointError) as error:
                reasons.append(str(error))
                warn(f"{error} Trying the one before.", CheckpointWarning)
        if reasons:
            raise CheckpointError(
                f"no checkpoint in {self.folder} can be used. {reasons[0]} Use another folder for "
                "this run, or resume=False to start again in this one."
            )
        return None

    def _read(self, path: Path) -> Saved:
        header, arrays = container.read(path)
        other = header.get("fingerprint")
        if header.get("format") != _FORMAT or not isinstance(other, dict):
            raise CheckpointError(f"{path} is not a checkpoint that this fewknots can read.")
        names = sorted(other.keys() | self.fingerprint.keys())
        differing = [name for name in names if other.get(name) != self.fingerprint.get(name)]
        if differing:
            name = differing[0]
            raise CheckpointError(
                f"{path} belongs to another run: its {shown(name)[1:-1]} is "
                f"{shown(other.get(name))}, here it is {shown(self.fingerprint.get(name))}."
            )
        saved = Saved(header, arrays)
        try:
            check_common(saved)
            self.check(saved)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise CheckpointError(f"{path} is not a valid checkpoint: {shown(error)}.") from error
        return saved

    def is_due(self) -> bool:
        """Whether enough time has passed that writing takes a small share of it."""
        return time.perf_counter() >= self._next

    def write(self, step: int, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Write the state after `step` steps and drop all but the last two."""
        started = time.perf_counter()
        full = header | {"format": _FORMAT, "fingerprint": self.fingerprint}
        path = self.folder / f"step-{step:010d}.checkpoint"
        container.write(path, full, arrays)
        # Files of later steps are left over from a run that this one replaces.
        others = sorted(self.folder.glob(_PATTERN))
        here = others.index(path)
        for old in others[: max(0, here - _KEPT + 1)] + others[here + 1 :]:
            old.unlink(missing_ok=True)
        now = time.perf_counter()
        self._next = now + (now - started) / _MOST_SHARE


def with_history(report: Reporter) -> dict[str, np.ndarray]:
    """A checkpoint's arrays together with the history reported so far."""
    return {f"history.{name}": column for name, column in report.history().items()}


def take_up_history(report: Reporter, saved: Saved) -> None:
    """Continue the progress report from the saved history."""
    names = (name for name in saved.arrays if name.startswith("history."))
    report.take_up({name.removeprefix("history."): saved.arrays[name] for name in names})


def flattened(prefix: str, tree: Any) -> dict[str, np.ndarray]:
    """The arrays of a tree, named by number."""
    leaves = jax.tree.leaves(tree)
    return {f"{prefix}.{i}": np.asarray(leaf) for i, leaf in enumerate(leaves)}


def unflattened(prefix: str, like: Any, arrays: dict[str, np.ndarray]) -> Any:
    """The inverse of `flattened`, for a tree of this structure."""
    leaves, structure = jax.tree.flatten(like)
    found = [arrays.get(f"{prefix}.{i}") for i in range(len(leaves))]
    for i, (leaf, array) in enumerate(zip(leaves, found, strict=True)):
        same = array is not None and (array.shape, array.dtype) == (np.shape(leaf), leaf.dtype)
        if not same:
            raise CheckpointError(
                f"the checkpoint's array {prefix}.{i} is missing or of another shape or dtype."
            )
    return jax.tree.unflatten(structure, found)


def of_minibatches(saved: Saved) -> None:
    """Check a checkpoint of stochastic training (stochastic.py); others with inducing points use
    this, too.
    """
    _check_numbers(saved.header, counts=("n_inducing",))
    if saved.header["n_inducing"] > max(array.size for array in saved.arrays.values()):
        raise ValueError("it has fewer inducing points than it says")


def of_neighbourhoods(saved: Saved) -> None:
    """Check a checkpoint of a local fit (local/training.py)."""
    scale = saved.arrays["search.scale"]
    if scale.dtype != np.float64 or not np.all(scale > 0):
        raise ValueError("its search has no metric")


def of_rounds(saved: Saved) -> None:
    """Check a checkpoint of training in rounds (rounds.py)."""
    _check_numbers(saved.header, ("little_rounds",), ("jitter", "radius", "natural"))
    if type(saved.header["is_over"]) is not bool:
        raise ValueError("it does not say whether it is over")
    directions, strengths = (saved.arrays[f"bends.{i}"] for i in range(2))
    if directions.ndim != 2 or strengths.shape != directions.shape[:1]:
        raise ValueError("its curvature corrections are of different numbers")
    of_minibatches(saved)


def of_sampled_rounds(saved: Saved) -> None:
    """Check a checkpoint of training in rounds on samples (sampled_rounds.py)."""
    _check_numbers(saved.header, measures=("jitter",))
    of_minibatches(saved)


def check_common(saved: Saved) -> None:
    """Check the part that all have: the state of the run and its history."""
    _check_standing(saved.header)
    if not all(name in saved.arrays for name in _HISTORY):
        raise ValueError("its history is incomplete")
    length = saved.arrays["history.bound"].size
    for name, array in saved.arrays.items():
        kind = "i" if name == "history.iteration" else "f"
        if name.startswith("history.") and (array.shape != (length,) or array.dtype.kind != kind):
            raise ValueError(
                f"its array {shown(name)} is not a column of the same length as the others"
            )


def _check_standing(header: dict[str, Any]) -> None:
    if "standing" not in header:  # of training in rounds, by an older fewknots
        return _check_numbers(header, ("seed", "rounds" if "rounds" in header else "done"))
    standing = header["standing"]
    pace = standing["pace"]
    if standing.keys() != _STANDING or pace.keys() != _PACE:
        raise ValueError("its run state has other parts")
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
