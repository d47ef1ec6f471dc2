"""The rows that `evaluate` and `report` score."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .own_files import own_files

if TYPE_CHECKING:
    from ..rows_to_score import RowsToScore
    from ..table_model import TableModel


@contextmanager
def rows_to_score(
    model: "TableModel", path: Path, sources: Sequence[str] | None, all_rows: bool, watch: Any
) -> "Iterator[RowsToScore]":
    """Those of the sources that are new to the model; without sources those its fit held out."""
    from ..data.standard_input import as_files
    from ..rows_to_score import held_out_rows, new_rows

    if not sources:
        yield held_out_rows(model, own_files(model, path), watch)
        return
    with as_files(sources) as files:
        yield new_rows(model, files, all_rows, watch)


def facts(rows: "RowsToScore") -> dict[str, Any]:
    """Where the scored rows come from, for other programs."""
    return {
        "rows": rows.n_rows,
        "rows_given": rows.given,
        "rows_learned_from": rows.learned_from,
        "checked_on": rows.checked_on,
    }
