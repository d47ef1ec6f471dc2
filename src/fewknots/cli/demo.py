"""`fewknots demo`: a first look, for which no file is needed."""

from pathlib import Path
from typing import Annotated

import typer

from .inputs import Debug, Json
from .output import print_json

Out = Annotated[Path, typer.Option("--out", "-o", help="The picture's file.")]
Inducing = Annotated[int, typer.Option(min=1, help="How many inducing points.")]


def command(
    out: Out = Path("banana.png"),
    inducing: Inducing = 16,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Fit the banana data, say how good it is, and draw what was learned.

    Example: fewknots demo --out banana.png
    """
    import sys

    from ..demo import run

    figures = run(out, inducing, verbose=sys.stderr.isatty())
    if as_json:
        print_json(figures._asdict() | {"picture": str(out)})
    else:
        typer.echo(figures.as_text(out))
