"""Stopping a fit early: by a time limit (`max_time`), or by the user (Ctrl-C).

A fit that is stopped early keeps what it has learned. So a stop is only requested here, and each
trainer checks for requests between two pieces of work of about a second:

| request                  | comes from                                | what a trainer does       |
|--------------------------|-------------------------------------------|---------------------------|
| the clock, `TimeLimit`   | `max_time`, from the call of `fit` on     | trains until `share` is 1 |
| the user, `Interruption` | Ctrl-C; for a command also SIGTERM        | stops at once             |

Before there is a result to keep, Ctrl-C raises KeyboardInterrupt as usual. If a JAX program is
running at that moment, we wait for its end. If one is being compiled, we do not: a fit lets the
compilation go on in a thread (`unless_interrupted`), a command ends its process (`forced_exit`).
"""

import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType


class StoppedEarly(Exception):  # noqa: N818  (a request, not an error)
    """Raised inside an optimiser that is asked to stop: it returns the best point so far."""


class TimeLimit:
    """When a fit has to end, and which share of its training time is used.

    The limit includes compiling, before training, and the last scores, after it. Learning rates are
    a function of the share of *training* time that is used. So the share starts to grow after the
    first steps, which mostly compile, and reaches 1 `reserve` seconds before the end.
    """

    def __init__(self, seconds: float, started: float | None = None):
        self.started = time.perf_counter() if started is None else started
        self.end = self.started + seconds
        self.reserve = 0.0  # seconds that the last scores will take
        self._training_began: float | None = None

    @property
    def seconds(self) -> float:
        """Length of the time limit."""
        return self.end - self.started

    def left(self) -> float:
        """Seconds until the end; 0 when it is over."""
        return max(0.0, self.end - time.perf_counter())

    def is_over(self) -> bool:
        """Whether the whole time is used."""
        return self.left() <= 0.0

    def begin_training(self) -> None:
        """To be called after the first steps, when everything is compiled."""
        if self._training_began is None:
            self._training_began = time.perf_counter()

    def take_up(self, seconds: float) -> None:
        """For a resumed run: count the seconds that its earlier parts have used."""
        self.started -= seconds
        self.end -= seconds
        self._training_began = time.perf_counter() - seconds

    @property
    def training_seconds(self) -> float:
        """The time between the first steps and the last scores; 0 if there is none."""
        began = time.perf_counter() if self._training_began is None else self._training_began
        return max(0.0, self.end - self.reserve - began)

    def share(self) -> float:
        """Share of the training time that is used, between 0 and 1."""
        if self._training_began is None:
            return 0.0
        used = time.perf_counter() - self._training_began
        return min(1.0, used / self.training_seconds) if self.training_seconds > 0.0 else 1.0


class Interruption:
    """Ctrl-C during a fit, or during a command that fits.

    While there is no result to keep, Ctrl-C raises KeyboardInterrupt as usual. After that the first
    Ctrl-C is recorded in `seen`, and the fit ends with its result so far. A second one raises, and
    so does the first one in a fit that can be abandoned for the result of another.
    """

    def __init__(self) -> None:
        self.seen = False
        self.can_keep = False  # whether there is a result to keep
        self.keeps_nothing = False  # whether the caller has no use for an unfinished result
        self.can_abandon = False  # whether there is another result than that of the work at hand
        self._limit: TimeLimit | None = None  # at whose end that work is abandoned
        self.held_back = False  # whether code is running that must not be interrupted
        self.waiting = False  # whether Ctrl-C came while it was held back
        self.listeners = 0  # number of nested `listening` blocks

    @property
    def nothing_to_keep(self) -> bool:
        """Whether stopping now would lose no result."""
        return self.keeps_nothing or not self.can_keep

    @contextmanager
    def abandonable(self, limit: TimeLimit | None) -> Iterator[None]:
        """Within the block, and until a report, there is a result that does not need this work.

        So Ctrl-C raises KeyboardInterrupt, although there is a result to keep; and a compilation is
        abandoned, with the same exception, when the time is over.
        """
        self.can_abandon, self._limit = True, limit
        try:
            yield
        finally:
            self.can_abandon, self._limit = False, None

    def seconds_until_abandoned(self) -> float | None:
        """How long to wait for the work at hand; None: to its end."""
        if not self.can_abandon or self._limit is None:
            return None
        return self._limit.left()

    def interrupt(self) -> None:
        """Handle Ctrl-C."""
        if self.held_back:
            self.waiting = True
            return
        if self.seen or self.nothing_to_keep:
            raise KeyboardInterrupt
        self.seen = True
        if self.can_abandon:
            raise KeyboardInterrupt


_listening: Interruption | None = None
_in_command = False
_to_the_end = False


@contextmanager
def listening() -> Iterator[Interruption]:
    """Within the block Ctrl-C is recorded. Nested blocks share one `Interruption`.

    This works only in the main thread, and only if SIGINT still has Python's default handler: a
    handler installed by another program stays.
    """
    global _listening
    if threading.current_thread() is not threading.main_thread():
        yield Interruption()
        return
    outermost, interruption = _listening is None, _listening or Interruption()
    before = signal.getsignal(signal.SIGINT)
    replaces = outermost and before is signal.default_int_handler
    _listening = interruption
    interruption.listeners += 1
    if replaces:
        signal.signal(signal.SIGINT, lambda number, frame: interruption.interrupt())
    try:
        yield interruption
    finally:
        if replaces:
            signal.signal(signal.SIGINT, before)
        interruption.listeners -= 1
        if outermost:
            _listening = None


@contextmanager
def holding_back() -> Iterator[None]:
    """Within the block Ctrl-C is delayed until its end.

    An exception inside JAX's own code can leave JAX in a state in which the process crashes at its
    end.
    """
    in_main = threading.current_thread() is threading.main_thread()
    interruption = _listening if in_main else None
    if interruption is None or interruption.held_back:
        yield
        return
    interruption.held_back = True
    try:
        yield
    finally:
        interruption.held_back = False
        if interruption.waiting:
            interruption.waiting = False
            interruption.interrupt()


def leaves_behind() -> bool:
    """Whether a compilation may be abandoned: the process goes on without it.

    So it does in a fit from Python, and in a command that has the result of another fit to write.
    """
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or _listening is None or _listening.held_back:
        return False
    return _listening.can_abandon or not _in_command


def unless_interrupted(work: Callable[[], object]) -> None:
    """Do `work` in a thread of its own, and wait for it; Ctrl-C or the clock ends the waiting.

    Python calls a signal handler only between two of its own instructions. Compiling a program is
    one instruction of up to four seconds, but waiting for a thread can be interrupted. The thread
    then works to its end, and the process does not exit before it: JAX crashes if Python is shut
    down meanwhile (a command does not wait: `exit_at_once`). Errors in `work` are ignored: the
    caller does the same work again and sees them.
    """
    done = threading.Event()
    _at_work.add(done)

    def run() -> None:
        try:
            with suppress(Exception):
                work()
        finally:
            _at_work.discard(done)
            done.set()

    threading.Thread(target=run).start()
    seconds = None if _listening is None else _listening.seconds_until_abandoned()
    if not done.wait(seconds):
        raise KeyboardInterrupt


_at_work: set[threading.Event] = set()


def exit_at_once(code: int) -> None:
    """At the end of a command: end the process if a compilation that was abandoned goes on."""
    if _at_work:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)


def interrupt(frame: FrameType | None) -> None:
    """For a signal handler: act as on Ctrl-C, also in a process that was started to ignore it."""
    handler = signal.getsignal(signal.SIGINT)
    if callable(handler):
        handler(signal.SIGINT, frame)
    elif _listening is not None:
        _listening.interrupt()
    else:
        raise KeyboardInterrupt


_MOST_CPU_SECONDS = 1.0  # CPU time that a program may use after Ctrl-C
_MOST_SECONDS = 10.0  # wall time, for a program that works on another device
_unfinished: set[Path] = set()


@contextmanager
def removed_on_forced_exit(path: Path) -> Iterator[Path]:
    """Within the block a forced exit deletes `path`; otherwise the block itself deletes it."""
    _unfinished.add(path)
    try:
        yield path
    finally:
        _unfinished.discard(path)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A temporary folder that is deleted at the end of the block, also by a forced exit."""
    with (
        tempfile.TemporaryDirectory(prefix="fewknots-") as name,
        removed_on_forced_exit(Path(name)) as folder,
    ):
        yield folder


@contextmanager
def forced_exit(on_exit: Callable[[int], int]) -> Iterator[None]:
    """Within the block a signal ends the process even while it compiles; for commands.

    Python delays signal handlers while a program is compiled (see `unless_interrupted`). But the
    signal's number is written to a socket at once (signal.set_wakeup_fd), and a thread reads it
    here. It gives the program a second. If the program still runs then and there is no result to
    keep, the thread ends the process. `on_exit` gets the signal's number and returns the exit code.
    """
    global _in_command
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reader, writer = socket.socketpair()
    writer.setblocking(False)

    def watch() -> None:
        while number := reader.recv(1):  # empty when the writer is closed
            if number[0] in (signal.SIGINT, signal.SIGTERM) and _is_stuck():
                for path in list(_unfinished):
                    if path.is_dir():
                        shutil.rmtree(path, ignore_errors=True)
                    else:
                        path.unlink(missing_ok=True)
                os._exit(on_exit(number[0]))

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    _in_command = True
    before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        _in_command = False
        writer.close()
        watching.join()
        reader.close()


def _is_stuck() -> bool:
    """Whether the main thread stays inside a program while there is no result to keep."""
    cpu, wall = time.process_time(), time.monotonic()
    while time.process_time() - cpu < _MOST_CPU_SECONDS and time.monotonic() - wall < _MOST_SECONDS:
        now = _listening
        if now is None or not now.held_back or not now.nothing_to_keep:
            return False
        time.sleep(0.01)
    return True


def raise_if_interrupted() -> None:
    """Raise `StoppedEarly` after Ctrl-C; for loops that wait for a long sum over rows."""
    in_main = threading.current_thread() is threading.main_thread()
    if in_main and not _to_the_end and _listening is not None and _listening.seen:
        raise StoppedEarly


@contextmanager
def to_the_end() -> Iterator[None]:
    """Within the block Ctrl-C does not stop sums over rows: the end of a fit needs them."""
    global _to_the_end
    before, _to_the_end = _to_the_end, True
    try:
        yield
    finally:
        _to_the_end = before
