"""Keeps a process of the test suite small: what JAX keeps is dropped when it has become much.

JAX keeps every program that it has compiled, and every test adds some: gigabytes in the end, of
which next to nothing is used again. A program that is needed after all is not compiled but read
again, from the folder of compiled programs (conftest.py).

Four fifths of what a small program holds is not the program but the text that it was compiled
from (an MLIR module with a context of its own, above a megabyte). Texts are therefore dropped
first: the programs run on without them.
"""

import ctypes
import gc
import os
import sys
from pathlib import Path

import jax
from jax._src import pjit
from jax._src.interpreters import pxla

MB = 2**20
_LEAST = 2400 * MB  # for all pytest's workers together; each has 600 of modules, not programs
_PART_OF_FREE = 0.4  # of what the machine has free when the tests begin, if that is more
_MOST_EACH = 4000 * MB
_LEAST_GROWTH = 200 * MB  # since the last time: what else is held cannot be dropped


def share() -> int:
    """The most that this process may hold: its part among pytest's workers, but room for work."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    most = max(_LEAST, int(_PART_OF_FREE * free()))
    return min(max(most // workers, 900 * MB), _MOST_EACH)


class ProgramStore:
    """The programs of this process."""

    def __init__(self, most: int | None = None) -> None:
        self._most = self._limit = share() if most is None else most

    def drop_if_many(self) -> None:
        """If the process has grown beyond its limit: forget all texts, then all programs."""
        if resident() <= self._limit:
            return
        drop_texts()
        if resident() + _LEAST_GROWTH // 2 <= self._limit:
            return
        jax.clear_caches()
        gc.collect()
        give_back()
        self._limit = max(self._most, resident() + _LEAST_GROWTH)


def drop_texts() -> None:
    """Forget what programs were compiled from. JAX has no public call for these caches alone."""
    pjit._pjit_lower.cache_clear()
    pxla._cached_lowering_to_hlo.cache_clear()
    give_back()


def resident() -> int:
    """Bytes of memory that this process holds; 0 where that cannot be known."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def free() -> int:
    """Bytes of memory that the machine has free; 0 where that cannot be known."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return 0
    found = [int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
    return found[0] * 1024 if found else 0


def give_back() -> None:
    """Return what is free to the machine: by itself the C library keeps it, a gigabyte or more."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
