"""Reports of a running fit: its history, the user's callbacks, a line on the terminal.

The reporter also tells the fit when to stop: because a callback asks for it, because the time is
over, or because of Ctrl-C (stopping.py).

The line is updated while the fit runs, on a terminal or in a notebook cell. In a notebook rich
needs ipywidgets, and asks the user to install them. So there the line is plain text and an HTML
element, which IPython can update without them.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import TracebackType
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from .markup import element
from .stopping import Interruption, StoppedEarly, TimeLimit

_COMPILING = "compiling"
_BETWEEN_UPDATES = 0.2  # seconds; each update is a message to the browser
Callback = Callable[["Progress"], object]


class Progress(NamedTuple):
    """The state of a fit at one moment, as a callback gets it.

    `model()` returns the estimator as if the fit had ended here: it predicts, scores and can be
    saved, so a callback can follow any measure on any rows. It works only inside the callback,
    costs nothing unless called, and its time counts as time of the fit. The four fields before it
    are None without minibatches.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewknots import GPClassifier
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> bounds = []
    >>> def keep(now):
    ...     bounds.append(now.bound)
    >>> clf = GPClassifier("rbf", warp=None, n_inducing=8, random_state=0, callback=keep).fit(X, y)
    >>> bounds[-1] > bounds[0]
    True
    """

    iteration: int
    seconds: float
    bound: float  # with minibatches an estimate: mean over the steps since the last report
    passes: float | None = None  # over all rows
    rows_per_second: float | None = None
    held_out_nlp: float | None = None
    seconds_left: float | None = None
    model: Callable[[], Any] | None = None


@runtime_checkable
class Report(Protocol):
    """How a trainer reports its progress and learns whether to stop; `Reporter` is one."""

    def __call__(
        self, bound: float, iterations: int = 1, *, so_far: Callable[[], Any] | None = None
    ) -> bool:
        """Report one or a few iterations; True means that the fit should stop."""
        ...

    def is_asked_to_stop(self) -> bool:
        """Whether the time is over or Ctrl-C came; for work that has nothing to report yet."""
        ...


class Reporter:
    """Called with the bound after one or a few iterations; returns True if the fit should stop."""

    def __init__(
        self,
        callback: Callback | None,
        verbose: int,
        max_iter: int,
        limit: TimeLimit | None = None,
        interruption: Interruption | None = None,
        task: Callable[[Progress], bool] | None = None,
        as_estimator: Callable[[Progress, Any], Any] | None = None,
    ):
        """`task` is a second callback, which serves scikit-learn's own callbacks.

        `as_estimator` makes an estimator from a `Progress` and the result of the fit so far.
        """
        self.callbacks = [c for c in (callback, task) if c is not None]
        self.moments: list[Progress] = []
        self.started = time.perf_counter()
        self.limit = limit
        self._interruption = Interruption() if interruption is None else interruption
        self._as_estimator = as_estimator
        self._max_iter = max_iter
        self._line = (NotebookLine() if _in_notebook() else TerminalLine()) if verbose else None

    def __call__(
        self,
        bound: float,
        iterations: int = 1,
        rows: int = 0,
        passes: float | None = None,
        held_out_nlp: float | None = None,
        share: float | None = None,
        so_far: Callable[[], Any] | None = None,
    ) -> bool:
        """`share` of the run is done; `rows` is the number of rows used since the last report.

        `so_far` returns the result of the fit so far, in the form that it has at the end.
        """
        seconds = self.seconds
        before = self.moments[-1] if self.moments else Progress(0, 0.0, bound)
        now = Progress(
            before.iteration + iterations,
            seconds,
            bound,
            passes,
            rows / max(seconds - before.seconds, 1e-9) if rows else None,
            held_out_nlp,
            self._seconds_left(seconds, share),
        )
        self.moments.append(now)
        if self._line is not None:
            self._line.show(*_as_text(now, self._max_iter))
        self._interruption.can_keep, self._interruption.can_abandon = True, False
        stop = self._call_callbacks(now, so_far)
        return any(stop) or self.is_asked_to_stop()

    def _seconds_left(self, seconds: float, share: float | None) -> float | None:
        if share is None:
            return None
        by_steps = seconds * (1.0 - share) / share if share else None
        if self.limit is None:
            return by_steps
        left = self.limit.left()
        return left if by_steps is None else min(left, by_steps)

    def is_asked_to_stop(self) -> bool:
        """Whether the time is over or Ctrl-C came; for work that has nothing to report yet.

        Before the first report this fit has no result to keep: then Ctrl-C raises KeyboardInterrupt
        (another fit may have a result, see fitting/contest.py), and the time limit is ignored.
        """
        if self.interrupted and not self.moments:
            raise KeyboardInterrupt
        late = self.limit is not None and self.limit.is_over() and bool(self.moments)
        return self.interrupted or late

    @contextmanager
    def unless_asked_to_stop(self) -> Iterator[None]:
        """Within the block a request to stop raises `StoppedEarly`, also while JAX compiles."""
        try:
            with self._interruption.abandonable(self.limit):
                yield
        except KeyboardInterrupt:
            if not self.is_asked_to_stop():
                raise
            raise StoppedEarly from None

    @property
    def seconds(self) -> float:
        """Time since the fit began; a resumed run includes the time of its earlier parts."""
        return time.perf_counter() - self.started

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C has asked the fit to end."""
        return self._interruption.seen

    def _call_callbacks(self, now: Progress, so_far: Callable[[], Any] | None) -> list[bool]:
        """Call all callbacks; for each, whether it asks to stop."""
        model = None
        if so_far is not None and self._as_estimator is not None:
            model = _ModelInCallback(so_far, partial(self._as_estimator, now))
            now = now._replace(model=model)
        try:
            return [callback(now) is True for callback in self.callbacks]
        finally:
            if model is not None:
                model.so_far = model.as_estimator = None

    def __enter__(self) -> "Reporter":
        if self._line is not None:
            self._line.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._line is not None:
            self._line.stop()

    def history(self) -> dict[str, np.ndarray]:
        """The whole run as columns: iteration, seconds, bound, and the held-out NLP if any."""
        columns = {
            "iteration": np.array([m.iteration for m in self.moments], np.int64),
            "seconds": np.array([m.seconds for m in self.moments], np.float64),
            "bound": np.array([m.bound for m in self.moments], np.float64),
        }
        if any(m.held_out_nlp is not None for m in self.moments):
            scores = [m.held_out_nlp for m in self.moments]
            columns["held_out_nlp"] = np.array(scores, np.float64)
        return columns

    def take_up(self, history: dict[str, np.ndarray]) -> None:
        """Resume a run: continue the history and the clock of its earlier part."""
        scores = history.get("held_out_nlp", np.full(len(history["bound"]), None))
        rows = zip(history["iteration"], history["seconds"], history["bound"], scores, strict=True)
        self.moments = [
            Progress(int(i), float(s), float(b), held_out_nlp=None if n is None else float(n))
            for i, s, b, n in rows
        ]
        if self.moments:
            self.started -= self.moments[-1].seconds
            if self.limit is not None:
                self.limit.take_up(self.moments[-1].seconds)


def note(text: str) -> None:
    """One line on standard error, which stays: for what a fit decides before it begins."""
    print(text, file=sys.stderr, flush=True)


def _as_text(now: Progress, max_iter: int) -> tuple[str, float]:
    """The state of the fit as text, and the share of the fit that is done."""
    parts = [f"iteration {now.iteration}", f"bound {now.bound:.3f}"]
    share = now.iteration / max_iter
    if now.seconds_left is not None:
        share = now.seconds / max(now.seconds + now.seconds_left, 1e-9)
        parts += [
            f"{now.passes:.2f} passes",
            f"{now.rows_per_second:,.0f} rows/s",
            f"{now.seconds_left:.0f} s left",
        ]
    if now.held_out_nlp is not None:
        parts.insert(2, f"held-out NLP {now.held_out_nlp:.4f}")
    return ", ".join(parts), share


class _ModelInCallback:
    """`Progress.model`: makes the estimator, but only until the callbacks have returned.

    Otherwise a callback that keeps every `Progress` would keep the matrices of every iteration.
    """

    def __init__(self, so_far: Callable[[], Any], as_estimator: Callable[[Any], Any]) -> None:
        self.so_far: Callable[[], Any] | None = so_far
        self.as_estimator: Callable[[Any], Any] | None = as_estimator

    def __call__(self) -> Any:
        if self.so_far is None or self.as_estimator is None:
            raise RuntimeError(
                "this moment of the fit is over: call `model()` inside the callback, and keep "
                "what it returns."
            )
        return self.as_estimator(self.so_far())


def _in_notebook() -> bool:
    """Whether this runs in a notebook kernel; IPython on a terminal counts as a terminal."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return hasattr(shell, "kernel")


class TerminalLine:
    """Text and a progress bar on standard error."""

    def __init__(self) -> None:
        from rich.console import Console  # imported here because only a verbose fit needs it
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self._bar = Progress(
            BarColumn(bar_width=10),
            TextColumn("{task.fields[state]}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
        )

    def start(self) -> None:
        """Show that the fit has started."""
        self._bar.start()
        self._task = self._bar.add_task("fitting", total=1.0, state=_COMPILING)

    def show(self, state: str, share: float) -> None:
        """Show the state of the fit; `share` of it is done."""
        self._bar.update(self._task, completed=share, state=state)

    def stop(self) -> None:
        """Stop updating; the last text stays."""
        self._bar.stop()


class NotebookLine:
    """Text and a progress bar in the output of a cell; where there is no HTML, the text alone."""

    def __init__(self) -> None:
        self._text = _COMPILING
        self._share: float | None = None  # None: not known yet

    def start(self) -> None:
        """Show that the fit has started."""
        from IPython.display import display

        self._started = self._shown = time.monotonic()
        self._handle: Any = display(self._content(), raw=True, display_id=True)

    def show(self, state: str, share: float) -> None:
        """Show the state of the fit; `share` of it is done."""
        self._share = min(share, 1.0)
        self._text = f"{self._share:.0%}: {state}"
        if time.monotonic() - self._shown >= _BETWEEN_UPDATES:
            self._update()

    def stop(self) -> None:
        """Stop updating; the last text stays."""
        self._update()

    def _update(self) -> None:
        self._shown = time.monotonic()
        self._handle.update(self._content(), raw=True)

    def _content(self) -> dict[str, str]:
        text = f"{self._text}, {time.monotonic() - self._started:.0f} s"
        done = None if self._share is None else f"{self._share:.3f}"
        bar = element("progress", value=done, max=1)
        return {"text/plain": text, "text/html": element("div", bar, " ", text)}
