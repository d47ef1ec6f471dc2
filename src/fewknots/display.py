"""One line that says how a fit goes: on a terminal, or in the output of a notebook's cell.

In a notebook rich draws with ipywidgets, and without them asks the user to install them. There the
line is plain text that IPython itself replaces, which needs nothing.
"""

import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .progress import Progress

_COMPILING = "compiling"
_BETWEEN_UPDATES = 0.2  # seconds: each is a message to the browser


class Display:
    """Where a fit shows its progress, whichever of the two it is."""

    def __init__(self, max_iter: int) -> None:
        self._max_iter = max_iter
        self._line: _NotebookLine | _TerminalLine
        self._line = _NotebookLine() if _in_notebook() else _TerminalLine()

    def start(self) -> None:
        """Show that the fit has begun."""
        self._line.start()

    def show(self, now: "Progress") -> None:
        """Show this moment of it."""
        parts = [f"iteration {now.iteration}", f"bound {now.bound:.3f}"]
        share = now.iteration / self._max_iter
        if now.seconds_left is not None:
            share = now.seconds / max(now.seconds + now.seconds_left, 1e-9)
            parts += [
                f"{now.passes:.2f} passes",
                f"{now.rows_per_second:,.0f} rows/s",
                f"{now.seconds_left:.0f} s left",
            ]
        if now.held_out_nlp is not None:
            parts.insert(2, f"held-out NLP {now.held_out_nlp:.4f}")
        self._line.show(", ".join(parts), share)

    def stop(self) -> None:
        """Leave the last moment standing."""
        self._line.stop()


def _in_notebook() -> bool:
    """Whether this runs in a kernel, such as Jupyter's; IPython on a terminal is a terminal."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return hasattr(shell, "kernel")


class _TerminalLine:
    def __init__(self) -> None:
        from rich.console import Console  # here: only a verbose fit needs it
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self._bar = Progress(
            BarColumn(bar_width=10),
            TextColumn("{task.fields[state]}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
        )

    def start(self) -> None:
        self._bar.start()
        self._task = self._bar.add_task("fitting", total=1.0, state=_COMPILING)

    def show(self, state: str, share: float) -> None:
        self._bar.update(self._task, completed=share, state=state)

    def stop(self) -> None:
        self._bar.stop()


class _NotebookLine:
    def start(self) -> None:
        from IPython.display import display

        self._started = self._shown = time.monotonic()
        self._text = _COMPILING
        self._handle: Any = display(self._content(), raw=True, display_id=True)

    def show(self, state: str, share: float) -> None:
        self._text = f"{min(share, 1.0):.0%}: {state}"
        if time.monotonic() - self._shown >= _BETWEEN_UPDATES:
            self._update()

    def stop(self) -> None:
        self._update()

    def _update(self) -> None:
        self._shown = time.monotonic()
        self._handle.update(self._content(), raw=True)

    def _content(self) -> dict[str, str]:
        return {"text/plain": f"{self._text}, {time.monotonic() - self._started:.0f} s"}
