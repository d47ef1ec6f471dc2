"""The rows that `evaluate` and `report` score."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .own_files import options_of_the_fit, own_files

if TYPE_CHECKING:
    from ..tables.model import TableModel
    from ..tables.rows_to_score import RowsToScore


class Reading(NamedTuple):
    """What a command says about the rows to score and the files they are in."""

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
    """Those of the sources that are new to the model; without sources those its fit held out."""
    from ..data.csv_dialect import CsvOptions
    from ..data.standard_input import as_files
    from ..tables.rows_to_score import held_out_rows, new_rows

    written = CsvOptions.checked(asked.separator, asked.decimal, asked.encoding)
    if not asked.sources:
        own = own_files(model, path)
        if not any(written):
            written = options_of_the_fit(model)
        read = partial(model.rows, own, strict=True, csv=written)
        yield held_out_rows(model, read, ", ".join(own), watch)
        return
    with as_files(asked.sources) as files:
        read = partial(model.rows, files, strict=asked.strict, csv=written)
        yield new_rows(model, read, asked.all_rows, watch)


def facts(rows: "RowsToScore") -> dict[str, Any]:
    """Where the scored rows come from, for other programs."""
    return {
        "rows": rows.n_rows,
        "rows_given": rows.given + rows.left_out,
        "left_out": rows.left_out,
        "rows_learned_from": rows.learned_from,
        "checked_on": rows.checked_on,
    }
