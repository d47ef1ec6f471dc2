"""The kind of each column: given by the user with --column, printed before training begins."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

from .running import say

if TYPE_CHECKING:
    from ..data.table_files import RawFiles
    from ..tables.recipe.profile import ColumnProfile
    from ..tables.survey import Survey

_MOST_SHOWN = 50
_MOST_NAMED = 5


def parse_kinds(given: Sequence[str]) -> dict[str, str]:
    """Parse the values of --column, each of the form NAME=KIND."""
    from ..tables.survey import KINDS

    chosen = {}
    for text in given:
        name, equals, kind = text.rpartition("=")
        if not equals or kind not in KINDS:
            raise typer.BadParameter(f"--column {text}: say NAME=KIND, with {', '.join(KINDS)}.")
        chosen[name] = kind
    return chosen


class ColumnReport:
    """Callback that receives the survey of the columns and prints it before training begins."""

    def __init__(self, printed: bool) -> None:
        self._printed = printed
        self._columns: Sequence[ColumnProfile] = ()
        self._dialects: Sequence[Any] = ()

    def __call__(self, files: "RawFiles", survey: "Survey") -> None:
        self._columns, self._dialects = survey.columns, files.dialects
        if self._printed:
            written = f"; {self._dialects[0]}" if len(self._dialects) == 1 else ""
            column_table(self._columns, written)
        else:
            left_out = [f"{c.name!r} {c.notes[0]}" for c in self._columns if c.is_unusable]
            if left_out:
                say(f"Note: columns left out: {'; '.join(left_out[:_MOST_NAMED])}.")

    def as_json(self) -> dict[str, Any]:
        """The same as a JSON document."""
        return {
            "columns": [column.as_json() for column in self._columns],
            "written": [asdict(dialect) for dialect in self._dialects],
        }


def column_table(columns: Sequence["ColumnProfile"], written: str) -> None:
    """Print the kind of each column; for very wide tables, columns with a note come first."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = list(columns)
    if len(shown) > _MOST_SHOWN:
        shown.sort(key=lambda column: (column.taken_as != "target", not column.notes))
        shown = shown[:_MOST_SHOWN]
    table = Table("column", "taken as", "holds", title=f"columns{written}", title_justify="left")
    table.add_column("gaps", justify="right")
    table.add_column("note")
    for column in shown:
        gaps = f"{column.gaps:,}" if column.gaps else ""
        cells = (column.name, column.taken_as, column.holds, gaps, "; ".join(column.notes))
        table.add_row(*map(Text, cells))  # Text: rich must not read user text as markup
    Console().print(table)
    if len(columns) > len(shown):
        typer.echo(f"And {len(columns) - len(shown):,} more columns; --json lists all.")
    typer.echo("A wrong guess? --column NAME=text (or =number, =date, =skip) corrects it.")
