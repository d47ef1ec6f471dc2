"""JAX's threads do not survive a fork: a child process that needs them is told so at once.

`os.fork` copies the thread that calls it and no other. JAX computes in threads of its own, which it
starts before its first computation. A child that is forked after that finds JAX as if it were
running, hands it work, and waits forever. Nor can JAX be started again there: to clear its backends
aborts the child, because locks of the lost threads are still held.

A child that is forked before the first computation starts threads of its own, and all is well. So
loading a model computes nothing, and every entry to JAX (precision.py) asks here first.

Nothing heavy is imported: `import fewknots` imports this file, to notice every fork from then on.
"""

import os
import sys

_started = False  # whether fewknots has computed in this process
_threads_lost = False  # whether JAX had been started when this process was forked


def note_computation() -> None:
    """To be called before JAX computes; in a process where it cannot, a `ForkError`."""
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
    # JAX has no public way to ask whether it was started. Its own function for it takes a lock,
    # which in the child may be held by a thread that is no more. Should the name go, we still know
    # whether we started it.
    backends = getattr(sys.modules.get("jax._src.xla_bridge"), "_backends", None)
    _threads_lost = _threads_lost or _started or bool(backends)


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_note_fork)
