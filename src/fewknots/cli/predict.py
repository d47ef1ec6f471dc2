"""`fewknots predict`: probabilities for the rows of files."""

import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .inputs import check_model, check_sources
from .models import load_table_model
from .options import Debug, Json, Model, Sources
from .output import ReadingLine, check_destination, print_json

if TYPE_CHECKING:
    import pyarrow as pa

    from ..table_model import TableModel

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
        help="Write this column of the source beside the predictions, and only those named; may "
        "be repeated. By default all.",
        show_default=False,
    ),
]


def command(
    model: Model,
    sources: Sources,
    out: Out = None,
    keep: Keep = None,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Give each row the probability of both values of the target, and the more probable one.

    Takes the columns that the model was fitted to, in any order and among any others. With --json
    and without --out each row becomes a line of JSON.

    Example: fewknots predict flights.fewknots new.parquet --out scored.parquet
    """
    check_model(model)
    check_sources(sources)
    if out is not None:
        check_destination(out)
    from ..data.standard_input import as_files
    from ..data.table_writer import check_ending, write_table

    if out is not None:
        check_ending(out)
    fitted = load_table_model(model)
    with as_files(sources) as files, ReadingLine() as watch, TemporaryDirectory() as scratch:
        kept = _kept(fitted, files, keep)
        # standard output, too, gets all rows or none
        path = out or Path(scratch, "predictions.csv")
        pieces = scored(fitted, files, kept, watch)
        if out is None and as_json:
            path = Path(scratch, "predictions.jsonl")
            _write_lines(path, pieces)
        else:
            n_rows = write_table(path, pieces)
        if out is None:
            _show(path)
            return
    if as_json:
        print_json({"out": str(out), "rows": n_rows})
    else:
        typer.echo(f"{out}: {n_rows:,} rows.")


def scored(
    model: "TableModel", files: Sequence[str], kept: Sequence[str], watch: Any
) -> Iterator["pa.Table"]:
    """The kept columns with the predictions beside them, piece by piece."""
    import numpy as np
    import pyarrow as pa

    both = (model.labels.negative, model.labels.positive)
    labels = pa.array(both)
    done = 0
    for rows in model.rows(files, labelled=False, keep=kept):
        probabilities = model.classifier.predict_proba(rows.X)
        columns = dict(zip(kept, rows.raw.columns, strict=True))
        for label, p in zip(both, probabilities.T, strict=True):
            columns[f"p_{label}"] = pa.array(np.ascontiguousarray(p))
        likelier = probabilities[:, 1] > probabilities[:, 0]
        columns["prediction"] = labels.take(pa.array(likelier.astype(int)))
        done += len(rows.X)
        watch("predicting", done)
        yield pa.table(columns)


def _kept(model: "TableModel", files: Sequence[str], keep: Sequence[str] | None) -> tuple[str, ...]:
    """The columns of the source to write, none of which may be called like a prediction."""
    from ..data.raw_files import RawFiles
    from ..exceptions import DataError

    source = RawFiles(files, model.csv_type)
    kept = tuple(source.schema.names if keep is None else dict.fromkeys(keep))
    source.check_presence(kept)
    own = [f"p_{model.labels.negative}", f"p_{model.labels.positive}", "prediction"]
    taken = [name for name in own if name in kept]
    if taken:
        raise DataError(
            f"{source.name} has a column {taken[0]!r} already, which is what the predictions are "
            "called. Name the columns to write with --keep."
        )
    return kept


def _write_lines(path: Path, pieces: Iterator["pa.Table"]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for piece in pieces:
            for row in piece.to_pylist():
                file.write(json.dumps(row, default=str, ensure_ascii=False) + "\n")


def _show(path: Path) -> None:
    with path.open("rb") as file:
        shutil.copyfileobj(file, sys.stdout.buffer)
    sys.stdout.buffer.flush()
