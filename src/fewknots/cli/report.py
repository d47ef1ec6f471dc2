"""`fewknots report`: a page about a model that a colleague can open."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
from .inspect import contents_in_words
from .output import ReadingLine, check_destination, print_json, say_left_out

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..data.sources import Place
    from ..tables.model import TableModel
    from ..tables.rows_to_score import RowsToScore

MOST_ROWS = 100_000
_NOT_SHOWN = ("source", "options", "csv")
_SHOWN = ("rows", "scores")  # entries of about["hold_out"] that the page shows

Out = Annotated[Path | None, typer.Option("--out", "-o", help="The page; by default MODEL.html.")]
Title = Annotated[str | None, typer.Option(help="The page's title.", show_default=False)]


def command(
    model: Model,
    sources: SomeSources = None,
    out: Out = None,
    title: Title = None,
    all_rows: AllRows = False,
    strict: Strict = False,
    separator: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Write one self-contained HTML page: scores, calibration, what matters, what is uncertain.

    The rows need labels. Those that the model learned from are counted and left out, and so are
    rows that cannot be scored or have no label; the first 100,000 of the others are used.

    Example: fewknots report flights.fewknots holdout.csv --out report.html
    """
    check_model(model)
    check_sources(sources or ())
    destination = out or Path(model.with_suffix(".html").name)
    check_destination(destination)
    import numpy as np
    import pyarrow as pa

    from ..report import write_report

    fitted = load_table_model(model)
    numbers = not fitted.labels.n_classes
    X: list[np.ndarray] = []
    y: list[Any] = []
    raw: list[Any] = []
    places: list[tuple[Place, int]] = []
    count = 0
    reading = Reading(sources, all_rows, strict, separator, decimal, encoding)
    with ReadingLine() as watch, rows_to_score(fitted, model, reading, watch) as to_score:
        for rows in to_score.rows():
            X.append(rows.X)
            assert rows.y is not None
            y.append(rows.y if numbers else fitted.estimator.classes_[rows.y])
            raw.append(rows.raw)
            places.extend((rows.place, int(number)) for number in rows.numbers)
            count += len(rows.X)
            watch("reading", count)
            if count >= MOST_ROWS:
                break
    say_left_out(to_score.left_out, to_score.given)
    labels = np.concatenate(y)[:MOST_ROWS]
    write_report(
        destination,
        fitted.estimator,
        np.concatenate(X)[:MOST_ROWS],
        labels,
        feature_names=fitted.feature_names,
        baselines=fitted.baselines,
        recipe=fitted.recipe,
        rows=pa.Table.from_batches(raw).slice(0, MOST_ROWS),
        title=title or _title(fitted),
        about=_about_the_fit(fitted)
        | {
            "target": fitted.target,
            "n_rows": fitted.n_rows,
            "model_file": model.name,
            "checked_on": _checked_on(to_score, len(labels)),
            "holds": contents_in_words(fitted.estimator, fitted),
        },
        row_names=lambda rows: _names(places, rows),
    )
    if as_json:
        print_json({"out": str(destination), **facts(to_score), "rows": len(labels)})
    else:
        typer.echo(to_score.note)
        typer.echo(f"{destination}: {len(labels):,} rows.")


def _title(model: "TableModel") -> str | None:
    """What is predicted, for two classes; else None: the report then names the target."""
    two = model.labels.n_classes == 2
    return f"{model.target} = {model.positive}" if two else None


def _about_the_fit(model: "TableModel") -> dict[str, Any]:
    """Facts for readers of the page, without the entries that locate the training files."""
    about = {name: value for name, value in model.about.items() if name not in _NOT_SHOWN}
    if isinstance(held_out := about.get("hold_out"), dict):
        about["hold_out"] = {name: held_out[name] for name in _SHOWN if name in held_out}
    return about


def _names(places: "Sequence[tuple[Place, int]]", rows: list[int]) -> list[str]:
    """Names of rows for the user: "line 12", or "a.csv, line 12" if there are several files."""
    several = len({place.name for place, _ in places}) > 1
    names: dict[int, str] = {}
    for file in {places[row][0].name for row in rows}:
        of_file = [row for row in rows if places[row][0].name == file]
        layout = places[of_file[0]][0].layout
        before = f"{Path(file).name}, " if several else ""
        for row, name in zip(
            of_file, layout.row_names([places[row][1] for row in of_file]), strict=True
        ):
            names[row] = before + name
    return [names[row] for row in rows]


def _checked_on(to_score: "RowsToScore", used: int) -> str:
    if used == to_score.n_rows:
        return to_score.checked_on
    return f"{to_score.checked_on} Of these, the first {used:,} are used."
