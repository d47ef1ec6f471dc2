"""What a running fit tells: its history, the user's callback, a line on the terminal."""

import time
from collections.abc import Callable
from types import TracebackType
from typing import NamedTuple

import numpy as np


class Progress(NamedTuple):
    """One moment of a fit, as a callback sees it."""

    iteration: int
    seconds: float
    bound: float


Callback = Callable[[Progress], object]


class Reporter:
    """Called with the bound after every iteration or few; returns True when the fit should stop."""

    def __init__(self, callback: Callback | None, verbose: int, max_iter: int):
        self.callback = callback
        self.moments: list[Progress] = []
        self.started = time.perf_counter()
        self._display = _terminal_display() if verbose else None
        self._max_iter = max_iter

    def __call__(self, bound: float, iterations: int = 1) -> bool:
        seconds = time.perf_counter() - self.started
        before = self.moments[-1].iteration if self.moments else 0
        now = Progress(before + iterations, seconds, bound)
        self.moments.append(now)
        if self._display is not None:
            self._display.update(
                self._task, completed=now.iteration, bound=f"{bound:.3f}", total=self._max_iter
            )
        return self.callback is not None and self.callback(now) is True

    def __enter__(self) -> "Reporter":
        if self._display is not None:
            self._display.start()
            self._task = self._display.add_task("fitting", total=self._max_iter, bound="compiling")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._display is not None:
            self._display.stop()

    def history(self) -> dict[str, np.ndarray]:
        """The whole run as columns: iteration, seconds, bound."""
        columns = zip(*self.moments, strict=True) if self.moments else ((), (), ())
        iteration, seconds, bound = (np.array(column) for column in columns)
        return {
            "iteration": iteration.astype(np.int64),
            "seconds": seconds.astype(np.float64),
            "bound": bound.astype(np.float64),
        }


def _terminal_display():
    from rich.console import Console  # here: only a verbose fit needs it
    from rich.progress import Progress as Bar
    from rich.progress import TextColumn, TimeElapsedColumn

    return Bar(
        TextColumn("fewknots"),
        TextColumn("iteration {task.completed:.0f} of at most {task.total:.0f}"),
        TextColumn("bound {task.fields[bound]}"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
    )
