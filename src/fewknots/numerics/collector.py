"""Python's search for unreachable cycles, held back while much is made that stays.

Each time enough new objects exist, Python searches them, and now and then all objects of the
process, for cycles that nothing refers to any more. An import and JAX's tracing make a million
objects, hardly one of which is such a cycle: the search is a fifth of the import's time, and finds
next to nothing. Memory that is not part of a cycle is freed at once all the same.

This file imports nothing heavy: it is there before the imports.
"""

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_blocks = 0  # how many are running, in all threads; the switch is one for the process


@contextmanager
def collector_held() -> Iterator[None]:
    """Within the block no such search begins; unless the user had switched it off, it then may."""
    global _blocks
    with _lock:
        held = _blocks > 0 or gc.isenabled()  # switched off by the user: not ours to switch on
        _blocks += held
        if held:
            gc.disable()
    try:
        yield
    finally:
        with _lock:
            _blocks = max(_blocks - held, 0)
            if held and _blocks == 0:
                _count_as_old()
                gc.enable()


def _forget_other_threads() -> None:
    """In a forked child only one thread is left, and blocks of the others never end."""
    global _lock, _blocks
    _lock = threading.Lock()
    if _blocks > 0:
        _blocks = 0
        gc.enable()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_forget_other_threads)


def _count_as_old() -> None:
    """Puts all objects among the oldest, where the next searches do not look first."""
    if gc.get_freeze_count() == 0:  # else the user has set objects aside, and would get them back
        gc.freeze()
        gc.unfreeze()
