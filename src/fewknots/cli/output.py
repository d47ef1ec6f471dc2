"""What commands print: tables for people, JSON for programs, progress for those who watch."""

import json
import sys
from pathlib import Path
from typing import Any

import typer

from .running import say

SCORES = {
    "nlp": "NLP (nats a row)",
    "brier": "Brier score",
    "error": "error",
    "auc": "AUC",
    "ece": "calibration error",
}


def print_json(document: Any) -> None:
    """One JSON document on standard output."""
    typer.echo(json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False, default=str))


def score_table(
    scores: dict[str, dict[str, float | None]],
    title: str,
    intervals: dict[str, tuple[float, float] | None] | None = None,
) -> None:
    """Scores side by side, one column a model, in lines of a table."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    table.add_column("")
    for number, name in enumerate(scores):
        table.add_column(name, justify="right")
        if number == 0 and intervals is not None:
            table.add_column("95 % interval", justify="right")
    for key, meaning in SCORES.items():
        cells = [_shown(of_model.get(key)) for of_model in scores.values()]
        if intervals is not None:
            cells.insert(1, " to ".join(map(_shown, intervals[key] or (None,))))
        table.add_row(meaning, *cells)
    Console().print(table)


def verdict(scores: dict[str, dict[str, float | None]], model: str, simple: str) -> str:
    """Whether the Gaussian process was worth it, in a sentence."""
    gain = (scores[simple]["nlp"] or 0.0) - (scores[model]["nlp"] or 0.0)
    if gain > 0:
        return f"The {model}'s NLP is {gain:.4f} nats a row better than {simple}'s."
    return (
        f"The {model}'s NLP is {-gain:.4f} nats a row worse than {simple}'s: for this table the "
        "simple model does."
    )


def say_left_out(left_out: int, used: int) -> None:
    """How many rows a model could not be asked about, if any."""
    if left_out:
        say(
            f"Note: {left_out:,} of {left_out + used:,} rows cannot be scored or have no label, "
            "and are left out. 'fewknots predict' says why, row by row."
        )


class ReadingLine:
    """One line on a terminal that says how many rows have been read; elsewhere nothing."""

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
    """An output file that cannot be written should come to light before the work, not after."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file in it with --out.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent} to write {path.name} to.")


def _shown(score: float | None) -> str:
    return "-" if score is None else f"{score:.4f}"
