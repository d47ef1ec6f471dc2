"""Output of commands: tables of scores and columns for people, JSON for programs, progress."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from .running import say

if TYPE_CHECKING:
    from ..data.table_files import RawFiles
    from ..tables.reading import Survey
    from ..tables.recipe.profile import ColumnProfile

_FEW_ROWS = 20  # a bootstrap interval from fewer rows is too narrow to be trusted
SCORES = {
    "nlp": "NLP (nats a row)",
    "brier": "Brier score",
    "error": "error",
    "auc": "AUC",
    "ece": "calibration error",
    "rmse": "RMSE",
    "mae": "MAE",
    "r2": "R²",
    "coverage": "in 95 % intervals",
}
_MOST_SHOWN = 50
_MOST_NAMED = 5


def print_json(document: Any) -> None:
    """Print one JSON document on standard output."""
    typer.echo(json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False, default=str))


def score_table(
    scores: dict[str, dict[str, float | None]],
    title: str,
    intervals: dict[str, tuple[float, float] | None] | None = None,
) -> None:
    """Print a table of scores: one line per score, one column per model."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    table.add_column("")
    for number, name in enumerate(scores):
        table.add_column(name, justify="right")
        if number == 0 and intervals is not None:
            table.add_column("95 % interval", justify="right")
    of_model = next(iter(scores.values()))
    for key, meaning in SCORES.items():
        if key not in of_model:  # many classes have no AUC, numbers have others
            continue
        cells = [_format_score(of_one.get(key)) for of_one in scores.values()]
        if intervals is not None:
            cells.insert(1, " to ".join(map(_format_score, intervals[key] or (None,))))
        table.add_row(meaning, *cells)
    Console().print(table)


def verdict(gain: dict[str, Any], n_rows: int) -> str:
    """One sentence: whether the Gaussian process is better than the linear model, and how certain
    that is.

    gain : NLP of the linear model minus NLP of the Gaussian process, with a 95 % interval.
    """
    linear = gain.get("over", "logistic regression")  # older files do not have it
    nlp, (low, high) = gain["nlp"], gain["interval"]
    sentence = (
        f"The Gaussian process's NLP is {abs(nlp):.4f} nats a row "
        f"{'better' if nlp > 0 else 'worse'} than {linear}'s "
        f"(95 % interval of the gain: {low:.4f} to {high:.4f})"
    )
    if n_rows < _FEW_ROWS:
        return f"{sentence}, but {n_rows:,} rows are too few to tell which is better."
    if low <= 0.0 <= high:
        return f"{sentence}: these rows do not tell which is better."
    return f"{sentence}." if nlp > 0 else f"{sentence}: for this table the simple model is better."


def say_left_out(left_out: int, used: int, unseen: Mapping[str, int] | None = None) -> None:
    """Print how many rows could not be scored, if any, and how many for their unseen label."""
    if unseen:
        n, total = sum(unseen.values()), left_out + used
        named = sorted(unseen, key=lambda label: -unseen[label])[:_MOST_NAMED]
        listed = ", ".join(f"{label!r} ({unseen[label]:,})" for label in named)
        more = f" and {len(unseen) - len(named):,} more" if len(unseen) > len(named) else ""
        say(
            f"Note: {n:,} of {total:,} rows have a label that the model has never seen, and are "
            f"left out: {listed}{more}."
        )
        left_out, used = left_out - n, used + n
    if left_out:
        say(
            f"Note: {left_out:,} of {left_out + used:,} rows cannot be scored or have no label, "
            "and are left out. 'fewknots predict' says why, row by row."
        )


class ReadingLine:
    """One line on a terminal with the number of rows read so far; prints nothing elsewhere."""

    def __init__(self) -> None:
        self._status: Any = None

    def __call__(self, doing: str, rows: int) -> None:
        if not sys.stderr.isatty():
            return
        if self._status is None:
            from rich.console import Console

            self._status = Console(stderr=True).status("")
            self._status.start()
        self._status.update(f"{doing}: {rows:,} rows")

    def hide(self) -> None:
        if self._status is not None:
            self._status.stop()
        self._status = None

    def __enter__(self) -> "ReadingLine":
        return self

    def __exit__(self, *exception: object) -> None:
        self.hide()


def check_destination(path: Path) -> None:
    """Raise an error before the work begins if the output file cannot be written."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file in it with --out.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent} to write {path.name} to.")


def _format_score(score: float | None) -> str:
    if score is None:
        return "-"
    return f"{score:.4f}" if abs(score) < 1e4 else f"{score:,.1f}"


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
