"""One line of text that is updated while a fit runs: on a terminal, or in a notebook cell.

In a notebook rich needs ipywidgets, and asks the user to install them. So there the line is plain
text, which IPython can update without them.
"""

import sys
import time
from typing import Any

_COMPILING = "compiling"
_BETWEEN_UPDATES = 0.2  # seconds; each update is a message to the browser


def new_line() -> "TerminalLine | NotebookLine":
    """A line for the place where this runs: terminal or notebook."""
    return NotebookLine() if _in_notebook() else TerminalLine()


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
    """Text in the output of a cell."""

    def start(self) -> None:
        """Show that the fit has started."""
        from IPython.display import display

        self._started = self._shown = time.monotonic()
        self._text = _COMPILING
        self._handle: Any = display(self._content(), raw=True, display_id=True)

    def show(self, state: str, share: float) -> None:
        """Show the state of the fit; `share` of it is done."""
        self._text = f"{min(share, 1.0):.0%}: {state}"
        if time.monotonic() - self._shown >= _BETWEEN_UPDATES:
            self._update()

    def stop(self) -> None:
        """Stop updating; the last text stays."""
        self._update()

    def _update(self) -> None:
        self._shown = time.monotonic()
        self._handle.update(self._content(), raw=True)

    def _content(self) -> dict[str, str]:
        return {"text/plain": f"{self._text}, {time.monotonic() - self._started:.0f} s"}
