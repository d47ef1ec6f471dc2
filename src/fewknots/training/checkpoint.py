"""A folder in which a long run is kept, so that nothing but the last few seconds can be lost.

Each checkpoint is one sealed file (container.py), written beside its name and moved there: it is
whole or it is not there. The last two are kept. When a run is taken up again the newest file is
used that is undamaged and belongs to the same run, which its *fingerprint* tells: the data's
digest and every setting that the result depends on.

`of_minibatches` and its like say what a checkpoint must hold for each way of training to go on from
it. A seal tells damage but not forgery: who can write a file can also seal it. So the numbers are
looked at before they are used, and nothing trips later.
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
_MOST_SHARE = 0.05  # of the time that may go into writing
_PACE = {"from_step", "from_share", "end"}
_STANDING = {"done", "pace", "slowdown", "retries", "seconds", "lowest", "scores"}
_HISTORY = ("history.iteration", "history.seconds", "history.bound")


class Saved(NamedTuple):
    """What a checkpoint holds."""

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
        """`check` says, with an error, what a run cannot go on from."""
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
        for torn in self.folder.glob(".step-*"):  # what a killed process was writing
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
                f"no checkpoint in {self.folder} can be used. {reasons[0]} Take another folder for "
                "this run, or resume=False to begin anew in this one."
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
        """Whether so much time has passed that writing costs little beside it."""
        return time.perf_counter() >= self._next

    def write(self, step: int, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Write the state after `step` steps and drop all but the last two."""
        started = time.perf_counter()
        full = header | {"format": _FORMAT, "fingerprint": self.fingerprint}
        path = self.folder / f"step-{step:010d}.checkpoint"
        container.write(path, full, arrays)
        # Those of a later step are left over from a run that this one replaces.
        others = sorted(self.folder.glob(_PATTERN))
        here = others.index(path)
        for old in others[: max(0, here - _KEPT + 1)] + others[here + 1 :]:
            old.unlink(missing_ok=True)
        now = time.perf_counter()
        self._next = now + (now - started) / _MOST_SHARE


def with_history(report: Reporter) -> dict[str, np.ndarray]:
    """What was reported so far, among a checkpoint's arrays."""
    return {f"history.{name}": column for name, column in report.history().items()}


def take_up_history(report: Reporter, saved: Saved) -> None:
    """Let the report go on where it stood."""
    names = (name for name in saved.arrays if name.startswith("history."))
    report.take_up({name.removeprefix("history."): saved.arrays[name] for name in names})


def flattened(prefix: str, tree: Any) -> dict[str, np.ndarray]:
    """The arrays of a tree by number."""
    leaves = jax.tree.leaves(tree)
    return {f"{prefix}.{i}": np.asarray(leaf) for i, leaf in enumerate(leaves)}


def unflattened(prefix: str, like: Any, arrays: dict[str, np.ndarray]) -> Any:
    """The tree again, given one of the same structure."""
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
