"""The values of single rows: the user's own columns where they are known, the inputs otherwise."""

from typing import Any

import numpy as np

from .evidence import Evidence

_MOST_COLUMNS = 8


def row_values(evidence: Evidence, rows: np.ndarray) -> tuple[list[str], list[list[Any]]]:
    """Names of the columns shown, and for each row its values in them."""
    if evidence.raw is None:
        shown = sorted(evidence.order[:_MOST_COLUMNS])
        names = [evidence.rows.names[column] for column in shown]
        return names, [[float(evidence.rows.X[row, c]) for c in shown] for row in rows]
    known = [str(name) for name in evidence.raw.schema.names]
    shown = sorted(_most_relevant(known, evidence)[:_MOST_COLUMNS])
    return [known[c] for c in shown], [
        [_value(evidence.raw.column(c)[int(row)]) for c in shown] for row in rows
    ]


def _value(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except ValueError:  # nanoseconds, which Python's own moments do not have
        return str(scalar)


def _most_relevant(known: list[str], evidence: Evidence) -> list[int]:
    """The user's columns, those first whose inputs matter most.

    A recipe makes several inputs of a column and names them after it: "carrier=AA", "date: year
    (sin)", "age (missing)".
    """
    rank: dict[str, int] = {}
    for place, column in enumerate(evidence.order):
        rank.setdefault(evidence.rows.names[column], place)

    def best(name: str) -> int:
        made_of_it = (name + "=", name + ":", name + " (")
        places = [p for n, p in rank.items() if n == name or n.startswith(made_of_it)]
        return min(places, default=len(rank))

    return sorted(range(len(known)), key=lambda column: best(known[column]))
