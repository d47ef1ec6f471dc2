"""The kind of a column by its type, and the names of the kinds in a model file."""

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa

from ...data.cells import is_text
from ...data.sources import Place
from .dates import Date, DateLearner
from .numbers import Flag, Number, NumberLearner
from .profile import Holds
from .reasons import Reasons
from .texts import Text, TextLearner
from .written import WrittenLearner


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
        """The names of its features."""

    def encode(self, column: pa.Array, features: np.ndarray, place: Place) -> Reasons:
        """Write the features of these rows to an array that has a column for each feature.

        Rows for which this is not possible get a reason, and may get NaN.
        """

    def header(self) -> dict[str, Any]:
        """The encoding as JSON, for the method `from_header` of its class."""


@runtime_checkable
class Learner(Protocol):
    """Learns the encoding of one column from all its rows, piece by piece."""

    @property
    def kind(self) -> str:
        """The kind of the column; "nothing" until it has a value."""

    def add(self, column: pa.Array, place: Place) -> None:
        """Learn from these rows."""

    def learned(self, n_rows: int) -> Column | str:
        """The column's encoding, or the reason why it cannot be used."""

    def holds(self) -> Holds:
        """A summary of the contents, for the user."""

    def sample(self, column: pa.Array, place: Place) -> np.ndarray:
        """These rows, which were passed to `add`, as one number each, NaN for a gap."""


KINDS: dict[str, Callable[[dict[str, Any]], Column]] = {
    "number": Number.from_header,
    "boolean": Flag.from_header,
    "date": Date.from_header,
    "text": Text.from_header,
}
CHOICES = ("text", "number", "date")  # kinds that a user may choose


def learner_for(field: pa.Field, kind: str | None, from_csv: bool) -> Learner | str:
    """The learner for a column of this type, or the reason why there is none.

    kind : the user's choice, one of `CHOICES`; None: decided by the type and the values
    from_csv : whether the column is text because all columns of a CSV are
    """
    types, dtype, name = pa.types, field.type, field.name
    if kind == "text" or (types.is_dictionary(dtype) and kind is None):
        return TextLearner(name)
    if kind == "number":
        return NumberLearner(name, Number, words_are_gaps=True)
    if kind == "date":
        zone = dtype.tz if types.is_timestamp(dtype) else None
        return DateLearner(name, zone, words_are_gaps=True)
    if is_text(dtype):
        return WrittenLearner(name, from_csv)
    if types.is_boolean(dtype):
        return NumberLearner(name, Flag)
    if types.is_integer(dtype) or types.is_floating(dtype) or types.is_decimal(dtype):
        return NumberLearner(name, Number)
    if types.is_date(dtype):
        return DateLearner(name, None)
    if types.is_timestamp(dtype):
        return DateLearner(name, dtype.tz)
    if types.is_null(dtype):
        return "has no value in any row"
    return f"holds values of type {dtype}, which there is no recipe for"
