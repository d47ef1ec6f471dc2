"""Which kind of column a type makes, and how the kinds are called in a model file."""

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa

from ..data.sources import Place
from .dates import Date, DateLearner
from .numbers import Flag, Number, NumberLearner
from .texts import Text, TextLearner


@runtime_checkable
class Column(Protocol):
    """How one column of a table becomes one or more features."""

    @property
    def name(self) -> str:
        """The column in the table."""

    @property
    def kind(self) -> str:
        """What the column holds: "number", "boolean", "date" or "text"."""

    @property
    def feature_names(self) -> tuple[str, ...]:
        """What its features are called."""

    def csv_type(self, guessed: pa.DataType) -> pa.DataType:
        """The type to read it as in a CSV file, whose first rows look like `guessed`."""

    def encode(self, column: pa.Array, features: np.ndarray, place: Place) -> None:
        """Write the features of these rows to the array, which has a column for each."""

    def header(self) -> dict[str, Any]:
        """All of it as JSON; the class's `from_header` reads that."""


@runtime_checkable
class Learner(Protocol):
    """Sees all rows of one column, piece by piece, to find out how to encode it."""

    def add(self, column: pa.Array, place: Place) -> None:
        """Take note of these rows."""

    def learned(self, n_rows: int) -> Column | str:
        """The column's encoding, or the reason why it cannot be used."""


KINDS: dict[str, Callable[[dict[str, Any]], Column]] = {
    "number": Number.from_header,
    "boolean": Flag.from_header,
    "date": Date.from_header,
    "text": Text.from_header,
}


def learner_for(field: pa.Field, as_text: bool) -> Learner | str:
    """Who learns from a column of this type, or why nobody does."""
    types, dtype = pa.types, field.type
    if types.is_dictionary(dtype) or as_text or _is_text(dtype):
        return TextLearner(field.name)
    if types.is_boolean(dtype):
        return NumberLearner(field.name, Flag)
    if types.is_integer(dtype) or types.is_floating(dtype) or types.is_decimal(dtype):
        return NumberLearner(field.name, Number)
    if types.is_date(dtype):
        return DateLearner(field.name, None)
    if types.is_timestamp(dtype):
        return DateLearner(field.name, dtype.tz)
    if types.is_null(dtype):
        return "has no value in any row"
    return f"holds values of type {dtype}, which there is no recipe for"


def type_to_learn_from(field: pa.Field, as_text: bool) -> pa.DataType:
    """The type to read a CSV's column as, whose first rows look like `field.type`.

    Whole numbers may be followed by a 0.5, and a column that begins empty may hold anything.
    """
    dtype = field.type
    if as_text or pa.types.is_null(dtype) or pa.types.is_binary(dtype):
        return pa.string()
    return pa.float64() if pa.types.is_integer(dtype) else dtype


def _is_text(dtype: pa.DataType) -> bool:
    types = pa.types
    return types.is_string(dtype) or types.is_large_string(dtype) or types.is_string_view(dtype)
