"""Ending a fit before it is done: by the clock (`max_time`), or by the user (Ctrl-C).

A fit that is ended early keeps what it has learned. So both can only be asked for here, and each
trainer looks between two pieces of work of about a second:

| who                      | is asked by                               | what a trainer does       |
|--------------------------|-------------------------------------------|---------------------------|
| the clock, `TimeLimit`   | `max_time`, from the call of `fit` on     | trains until `share` is 1 |
| the user, `Interruption` | Ctrl-C; for a command also SIGTERM        | ends at once              |

Before there is anything to keep, Ctrl-C is Python's own KeyboardInterrupt. A program of JAX's that
runs at that moment is waited for. One that is compiled is not: a fit leaves it behind, in a thread
(`unless_interrupted`), and a command, as there is nothing to keep, ends as it is (`cut_off`).
"""

import os
import shutil
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import NamedTuple


class StoppedEarly(Exception):  # noqa: N818  (a request, not an error)
    """Raised amid a search that is asked to stop: it ends at the best place known."""


class TimeLimit:
    """When a fit has to be over, and how much of its time for training is used.

    Compiling comes before training, the last scores come after it, and both are part of the fit.
    Rates fall as a function of the share of *training* that is over, so that share begins to grow
    after the first steps, most of which was compiling, and reaches 1 `reserve` seconds before the
    end.
    """

    def __init__(self, seconds: float, started: float | None = None):
        self.started = time.perf_counter() if started is None else started
        self.end = self.started + seconds
        self.reserve = 0.0  # seconds that the last scores will take
        self._training_began: float | None = None

    @property
    def seconds(self) -> float:
        """All the time there is."""
        return self.end - self.started

    def left(self) -> float:
        """Seconds until the end; 0 when it is over."""
        return max(0.0, self.end - time.perf_counter())

    def is_over(self) -> bool:
        """Whether the whole time is used."""
        return self.left() <= 0.0

    def begin_training(self) -> None:
        """The first steps are done, and what they needed is compiled."""
        if self._training_began is None:
            self._training_began = time.perf_counter()

    def take_up(self, seconds: float) -> None:
        """Count what a run that is taken up again had used before."""
        self.started -= seconds
        self.end -= seconds
        self._training_began = time.perf_counter() - seconds

    @property
    def training_seconds(self) -> float:
        """The time between the first steps and the last scores; 0 if there is none."""
        began = time.perf_counter() if self._training_began is None else self._training_began
        return max(0.0, self.end - self.reserve - began)

    def share(self) -> float:
        """How much of the time for training is over, between 0 and 1."""
        if self._training_began is None:
            return 0.0
        used = time.perf_counter() - self._training_began
        return min(1.0, used / self.training_seconds) if self.training_seconds > 0.0 else 1.0


class Interruption:
    """Ctrl-C during a fit, or during a command that fits.

    While there is nothing to keep it raises KeyboardInterrupt, as always. From then on the first
    one is remembered, and the fit ends with what it has. A second one raises.
    """

    def __init__(self) -> None:
        self.seen = False
        self.can_keep = False  # whether something was learned that can be kept
        self.keeps_nothing = False  # what is half done would be worth nothing to whoever fits
        self.held_back = False  # a program is running that must not be left in the middle
        self.waiting = False  # it came meanwhile
        self.listeners = 0  # one inside the other

    @property
    def nothing_to_keep(self) -> bool:
        """Whether an end at this moment loses nothing."""
        return self.keeps_nothing or not self.can_keep

    def interrupt(self) -> None:
        """The user asks for the end."""
        if self.held_back:
            self.waiting = True
            return
        if self.seen or self.nothing_to_keep:
            raise KeyboardInterrupt
        self.seen = True


_listening: Interruption | None = None
_in_command = False
_to_the_end = False


@contextmanager
def listening() -> Iterator[Interruption]:
    """Within the block Ctrl-C is remembered. A block inside another one shares what it hears.

    Only a main thread can listen, and only where nobody else does: what other programs do with
    Ctrl-C is theirs.
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
    """Within the block Ctrl-C waits, for the block is short or cannot be left in the middle.

    An exception in the midst of JAX's own code can leave it in a state in which the process crashes
    when it ends.
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
    """Whether Ctrl-C may leave a computation behind: in a fit, of a program that goes on."""
    in_main = threading.current_thread() is threading.main_thread()
    return in_main and _listening is not None and not _listening.held_back and not _in_command


def unless_interrupted(work: Callable[[], object]) -> None:
    """Do `work` in a thread of its own, and wait for it; Ctrl-C ends the waiting.

    Python calls a signal's handler between two of its own instructions. To compile a program is one
    of up to four seconds; to wait for a thread can be broken off. The thread then works to its end,
    and so does the process if it ends before: JAX does not survive the end of Python. Whatever goes
    wrong in `work` is not told: who needs it will do it again.
    """
    done = threading.Event()

    def run() -> None:
        try:
            with suppress(Exception):
                work()
        finally:
            done.set()

    threading.Thread(target=run).start()
    done.wait()


def interrupt(frame: FrameType | None) -> None:
    """What Ctrl-C would do, also in a process that was started to ignore it; for a handler."""
    handler = signal.getsignal(signal.SIGINT)
    if callable(handler):
        handler(signal.SIGINT, frame)
    elif _listening is not None:
        _listening.interrupt()
    else:
        raise KeyboardInterrupt


_PATIENCE = 1.0  # seconds of work for which a program may go on after Ctrl-C
_MOST_PATIENCE = 10.0  # seconds, also for one that works elsewhere
_unfinished: set[Path] = set()


@contextmanager
def removed_if_cut_off(path: Path) -> Iterator[Path]:
    """A file or folder for the length of the block, which the block itself has to remove."""
    _unfinished.add(path)
    try:
        yield path
    finally:
        _unfinished.discard(path)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder for the length of the block."""
    with (
        tempfile.TemporaryDirectory(prefix="fewknots-") as name,
        removed_if_cut_off(Path(name)) as folder,
    ):
        yield folder


@contextmanager
def cut_off(last_words: Callable[[int], int]) -> Iterator[None]:
    """Within the block a signal ends the process even while it compiles; for commands.

    Python calls a signal's handler between two of its own instructions, and compiling a program is
    one of them, of up to four seconds. But the signal's number is written to a file at once
    (signal.set_wakeup_fd), and a thread reads it here. It gives the program a second. If that is
    not over by then and there is nothing to keep, it ends the process. `last_words` is given the
    signal's number and returns the exit code.
    """
    global _in_command
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reader, writer = socket.socketpair()
    writer.setblocking(False)

    def watch() -> None:
        while number := reader.recv(1):  # nothing: the writer is closed
            if number[0] in (signal.SIGINT, signal.SIGTERM) and _is_stuck():
                for path in list(_unfinished):
                    if path.is_dir():
                        shutil.rmtree(path, ignore_errors=True)
                    else:
                        path.unlink(missing_ok=True)
                os._exit(last_words(number[0]))

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
    """Whether the main thread is in a program, with nothing to keep, and stays there."""
    worked, began = time.process_time(), time.monotonic()
    while time.process_time() - worked < _PATIENCE and time.monotonic() - began < _MOST_PATIENCE:
        now = _listening
        if now is None or not now.held_back or not now.nothing_to_keep:
            return False
        time.sleep(0.01)
    return True


class Stopping(NamedTuple):
    """Who may end one fit early."""

    limit: TimeLimit | None
    interruption: Interruption


def raise_if_interrupted() -> None:
    """`StoppedEarly` if the user has asked for the end; for loops that wait for a long sum."""
    in_main = threading.current_thread() is threading.main_thread()
    if in_main and not _to_the_end and _listening is not None and _listening.seen:
        raise StoppedEarly


@contextmanager
def to_the_end() -> Iterator[None]:
    """Within the block a sum that the end of a fit needs is finished all the same."""
    global _to_the_end
    before, _to_the_end = _to_the_end, True
    try:
        yield
    finally:
        _to_the_end = before
