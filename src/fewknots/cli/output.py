"""What commands print: tables for people, JSON for programs, progress on a terminal."""

import json
import sys
from pathlib import Path
from typing import Any

import typer

from .running import say

_FEW_ROWS = 20  # a bootstrap interval from fewer rows is too narrow to be trusted
SCORES = {
    "nlp": "NLP (nats a row)",
    "brier": "Brier score",
    "error": "error",
    "auc": "AUC",
    "ece": "calibration error",
}


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
    for key, meaning in SCORES.items():
        cells = [_format_score(of_model.get(key)) for of_model in scores.values()]
        if intervals is not None:
            cells.insert(1, " to ".join(map(_format_score, intervals[key] or (None,))))
        table.add_row(meaning, *cells)
    Console().print(table)


def verdict(gain: dict[str, Any], n_rows: int) -> str:
    """One sentence: is the Gaussian process better than logistic regression, and how sure is that.

    gain : NLP of logistic regression minus NLP of the Gaussian process, with a 95 % interval.
    """
    nlp, (low, high) = gain["nlp"], gain["interval"]
    sentence = (
        f"The Gaussian process's NLP is {abs(nlp):.4f} nats a row "
        f"{'better' if nlp > 0 else 'worse'} than logistic regression's "
        f"(95 % interval of the gain: {low:.4f} to {high:.4f})"
    )
    if n_rows < _FEW_ROWS:
        return f"{sentence}, but {n_rows:,} rows are too few to tell which is better."
    if low <= 0.0 <= high:
        return f"{sentence}: these rows do not tell which is better."
    return f"{sentence}." if nlp > 0 else f"{sentence}: for this table the simple model does."


def say_left_out(left_out: int, used: int) -> None:
    """Print how many rows could not be scored, if any."""
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
    return "-" if score is None else f"{score:.4f}"
