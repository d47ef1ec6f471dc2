"""`fewknots predict`: probabilities, or numbers and intervals, for the rows of files."""

import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .inputs import (
    Debug,
    Decimal,
    Encoding,
    Json,
    Model,
    Separator,
    Sources,
    Strict,
    check_model,
    check_sources,
    load_table_model,
)
from .output import ReadingLine, check_destination, print_json
from .running import say

if TYPE_CHECKING:
    import pyarrow as pa

    from ..data.csv_dialect import CsvOptions
    from ..data.table_files import RawFiles
    from ..tables.model import TableModel, TableRows
    from .predicted_columns import Columns

WHY = "why_not_scored"

Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        help="A Parquet, CSV, TSV or Arrow file, by its ending; by default CSV on standard output.",
        show_default=False,
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        help="Write this column of the source beside the predictions, and no column that is not "
        "named; may be repeated. By default all columns are written.",
        show_default=False,
    ),
]

Coverage = Annotated[
    float,
    typer.Option(help="For numbers: the probability of the predicted interval, below 1."),
]


def command(
    model: Model,
    sources: Sources,
    out: Out = None,
    keep: Keep = None,
    coverage: Coverage = 0.95,
    strict: Strict = False,
    separator: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Predict the probabilities of the classes for each row, or a number with its interval.

    For classes it writes a column p_LABEL with the probability of each label, and the column
    prediction with the most probable label. For a number it writes four columns: prediction (the
    mean), std (the standard deviation), and low and high, the ends of the interval that contains
    the number with the probability --coverage. The files need the columns that the model was
    fitted to, in any order; other columns do no harm. A row that cannot be scored gets no
    prediction; the column why_not_scored gives the reason. With --json and without --out, each row
    is written as a line of JSON.

    Example: fewknots predict flights.fewknots new.parquet --out scored.parquet
    """
    check_model(model)
    check_sources(sources)
    if out is not None:
        check_destination(out)
    from ..data.csv_dialect import CsvOptions, Dialect
    from ..data.table_files import RawFiles
    from ..data.table_paths import as_files
    from ..data.table_writer import check_ending, write_table
    from ..stopping import scratch_folder
    from .predicted_columns import columns_of

    if out is not None:
        check_ending(out)
    options = CsvOptions.checked(separator, decimal, encoding)
    fitted = load_table_model(model)
    with as_files(sources) as files, ReadingLine() as watch, scratch_folder() as scratch:
        source = RawFiles(files, options)
        columns = columns_of(fitted, coverage)
        scorer = Scorer(fitted, columns, _kept(columns.names, source, keep), strict)
        # Also standard output gets all rows or none: they are written to a scratch file first.
        path = out or Path(scratch, "predictions.csv")
        pieces = scorer.pieces(files, options, watch)
        if out is None and as_json:
            path = Path(scratch, "predictions.jsonl")
            _write_lines(path, pieces)
        else:
            write_table(path, pieces, next(iter(source.dialects), Dialect()))
        if out is None:
            _copy_to_stdout(path)
    if scorer.not_scored:
        say(
            f"Note: {scorer.not_scored:,} of {scorer.rows:,} rows could not be scored; the column "
            f"{WHY} gives the reason. The first: {scorer.first_reason}."
        )
    if out is None:
        return
    if as_json:
        print_json({"out": str(out), "rows": scorer.rows, "not_scored": scorer.not_scored})
    else:
        left = f", {scorer.not_scored:,} of them not scored" if scorer.not_scored else ""
        typer.echo(f"{out}: {scorer.rows:,} rows{left}.")


class Scorer:
    """Computes the predictions for rows, and counts rows that cannot be scored."""

    def __init__(
        self, model: "TableModel", columns: "Columns", kept: Sequence[str], strict: bool
    ) -> None:
        self._model, self._columns, self._kept, self._strict = model, columns, kept, strict
        self.rows = self.not_scored = 0
        self.first_reason = ""

    def pieces(
        self, files: Sequence[str], options: "CsvOptions", watch: Any
    ) -> Iterator["pa.Table"]:
        """The kept columns and the predictions, as tables of some rows each."""
        model, strict = self._model, self._strict
        for rows in model.rows(files, labelled=False, keep=self._kept, strict=strict, csv=options):
            columns = dict(zip(self._kept, rows.whole.columns, strict=True))
            yield self._scored(columns, rows)
            self.rows += rows.whole.num_rows
            if rows.reasons and not self.not_scored:
                row = min(rows.reasons)
                self.first_reason = f"{rows.place.row(row)}: {rows.reasons[row]}"
            self.not_scored += len(rows.reasons)
            watch("predicting", self.rows)

    def _scored(self, columns: dict[str, Any], rows: "TableRows") -> "pa.Table":
        import numpy as np
        import pyarrow as pa

        n_rows = rows.whole.num_rows
        scored = np.ones(n_rows, bool)
        scored[list(rows.reasons)] = False
        places = pa.array(np.cumsum(scored) - 1, mask=~scored)
        for name, values in zip(self._columns.names, self._columns.of(rows.X), strict=True):
            columns[name] = values.take(places)
        if not self._strict:
            reasons = [rows.reasons.get(row) for row in range(n_rows)] if rows.reasons else None
            columns[WHY] = pa.array(reasons or [None] * n_rows, pa.string())
        return pa.table(columns)


def _kept(own: Sequence[str], source: "RawFiles", keep: Sequence[str] | None) -> tuple[str, ...]:
    """The source's columns to write. A name that the predictions use is an error."""
    from ..exceptions import DataError

    kept = tuple(source.schema.names if keep is None else dict.fromkeys(keep))
    source.check_presence(kept)
    taken = [name for name in (*own, WHY) if name in kept]
    if taken:
        raise DataError(
            f"{source.name} already has a column {taken[0]!r}, a name that the predictions use. "
            "Name the columns to write with --keep."
        )
    return kept


def _write_lines(path: Path, pieces: Iterator["pa.Table"]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for piece in pieces:
            for row in piece.to_pylist():
                file.write(json.dumps(row, default=str, ensure_ascii=False) + "\n")


def _copy_to_stdout(path: Path) -> None:
    with path.open("rb") as file:
        shutil.copyfileobj(file, sys.stdout.buffer)
    sys.stdout.buffer.flush()
