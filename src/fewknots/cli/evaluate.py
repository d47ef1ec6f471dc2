"""`fewknots evaluate`: how good a model's predictions are on rows whose targets are known."""

from typing import TYPE_CHECKING, Any

import typer

from .inputs import (
    AllRows,
    Debug,
    Decimal,
    Encoding,
    Json,
    Model,
    Reading,
    Separator,
    SomeSources,
    Strict,
    check_model,
    check_sources,
    facts,
    load_table_model,
    rows_to_score,
)
from .output import ReadingLine, print_json, say_left_out, score_table, verdict

if TYPE_CHECKING:
    from ..tables.model import TableModel
    from ..tables.rows_to_score import RowsToScore


def command(
    model: Model,
    sources: SomeSources = None,
    all_rows: AllRows = False,
    strict: Strict = False,
    separator: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Score a model on labelled rows, beside two simple models.

    The simple models are the majority class and a logistic regression; for a number, the mean and
    a ridge regression.

    Rows that the model learned from are counted and left out, and so are rows that cannot be
    scored, have no label, or have a label that no row of the fit had. Intervals are 95 % bootstrap
    intervals over the rows.

    Example: fewknots evaluate flights.fewknots holdout.csv
    """
    check_model(model)
    check_sources(sources or ())
    fitted = load_table_model(model)
    reading = Reading(sources, all_rows, strict, separator, decimal, encoding)
    with ReadingLine() as watch, rows_to_score(fitted, model, reading, watch) as to_score:
        found = facts(to_score) | evaluated(fitted, to_score, watch)
    say_left_out(to_score.left_out, to_score.given, to_score.unseen)
    if as_json:
        print_json({"model": str(model), **found})
        return
    typer.echo(to_score.note)
    title = f"{fitted.predicted} in {found['rows']:,} rows"
    score_table(found["scores"], title, found["intervals"])
    typer.echo(verdict(found["gain"], found["rows"]))


def evaluated(model: "TableModel", to_score: "RowsToScore", watch: Any) -> dict[str, Any]:
    """Scores of the model and of the baselines, and bootstrap intervals of the model's scores."""
    import numpy as np

    truth: list[Any] = []
    seen: list[Any] = []
    simple: dict[str, list[Any]] = {}
    judge, done = model.judge, 0
    for rows in to_score.rows():
        truth.append(rows.y)
        seen.append(judge.seen(model.estimator, rows.X, rows.y))
        beside = judge.seen_simply(model.baselines, model.estimator, rows.X, rows.y)
        for name, found in beside.items():
            simple.setdefault(name, []).append(found)
        done += len(rows.X)
        watch("scoring", done)
    y, own = np.concatenate(truth), judge.joined(seen)
    others = {name: judge.joined(parts) for name, parts in simple.items()}
    return {**judge.comparison(own, y, others), "intervals": judge.intervals(own, y)}
