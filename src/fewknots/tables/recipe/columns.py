"""Which kind of column a type makes, and how the kinds are called in a model file."""

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
        """What its features are called."""

    def encode(self, column: pa.Array, features: np.ndarray, place: Place) -> Reasons:
        """Write the features of these rows to the array, which has a column for each.

        Rows for which that is not possible get a reason, and may get NaN.
        """

    def header(self) -> dict[str, Any]:
        """All of it as JSON; the class's `from_header` reads that."""


@runtime_checkable
class Learner(Protocol):
    """Sees all rows of one column, piece by piece, to find out how to encode it."""

    @property
    def kind(self) -> str:
        """What the column is taken for; "nothing" as long as it shows none."""

    def add(self, column: pa.Array, place: Place) -> None:
        """Take note of these rows."""

    def learned(self, n_rows: int) -> Column | str:
        """The column's encoding, or the reason why it cannot be used."""

    def holds(self) -> Holds:
        """What was seen, for people."""

    def sample(self, column: pa.Array, place: Place) -> np.ndarray:
        """These rows, which `add` has had, as one number each, NaN for a gap."""


KINDS: dict[str, Callable[[dict[str, Any]], Column]] = {
    "number": Number.from_header,
    "boolean": Flag.from_header,
    "date": Date.from_header,
    "text": Text.from_header,
}
CHOICES = ("text", "number", "date")  # what a user may say that a column holds


def learner_for(field: pa.Field, kind: str | None, from_csv: bool) -> Learner | str:
    """Who learns from a column of this type, or why nobody does.

    kind : what the user says it holds, one of `CHOICES`; None: to be found out
    from_csv : whether the column is text because all columns are
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
