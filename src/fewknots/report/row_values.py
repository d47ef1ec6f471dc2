"""The values of single rows: the user's own columns where they are known, the inputs otherwise."""

from typing import Any

import numpy as np

from .evidence import Evidence

_MOST_COLUMNS = 8


def row_values(evidence: Evidence, rows: np.ndarray) -> tuple[list[str], list[list[Any]]]:
    """Names of the columns shown, and for each row its values in them."""
    if evidence.raw is None:
        blocks = [evidence.inputs[column].features for column in evidence.order]
        features = [f for block in blocks for f in range(block.start, block.stop)]
        features = sorted(features[:_MOST_COLUMNS])
        names = [evidence.rows.names[feature] for feature in features]
        return names, [[float(evidence.rows.X[row, f]) for f in features] for row in rows]
    known = [str(name) for name in evidence.raw.schema.names]
    place = {evidence.inputs[column].name: rank for rank, column in enumerate(evidence.order)}
    first = sorted(range(len(known)), key=lambda c: place.get(known[c], len(place)))
    shown = sorted(first[:_MOST_COLUMNS])
    return [known[c] for c in shown], [
        [_value(evidence.raw.column(c)[int(row)]) for c in shown] for row in rows
    ]


def _value(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except ValueError:  # nanoseconds, which Python's own moments do not have
        return str(scalar)
