"""`fewknots demo`: a first try that needs no file."""

from pathlib import Path
from typing import Annotated

import typer

from .inputs import Debug, Json
from .output import print_json

Out = Annotated[Path, typer.Option("--out", "-o", help="The file for the picture.")]
Inducing = Annotated[int, typer.Option(min=1, help="The number of inducing points.")]


def command(
    out: Out = Path("banana.png"),
    inducing: Inducing = 16,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Fit the banana data, print the scores, and draw the fitted model.

    Example: fewknots demo --out banana.png
    """
    import sys

    from ..demo import run

    figures = run(out, inducing, verbose=sys.stderr.isatty())
    if as_json:
        print_json(figures._asdict() | {"picture": str(out)})
    else:
        typer.echo(figures.as_text(out))
