"""`fewknots report`: a page about a model that a colleague can open."""

from pathlib import Path
from typing import Annotated

import typer

from .models import load_table_model
from .options import Debug, Decimal, Encoding, Json, Model, Separator, Sources, Strict
from .output import ReadingLine, check_destination, print_json, say_left_out

MOST_ROWS = 100_000

Out = Annotated[Path | None, typer.Option("--out", "-o", help="The page; by default MODEL.html.")]
Title = Annotated[str | None, typer.Option(help="The page's title.", show_default=False)]


def command(
    model: Model,
    sources: Sources,
    out: Out = None,
    title: Title = None,
    strict: Strict = False,
    separator: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Write one self-contained HTML page: scores, calibration, what matters, what is uncertain.

    The rows need labels and should be new to the model; the first 100,000 are used. Rows that
    cannot be scored, or have no label, are left out.

    Example: fewknots report flights.fewknots holdout.csv --out report.html
    """
    import numpy as np
    import pyarrow as pa

    from ..data.csv_dialect import CsvOptions
    from ..data.standard_input import as_files
    from ..exceptions import DataError
    from ..report import write_report

    options = CsvOptions.checked(separator, decimal, encoding)
    destination = out or Path(model.with_suffix(".html").name)
    check_destination(destination)
    fitted = load_table_model(model)
    X, y, raw = [], [], []
    count = left_out = 0
    with as_files(sources) as files, ReadingLine() as watch:
        for rows in fitted.rows(files, strict=strict, csv=options):
            left_out += len(rows.reasons)
            X.append(rows.X)
            y.append(fitted.classifier.classes_[rows.y])
            raw.append(rows.raw)
            count += len(rows.X)
            watch("reading", count)
            if count >= MOST_ROWS:
                break
    if count == 0:
        raise DataError(
            f"none of the {left_out:,} rows can be scored; with --strict the first one says why."
        )
    say_left_out(left_out, count)
    labels = np.concatenate(y)[:MOST_ROWS]
    write_report(
        destination,
        fitted.classifier,
        np.concatenate(X)[:MOST_ROWS],
        labels,
        feature_names=fitted.feature_names,
        baselines=fitted.baselines,
        recipe=fitted.recipe,
        rows=pa.Table.from_batches(raw).slice(0, MOST_ROWS),
        title=title or f"{fitted.target} = {fitted.positive}",
        about=fitted.about
        | {"target": fitted.target, "n_rows": fitted.n_rows, "model_file": model.name},
    )
    if as_json:
        print_json({"out": str(destination), "rows": len(labels), "left_out": left_out})
    else:
        typer.echo(f"{destination}: {len(labels):,} rows.")
