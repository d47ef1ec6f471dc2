"""The columns of a table as named inputs of an ONNX graph, and the features made from them.

| column  | input                        | a missing value                              |
|---------|------------------------------|----------------------------------------------|
| number  | float64                      | NaN                                          |
| boolean | float64: 1 and 0             | NaN                                          |
| date    | float64: days since 1970     | NaN                                          |
| text    | a text                       | the empty text                               |
| ordered | a text: the level            | the empty text                               |

Durations are numbers of days. A model that was fitted to an array with gaps has the whole matrix
"X" as its input, with NaN for gaps.

Each input has one value per row. ONNX has no dates, so the caller converts them to days, with the
time of day as a fraction; if a column has a time zone, in local time. If a value is missing in a
column that had no missing values in training, the probability is NaN, because a graph cannot raise
an error (`fewknots predict` does not score such a row). The caller converts text such as `1,000`
and `NA` to numbers and NaN.

Numbers are float64 in float32 models too: float32 cannot represent the minutes of a date, or units
of a large number.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..tables.recipe import Recipe
from ..tables.recipe.dates import DAYS_A_YEAR, MONDAY, Date
from ..tables.recipe.input_columns import InputColumns
from ..tables.recipe.numbers import Number
from ..tables.recipe.ordered import Ordered
from ..tables.recipe.texts import Text
from .graph import Graph, Tensor, side_by_side, where

_FLOAT64 = np.dtype(np.float64)
_TEXTS = ("text", "ordered")  # kinds whose values are texts


def features_of(recipe: Recipe, graph: Graph, rows: str) -> Tensor:
    """N×D features; adds an input for each column to the graph."""
    dtypes = [np.dtype(object) if c.kind in _TEXTS else _FLOAT64 for c in recipe.columns]
    # All inputs first: so the graph avoids their names for its own arrays.
    named = zip(recipe.names, dtypes, strict=True)
    inputs = [graph.input(name, dtype, rows) for name, dtype in named]
    return _side_by_side(recipe, [value.unsqueezed(1) for value in inputs])


def features_of_matrix(columns: InputColumns, graph: Graph, rows: str, dtype: Any) -> Tensor:
    """The same of one input "X", where columns have no names: all of them are numbers."""
    width = len(columns.names)
    X = graph.input("X", dtype, rows, width).cast(_FLOAT64).columns(width)
    return _side_by_side(columns.recipe, [X[columns.place(name)] for name in columns.recipe.names])


def _side_by_side(recipe: Recipe, values: list[Tensor]) -> Tensor:
    parts: list[Tensor] = []
    for column, value in zip(recipe.columns, values, strict=True):
        parts += _FEATURES[column.kind](column, value)
    return side_by_side(*parts)


def _of_number(column: Number, value: Tensor) -> list[Tensor]:
    if column.fill is None:
        return [value]
    absent = _is_nan(value)
    filled = where(absent, value.graph.number(column.fill, _FLOAT64), value)
    return [filled, absent.cast(_FLOAT64)]


def _of_date(column: Date, days: Tensor) -> list[Tensor]:
    graph, features = days.graph, [days]
    for circle in column.circles:
        angle = _turns(circle, days) * (2.0 * np.pi)
        features += [graph.apply("Sin", angle), graph.apply("Cos", angle)]
    if column.fill is None:
        return features
    absent = _is_nan(days)
    fills = [column.fill] + [0.0] * (len(features) - 1)
    filled = [
        where(absent, graph.number(fill, _FLOAT64), feature)
        for fill, feature in zip(fills, features, strict=True)
    ]
    return [*filled, absent.cast(_FLOAT64)]


def _of_text(column: Text, text: Tensor) -> list[Tensor]:
    """One-hot encoding: the index of the level, by a table of texts, then a 1 at this index."""
    graph, count = text.graph, len(column.levels)
    code = graph.apply(
        "LabelEncoder",
        text,
        dtype=np.int64,
        domain="ai.onnx.ml",
        keys_strings=list(column.levels),
        values_int64s=list(range(count)),
        default_int64=count,
    )
    width = count + column.pooled  # without a pool, other levels have no feature
    numbers = graph.array(np.arange(width)[None, :], np.int64)
    return [graph.apply("Equal", code, numbers, dtype=np.bool_).cast(_FLOAT64)]


def _of_ordered(column: Ordered, text: Tensor) -> list[Tensor]:
    """The number of the level, by a table of texts; NaN for another text."""
    number = text.graph.apply(
        "LabelEncoder",
        text,
        dtype=np.float32,
        domain="ai.onnx.ml",
        keys_strings=list(column.levels),
        values_floats=[float(place) for place in range(len(column.levels))],
        default_float=math.nan,
    )
    return _of_number(column, number.cast(_FLOAT64))


_FEATURES: dict[str, Callable[[Any, Tensor], list[Tensor]]] = {
    "number": _of_number,
    "boolean": _of_number,
    "date": _of_date,
    "text": _of_text,
    "ordered": _of_ordered,
}


def _is_nan(x: Tensor) -> Tensor:
    return x.graph.apply("IsNaN", x, dtype=np.bool_)


def _turns(circle: str, days: Tensor) -> Tensor:
    """Position on the circle in turns, as in `recipe.dates`."""
    if circle == "time of day":
        return days
    whole = days.graph.apply("Floor", days)
    return (whole - MONDAY) / 7.0 if circle == "day of week" else whole / DAYS_A_YEAR
