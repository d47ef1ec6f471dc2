"""Sentences about a model file: what it holds, and how its method was chosen."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..tables.model import TableModel


def method_in_words(estimator: Any) -> str:
    """Name of the method and, if several methods competed, by how much it won."""
    method = estimator.method_
    contest, gain = getattr(estimator, "contest_", None), getattr(estimator, "contest_gain_", None)
    if contest is None:
        return str(method)
    others = " and ".join(name for name in contest if name != method)
    if not others:
        return f"{method}; there was no time for another method to compete"
    if gain is None:
        return f"{method}; {others} could not be fitted to these rows"
    low, high = gain["interval"]
    unsure = ": these rows do not tell which is better" if low <= 0.0 <= high else ""
    return (
        f"{method}, which won against {others} by {gain['nlp']:.4f} nats a row on "
        f"{gain['rows']:,} rows kept apart for that (95 % interval: {low:.4f} to {high:.4f}"
        f"{unsure})"
    )


def contents_in_words(estimator: Any, table: "TableModel | None") -> str:
    """Which rows of the training table, or which parts of them, the file reveals."""
    said = _points(estimator)
    if stored_rows(estimator):
        option = "store_rows=False" if table is None else "--no-rows"
        said += f" ({option} avoids this)"
    if table is not None:
        if table.learned is not None:
            said += (
                "; and a fingerprint of each row it learned from, by which it recognises such a "
                "row when it is given"
            )
        if any(column.kind == "text" for column in table.recipe.columns):
            said += "; and the more frequent words of the text columns"
    return f"{said}."


def stored_rows(estimator: Any) -> int | None:
    """How many training rows the model holds unchanged; None if unknown."""
    if estimator.stored_rows_ is None and estimator._method.stores_rows:
        return len(estimator.posterior_.points)  # a file of an older version
    return estimator.stored_rows_


def _points(estimator: Any) -> str:
    n, stored, method = len(estimator.posterior_.points), stored_rows(estimator), estimator._method
    if method.looks_up_neighbours:
        return (
            f"{n:,} rows of the table, as numbers, since method {method.name!r} looks its "
            "neighbours up among them: who gets the file gets these rows"
        )
    if method.stores_rows:
        return (
            f"{n:,} rows of the table, as numbers, which hold the posterior of method "
            f"{method.name!r}: who gets the file gets these rows"
        )
    if stored is None:
        return f"{n:,} inducing points; whether some are rows of the table is not known"
    if stored:
        return f"{n:,} inducing points, {stored:,} of which are rows of the table, as numbers"
    return f"{n:,} inducing points; none of them is a row of the table"
