"""Arguments and options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

Model = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL", help="A model file that 'fewknots fit' wrote.", show_default=False
    ),
]
Sources = Annotated[
    list[str],
    typer.Argument(
        metavar="SOURCE",
        help="CSV, TSV, Parquet or Arrow files, a folder or a pattern of them, or - for standard "
        "input.",
        show_default=False,
    ),
]
SomeSources = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[SOURCE]",
        help="Labelled rows: files, a folder or a pattern, or - for standard input. Without any: "
        "the rows that were held out at the fit, read again from its files.",
        show_default=False,
    ),
]
AllRows = Annotated[
    bool, typer.Option("--all-rows", help="Score also the rows that the model learned from.")
]
Separator = Annotated[
    str | None,
    typer.Option(
        help="What separates the fields of a CSV: one character, or tab. By default recognised.",
        show_default=False,
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(
        help="The decimal mark, . or , (or point, comma). By default recognised.",
        show_default=False,
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        help="The encoding of a CSV, such as utf-8, utf-16, latin-1. By default recognised.",
        show_default=False,
    ),
]
Strict = Annotated[
    bool,
    typer.Option("--strict", help="Refuse files that have a row which cannot be scored."),
]
Json = Annotated[
    bool, typer.Option("--json", help="Print JSON on standard output, for other programs.")
]
Debug = Annotated[
    bool, typer.Option("--debug", help="Show where an error comes from (its traceback).")
]
