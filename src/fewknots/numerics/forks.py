"""Detects a fork after JAX was started: such a child process raises an error instead of hanging.

`os.fork` copies only the thread that calls it. JAX computes in threads of its own, which it starts
before its first computation. A child that is forked after that sees JAX as running, gives it work,
and waits forever. JAX cannot be restarted there either: clearing its backends aborts the child,
because locks of the lost threads are still held.

A child that is forked before the first computation starts threads of its own and works. So loading
a model computes nothing, and every entry to JAX (precision.py) calls `note_computation` first.

This file imports nothing heavy: `import fewknots` imports it, to detect all forks from then on.
"""

import os
import sys

_started = False  # whether fewknots has computed in this process
_threads_lost = False  # whether JAX had been started when this process was forked


def note_computation() -> None:
    """To be called before JAX computes; raises `ForkError` in a process where it cannot."""
    global _started
    if _threads_lost:
        from ..exceptions import ForkError

        raise ForkError(
            "JAX cannot compute in this process: it was forked from a process in which JAX had "
            "computed already, for instance by a fit or a prediction, and JAX's threads do not "
            "survive a fork. Start worker processes by 'spawn' or 'forkserver', as in "
            "multiprocessing.get_context('spawn'), or fork before anything is computed: "
            "fewknots.load computes nothing, so a server may load its model, fork its workers and "
            "predict in them alone (gunicorn: no prediction before the fork, or no --preload)."
        )
    _started = True


def _note_fork() -> None:
    global _threads_lost
    # JAX has no public function that says whether it was started. Its private function takes a
    # lock, which in the child may be held by a lost thread; so we read the private variable. If a
    # version of JAX has no such variable, `_started` still covers our own computations.
    backends = getattr(sys.modules.get("jax._src.xla_bridge"), "_backends", None)
    _threads_lost = _threads_lost or _started or bool(backends)


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_note_fork)
