"""All commands in one place."""

from typing import Annotated

import typer

from .. import __version__
from . import reproduce

app = typer.Typer(
    name="fewknots",
    help="Gaussian process classification held by a few inducing points.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(reproduce.app, name="reproduce")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fewknots {__version__}")
        raise typer.Exit


@app.callback()
def fewknots(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Say which it is."),
    ] = False,
) -> None:
    """Gaussian process classification held by a few inducing points."""
