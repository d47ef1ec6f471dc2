"""`fewknots reproduce NAME`: one command for each of the paper's experiments, and its progress."""

import importlib.util
import inspect
from collections.abc import Callable
from datetime import timedelta
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from ..datasets import available
from ..exceptions import DatasetError
from ..extras import missing
from ..paper import EXPERIMENTS
from ..paper.experiment import Choice, Experiment, Options, RunProgress
from ..paper.folder import default_folder, reproduce
from .running import Command, Group, exit_code_of_interruption

app = typer.Typer(cls=Group, help="Run one of the paper's experiments again.", add_completion=False)


Quick = Annotated[bool, typer.Option("--quick", help="A reduced version, below two minutes.")]
Out = Annotated[
    Path | None,
    typer.Option("--out", help="The folder for the results, by default below reproduced/."),
]
Data = Annotated[
    Path | None,
    typer.Option("--data", help="A folder with data files; overrides FEWKNOTS_DATA."),
]


@app.callback(invoke_without_command=True)
def list_experiments(
    context: typer.Context,
    listed: Annotated[
        bool,
        typer.Option(
            "--list", help="List the experiments, the data they need and how long they take."
        ),
    ] = False,
    data: Data = None,
) -> None:
    """Run one of the paper's experiments again; without a name, list them."""
    if context.invoked_subcommand is not None and not listed:
        if data is not None:
            raise typer.BadParameter("give --data after the experiment's name.")
        return
    table = Table("command", "what the paper shows", "data", "minutes on two cores")
    for experiment in EXPERIMENTS.values():
        needed = [
            name if available(name, data) else f"{name} (not on this machine)"
            for name in experiment.needs
        ]
        table.add_row(
            f"reproduce {experiment.name}",
            experiment.shows,
            ", ".join(needed),
            f"{experiment.minutes:g}",
        )
    Console().print(table)
    raise typer.Exit


def _run(experiment: Experiment, quick: bool, out: Path | None, data: Path | None, **extras: Enum):
    if importlib.util.find_spec("matplotlib") is None:
        _fail(missing("The experiments draw with matplotlib", "paper"))
    options = Options(quick, data, {name: value.value for name, value in extras.items()})
    folder = out or default_folder(experiment, options)
    display = CellDisplay(experiment.name)
    try:
        with display:
            results = reproduce(experiment, options, folder, display)
    except DatasetError as error:
        _fail(str(error))
    except KeyboardInterrupt:
        typer.echo(
            f"\nStopped. {display.done} of {display.total or 'all'} cells are kept in {folder}; "
            "run the same command to continue.",
            err=True,
        )
        raise typer.Exit(exit_code_of_interruption()) from None
    typer.echo(f"{folder / 'README.md'}")
    failed = [key for key, result in results.items() if result.failed is not None]
    if failed:
        _fail(
            f"{len(failed)} of {len(results)} cells failed ({', '.join(failed[:3])}"
            f"{', ...' if len(failed) > 3 else ''}); the README says why, and the same command "
            "runs them again."
        )


def _fail(message: str) -> None:
    typer.echo(message, err=True)
    raise typer.Exit(1)


def _command(experiment: Experiment) -> Callable[..., None]:
    """A function whose signature lists the experiment's options: typer reads the signature."""

    def run(**arguments: Any) -> None:
        _run(experiment, **arguments)

    given = inspect.Parameter.KEYWORD_ONLY
    common = [
        inspect.Parameter("quick", given, default=False, annotation=Quick),
        inspect.Parameter("out", given, default=None, annotation=Out),
        inspect.Parameter("data", given, default=None, annotation=Data),
    ]
    own = [_parameter(choice) for choice in experiment.choices]
    run.__signature__ = inspect.Signature(common + own)  # type: ignore[attr-defined]
    run.__doc__ = f"{experiment.title}\n\nThe paper: {experiment.shows}"
    return run


def _parameter(choice: Choice) -> inspect.Parameter:
    values: Any = Enum(choice.name, {value: value for value in choice.values})  # type: ignore[misc]
    option = typer.Option(f"--{choice.name}", help=choice.help)
    return inspect.Parameter(
        choice.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=values(choice.values[0]),
        annotation=Annotated[values, option],
    )


for _experiment in EXPERIMENTS.values():
    app.command(_experiment.name, cls=Command)(_command(_experiment))


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
