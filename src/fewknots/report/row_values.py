"""The values of single rows: the user's columns if they are known, otherwise the features."""

from typing import Any, NamedTuple

import numpy as np

from .number_evidence import AnyEvidence

_MOST_COLUMNS = 8


class RowValues(NamedTuple):
    """Values of the most important columns, in the order of the table."""

    names: list[str]
    values: list[list[Any]]  # a list for each row
    left_out: int  # number of columns that are not shown


def row_values(evidence: AnyEvidence, rows: np.ndarray) -> RowValues:
    """The values of some rows."""
    if evidence.raw is None:
        blocks = [evidence.inputs[column].features for column in evidence.order]
        features = [f for block in blocks for f in range(block.start, block.stop)]
        features = sorted(features[:_MOST_COLUMNS])
        names = [evidence.rows.names[feature] for feature in features]
        values = [[float(evidence.rows.X[row, f]) for f in features] for row in rows]
        return RowValues(names, values, len(evidence.rows.names) - len(names))
    known = [str(name) for name in evidence.raw.schema.names]
    place = {evidence.inputs[column].name: rank for rank, column in enumerate(evidence.order)}
    # the target is shown in a column of its own
    others = [c for c in range(len(known)) if known[c] != evidence.about.get("target")]
    shown = sorted(sorted(others, key=lambda c: place.get(known[c], len(place)))[:_MOST_COLUMNS])
    values = [[_value(evidence.raw.column(c)[int(row)]) for c in shown] for row in rows]
    return RowValues([known[c] for c in shown], values, len(others) - len(shown))


def _value(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except ValueError:  # nanoseconds, which Python's datetime does not have
        return str(scalar)
