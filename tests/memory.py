"""Keeps a process of the test suite small: compiled programs are dropped when they are many.

JAX keeps every program that it has compiled, and every test adds some: gigabytes in the end, of
which next to nothing is used again. A program that is needed after all is not compiled but read
again, from the folder of compiled programs (conftest.py).
"""

import ctypes
import gc
import os
import sys
from pathlib import Path

import jax

MB = 2**20
_MOST = 900 * MB  # of which 600 are modules, not programs
_LEAST_GROWTH = 200 * MB  # since the last time: what else is held cannot be dropped


class ProgramStore:
    """The programs of this process."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = self._limit = most

    def drop_if_many(self) -> None:
        """Forget all programs if the process has grown beyond its limit."""
        if resident() <= self._limit:
            return
        jax.clear_caches()
        gc.collect()
        give_back()
        self._limit = max(self._most, resident() + _LEAST_GROWTH)


def resident() -> int:
    """Bytes of memory that this process holds; 0 where that cannot be known."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def give_back() -> None:
    """Return what is free to the machine: by itself the C library keeps it, a gigabyte or more."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
