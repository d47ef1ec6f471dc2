"""`fewknots evaluate`: how good a model's probabilities are on rows whose labels are known."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

from .models import load_table_model
from .options import Debug, Decimal, Encoding, Json, Model, Separator, Sources, Strict
from .output import ReadingLine, print_json, say_left_out, score_table, verdict

if TYPE_CHECKING:
    from ..data.csv_dialect import CsvOptions
    from ..table_model import TableModel


def command(
    model: Model,
    sources: Sources,
    strict: Strict = False,
    separator: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Score a model on labelled rows, beside the majority class and a logistic regression.

    The rows should be new to the model. Intervals are 95 % bootstrap intervals over the rows. Rows
    that cannot be scored, or have no label, are left out.

    Example: fewknots evaluate flights.fewknots holdout.csv
    """
    from ..baselines import LOGISTIC
    from ..data.csv_dialect import CsvOptions
    from ..data.standard_input import as_files
    from ..table_fit import MODEL

    options = CsvOptions.checked(separator, decimal, encoding)
    fitted = load_table_model(model)
    with as_files(sources) as files, ReadingLine() as watch:
        found = evaluated(fitted, files, watch, strict, options)
    say_left_out(found["left_out"], found["rows"])
    if as_json:
        print_json({"model": str(model), **found})
        return
    title = f"{fitted.target} = {fitted.positive} in {found['rows']:,} rows"
    score_table(found["scores"], title, found["intervals"])
    typer.echo(verdict(found["scores"], MODEL, LOGISTIC))


def evaluated(
    model: "TableModel", files: Sequence[str], watch: Any, strict: bool, options: "CsvOptions"
) -> dict[str, Any]:
    """The number of rows, how many others were left out, all scores, the model's intervals."""
    import numpy as np

    from ..exceptions import DataError
    from ..scoring import intervals, scores
    from ..table_fit import MODEL

    truth: list[Any] = []
    log_p: list[Any] = []
    simple: dict[str, list[Any]] = {}
    done = left_out = 0
    for rows in model.rows(files, strict=strict, csv=options):
        left_out += len(rows.reasons)
        if len(rows.X) == 0:
            continue
        truth.append(rows.y)
        log_p.append(model.classifier.predict_log_proba(rows.X))
        for name, p in model.baselines.probabilities(rows.X).items():
            simple.setdefault(name, []).append(p)
        done += len(rows.X)
        watch("scoring", done)
    if done == 0:
        raise DataError(
            f"none of the {left_out:,} rows can be scored; with --strict the first one says why."
        )
    y, both = np.concatenate(truth), np.concatenate(log_p)
    p = np.exp(both[:, 1])
    found = {MODEL: scores(p, y, both)}
    found |= {name: scores(np.concatenate(parts), y) for name, parts in simple.items()}
    bounds = intervals(p, y, log_p=both)
    return {"rows": done, "left_out": left_out, "scores": found, "intervals": bounds}
