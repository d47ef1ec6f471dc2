"""A folder in which a long run is kept, so that nothing but the last few seconds can be lost.

Each checkpoint is one sealed file (container.py), written beside its name and moved there: it is
whole or it is not there. The last two are kept. When a run is taken up again the newest file is
used that is undamaged and belongs to the same run, which its *fingerprint* tells: the data's
digest and every setting that the result depends on.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ..exceptions import CheckpointError, CheckpointWarning, ModelFileError, warn
from ..files import container
from ..files.container import shown
from ..progress import Reporter
from .saved_form import Saved, check_common

_FORMAT = 1
_PATTERN = "step-*.checkpoint"
_KEPT = 2
_MOST_SHARE = 0.05  # of the time that may go into writing


class Checkpoints:
    """The checkpoints of one run in one folder."""

    def __init__(
        self,
        folder: str | os.PathLike[str],
        fingerprint: dict[str, Any],
        check: Callable[[Saved], None],
    ):
        """`check` says, with an error, what a run cannot go on from (saved_form.py)."""
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
