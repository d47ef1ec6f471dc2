"""`fewknots inspect`: the contents of a model file, in numbers and in sentences."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from .inputs import Debug, Json, Model, check_model
from .output import print_json, score_table

if TYPE_CHECKING:
    from ..tables.model import TableModel

_MOST_LEVELS_SHOWN = 8
_SHOWN_APART = ("columns", "about", "contest", "stored_rows")


def command(model: Model, as_json: Json = False, debug: Debug = False) -> None:
    """Show what a model predicts from which columns, how it was fitted and how well it scored.

    Example: fewknots inspect flights.fewknots
    """
    check_model(model)
    from ..estimators.in_words import method_in_words
    from ..loading import load
    from ..tables.model import TableModel

    loaded = load(model)
    table = loaded if isinstance(loaded, TableModel) else None
    estimator = loaded if table is None else table.estimator
    facts = {"file": str(model), "bytes": Path(model).stat().st_size} | _facts(estimator)
    facts["holds"] = contents_in_words(estimator, table)
    if table is not None:
        facts |= _table_facts(table)
    if as_json:
        print_json(facts)
        return
    _print(facts | {"method": method_in_words(estimator)})
    if table is not None and table.about.get("hold_out", {}).get("scores"):
        held_out = table.about["hold_out"]
        score_table(held_out["scores"], f"{held_out['rows']:,} rows held out at the fit")


def _facts(estimator: Any) -> dict[str, Any]:
    """Facts that every fitted estimator has."""
    from ..estimators.in_words import stored_rows
    from ..estimators.saved_model import contest_header
    from ..report.number_evidence import likelihood_in_words

    facts = {
        "estimator": type(estimator).__name__,
        "method": estimator.method_,
        "kernel": " ".join(str(estimator.kernel_).split()),
        "points": len(estimator.posterior_.points),
        "inputs": estimator.n_features_in_,
        "log_evidence": estimator.log_evidence_,
        "iterations": estimator.n_iter_,
        "converged": estimator.converged_,
        "contest": contest_header(estimator),
        "stored_rows": stored_rows(estimator),
    }
    if hasattr(estimator, "classes_"):
        likelihood = estimator._targets_header(lambda labels: None)["likelihood"]
        return facts | {"likelihood": likelihood, "classes": estimator.classes_.tolist()}
    return facts | {"likelihood": likelihood_in_words(estimator)}


def _table_facts(model: "TableModel") -> dict[str, Any]:
    columns = [
        {"kind": column.kind} | column.header() | {"inputs": list(column.feature_names)}
        for column in model.recipe.columns
    ]
    return {
        "target": model.target,
        "positive": model.positive,
        "rows": model.n_rows,
        "columns": columns,
        "about": model.about,
    }


def _print(facts: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    lines = Table(show_header=False, box=None, pad_edge=False)
    about = facts.get("about", {})
    shown = {name: value for name, value in facts.items() if name not in _SHOWN_APART}
    if shown.get("positive") is None:  # more than two classes
        shown.pop("positive", None)
    for key in ("files", "date", "seed", "versions"):
        if key in about:
            shown[key] = about[key]
    for name, value in shown.items():
        # _plain, because rich would read brackets in user text as markup
        lines.add_row(name.replace("_", " "), _plain(value))
    console.print(lines)
    if "columns" not in facts:
        return
    table = Table("column", "kind", "inputs", title="columns", title_justify="left")
    for column in facts["columns"]:
        names = column["inputs"]
        more = f" and {len(names) - _MOST_LEVELS_SHOWN} more"
        listed = ", ".join(names[:_MOST_LEVELS_SHOWN])
        listed += more if len(names) > _MOST_LEVELS_SHOWN else ""
        table.add_row(_plain(column["name"]), column["kind"], _plain(listed))
    console.print(table)


def _plain(value: Any) -> Any:
    from rich.text import Text

    if isinstance(value, float):
        return Text(f"{value:.4f}")
    if isinstance(value, dict):
        return Text(", ".join(f"{name} {entry}" for name, entry in value.items()))
    return Text(", ".join(map(str, value)) if isinstance(value, list) else str(value))


def contents_in_words(estimator: Any, table: "TableModel | None") -> str:
    """Which rows of the training table, or which parts of them, the file reveals."""
    from ..estimators.in_words import points_in_words, stored_rows

    said = points_in_words(estimator)
    if stored_rows(estimator):
        option = "store_rows=False" if table is None else "--no-rows"
        said += f" ({option} avoids this)"
    if table is not None and table.learned is not None:
        said += (
            "; and a fingerprint of each row it learned from, to recognise these rows in other "
            "files"
        )
    recipe = estimator.recipe_ if table is None else table.recipe
    if recipe is not None and any(column.kind in ("text", "ordered") for column in recipe.columns):
        said += "; and the more frequent words of the text columns"
    return f"{said}."
