"""Registers all commands. Nothing is run here."""

from typing import Annotated, Any

import typer

from ..version import __version__
from . import demo, evaluate, export, fit, inspect, predict, report
from .running import Command, Commands, Group

app = typer.Typer(
    name="fewknots",
    cls=Commands,
    help="Gaussian process classification and regression with a few inducing points.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)


class _Reproduce(Group):
    """The paper's experiments. Their options are known only after a slow import: done when used."""

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **more: Any) -> Any:
        from . import reproduce

        experiments = typer.main.get_command(reproduce.app)
        return experiments.make_context(info_name, args, *rest, **more)


def _print_version(wanted: bool) -> bool:
    if wanted:
        typer.echo(f"fewknots {__version__}")
        raise typer.Exit
    return wanted


@app.callback()
def fewknots(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print version."),
    ] = False,
) -> None:
    """Gaussian process classification and regression with a few inducing points."""


for _command in (fit, predict, evaluate, report, inspect, export, demo):
    app.command(_command.__name__.rpartition(".")[2], cls=Command)(_command.command)

_reproduce = typer.Typer(cls=_Reproduce, help="Run one of the paper's experiments again.")


@_reproduce.callback(invoke_without_command=True)
def _experiments() -> None:
    """Run one of the paper's experiments again; without a name, list them."""


app.add_typer(_reproduce, name="reproduce")
