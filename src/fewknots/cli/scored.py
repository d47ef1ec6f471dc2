"""The rows that `evaluate` and `report` score."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .training_files import csv_options_of_fit, training_files

if TYPE_CHECKING:
    from ..tables.model import TableModel
    from ..tables.rows_to_score import RowsToScore


class Reading(NamedTuple):
    """Arguments of a command that say which rows to score and how their files are written."""

    sources: Sequence[str] | None
    all_rows: bool
    strict: bool
    separator: str | None
    decimal: str | None
    encoding: str | None


@contextmanager
def rows_to_score(
    model: "TableModel", path: Path, asked: Reading, watch: Any
) -> "Iterator[RowsToScore]":
    """Rows of the sources that are new to the model; without sources, the fit's held-out rows."""
    from ..data.csv_dialect import CsvOptions
    from ..data.table_paths import as_files
    from ..tables.rows_to_score import held_out_rows, new_rows

    written = CsvOptions.checked(asked.separator, asked.decimal, asked.encoding)
    if not asked.sources:
        own = training_files(model, path)
        if not any(written):
            written = csv_options_of_fit(model)
        read = partial(model.rows, own, strict=True, csv=written)
        yield held_out_rows(model, read, ", ".join(own), watch)
        return
    with as_files(asked.sources) as files:
        read = partial(model.rows, files, strict=asked.strict, csv=written)
        yield new_rows(model, read, asked.all_rows, watch)


def facts(rows: "RowsToScore") -> dict[str, Any]:
    """Counts and origin of the scored rows, for --json."""
    return {
        "rows": rows.n_rows,
        "rows_given": rows.given + rows.left_out,
        "left_out": rows.left_out,
        "rows_learned_from": rows.learned_from,
        "checked_on": rows.checked_on,
    }
