"""`fewknots evaluate`: how good a model's probabilities are on rows whose labels are known."""

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
    """Score a model on labelled rows, beside the majority class and a logistic regression.

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

    from ..scoring import intervals
    from ..tables.fit import comparison, probabilities_to_score

    truth: list[Any] = []
    log_p: list[Any] = []
    simple: dict[str, list[Any]] = {}
    done = 0
    for rows in to_score.rows():
        truth.append(rows.y)
        log_p.append(model.classifier.predict_log_proba(rows.X))
        for name, p in model.baselines.probabilities(rows.X).items():
            simple.setdefault(name, []).append(p)
        done += len(rows.X)
        watch("scoring", done)
    y, joined = np.concatenate(truth), np.concatenate(log_p)
    found = comparison(joined, y, {name: np.concatenate(parts) for name, parts in simple.items()})
    around = intervals(probabilities_to_score(joined), y, log_p=joined)
    return {**found, "intervals": around}
