"""`fewknots evaluate`: how good a model's probabilities are on rows whose labels are known."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

from .inputs import check_model, check_sources
from .models import load_table_model
from .options import Debug, Json, Model, Sources
from .output import ReadingLine, print_json, score_table, verdict

if TYPE_CHECKING:
    from ..table_model import TableModel


def command(model: Model, sources: Sources, as_json: Json = False, debug: Debug = False) -> None:
    """Score a model on labelled rows, beside the majority class and a logistic regression.

    The rows should be new to the model. Intervals are 95 % bootstrap intervals over the rows.

    Example: fewknots evaluate flights.fewknots holdout.csv
    """
    check_model(model)
    check_sources(sources)
    from ..baselines import LOGISTIC
    from ..data.standard_input import as_files
    from ..table_fit import MODEL

    fitted = load_table_model(model)
    with as_files(sources) as files, ReadingLine() as watch:
        found = evaluated(fitted, files, watch)
    if as_json:
        print_json({"model": str(model), **found})
        return
    title = f"{fitted.target} = {fitted.positive} in {found['rows']:,} rows"
    score_table(found["scores"], title, found["intervals"])
    typer.echo(verdict(found["scores"], MODEL, LOGISTIC))


def evaluated(model: "TableModel", files: Sequence[str], watch: Any) -> dict[str, Any]:
    """The number of rows, all scores, and the intervals of the model's."""
    import numpy as np

    from ..scoring import intervals, scores
    from ..table_fit import MODEL

    truth: list[Any] = []
    log_p: list[Any] = []
    simple: dict[str, list[Any]] = {}
    done = 0
    for rows in model.rows(files):
        truth.append(rows.y)
        log_p.append(model.classifier.predict_log_proba(rows.X))
        for name, p in model.baselines.probabilities(rows.X).items():
            simple.setdefault(name, []).append(p)
        done += len(rows.X)
        watch("scoring", done)
    y, both = np.concatenate(truth), np.concatenate(log_p)
    p = np.exp(both[:, 1])
    found = {MODEL: scores(p, y, both)}
    found |= {name: scores(np.concatenate(parts), y) for name, parts in simple.items()}
    return {"rows": done, "scores": found, "intervals": intervals(p, y, log_p=both)}
