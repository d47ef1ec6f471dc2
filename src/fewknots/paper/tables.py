"""Tables for people (Markdown) and for programs (CSV)."""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ..files.container import replacing
from .experiment import Result


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table whose columns line up also for those who read the text as it is."""
    lines = [[str(entry) for entry in row] for row in (header, *rows)]
    widths = [max(3, *(len(line[i]) for line in lines)) for i in range(len(header))]
    padded = [
        " | ".join(entry.ljust(width) for entry, width in zip(line, widths, strict=True))
        for line in lines
    ]
    rule = "|".join("-" * (width + 2) for width in widths)
    return "\n".join([f"| {padded[0]} |", f"|{rule}|", *(f"| {line} |" for line in padded[1:])])


def write_csv(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """One line a row; the columns are the keys of all rows, in the order they first appear."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    with replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)


def entry(result: Result, name: str, digits: int) -> str:
    """A number of a result as a table shows it; of a failed cell, why it failed."""
    if result.failed is not None:
        return f"failed: {result.failed.splitlines()[0]}"
    return f"{result.values[name]:.{digits}f}"


def curve_rows(results: dict[str, Result], names: Sequence[str]) -> list[dict[str, Any]]:
    """Every point of every curve, or why there is none, with the cell's settings of those names."""
    rows = []
    for result in results.values():
        told = {name: result.cell.settings[name] for name in names}
        if result.failed is not None:
            rows.append(told | {"failed": result.failed})
            continue
        columns = result.values["curve"]
        points = zip(*columns.values(), strict=True)
        rows += [told | dict(zip(columns, point, strict=True)) for point in points]
    return rows
