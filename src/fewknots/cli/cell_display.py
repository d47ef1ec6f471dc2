"""Progress of a run of many cells on the terminal: cells done, current cell, time left."""

from datetime import timedelta
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ..paper.runner import RunProgress


class CellDisplay:
    """Shows a run: on a terminal one line that is updated, in a log one line per cell."""

    def __init__(self, name: str) -> None:
        self.done = self.total = 0
        self._seconds: list[float] = []  # per cell run here; cells of an earlier run took no time
        self._console = Console(stderr=True)
        self._bar = Progress(
            TextColumn(name),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TextColumn("{task.fields[state]}"),
            TimeElapsedColumn(),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task(name, total=None, state="looking at the data")

    def __call__(self, now: RunProgress) -> None:
        self.done, self.total = now.done, now.total
        if now.result is None:
            state = f"{now.cell.key}{self._left()}"
        elif now.kept:
            state = f"{now.cell.key} kept"
        else:
            self._seconds.append(now.result.seconds)
            outcome = f"failed: {now.result.failed}" if now.result.failed else "done"
            state = f"{now.cell.key} {outcome} in {now.result.seconds:.1f} s"
            if now.result.failed:
                self._console.print(state, markup=False, highlight=False)
            elif not self._console.is_terminal:
                line = f"{now.done}/{now.total} {state}{self._left()}"
                self._console.print(line, markup=False, highlight=False)
        self._bar.update(self._task, completed=now.done, total=now.total, state=state)

    def _left(self) -> str:
        """Time left: mean time of the cells run so far, times the number of remaining cells."""
        if not self._seconds:
            return ""
        seconds = sum(self._seconds) / len(self._seconds) * (self.total - self.done)
        return f", about {timedelta(seconds=round(seconds))} left"

    def __enter__(self) -> "CellDisplay":
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._bar.stop()
