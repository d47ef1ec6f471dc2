"""The kind of a column by its type, or by its contents, and the kinds' names in a model file.

In a column of text (`WrittenLearner`) the first piece of the table with any value decides:
booleans, numbers or ISO dates, if all its cells are of this kind or gaps; otherwise words. In
formats with column types (Parquet, Arrow) text is meant to be text, and only dates are recognised,
since many programs store dates as text.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...data import cells
from ...data.cells import is_text
from ...data.sources import ROWS_IN_A_BLOCK, Place
from .contract import Column, Learner
from .dates import Date, DateLearner
from .numbers import Flag, Number, NumberLearner
from .ordered import Ordered
from .profile import Holds
from .texts import Text, TextLearner

_MOSTLY = 0.9


class WrittenLearner:
    """Chooses a learner when the column has its first values, and passes all rows to it."""

    def __init__(self, name: str, from_csv: bool) -> None:
        self._name, self._from_csv = name, from_csv
        self._gaps: Counter[str] = Counter()  # texts of the gaps before the first value
        self._chosen: NumberLearner | DateLearner | TextLearner | None = None

    @property
    def kind(self) -> str:
        return "nothing" if self._chosen is None else self._chosen.kind

    def add(self, column: pa.Array, place: Place) -> None:
        if self._chosen is None:
            self._chosen = self._choice(column, place)
            if self._chosen is None:
                self._gaps.update(word or "" for word in column.to_pylist())
                return
            for word, count in self._gaps.items():  # rows before the first value
                for done in range(0, count, ROWS_IN_A_BLOCK):
                    some = pa.array([word] * min(count - done, ROWS_IN_A_BLOCK), column.type)
                    self._chosen.add(some, place)
        self._chosen.add(column, place)

    def learned(self, n_rows: int) -> Number | Date | Text | str:
        return "has no value in any row" if self._chosen is None else self._chosen.learned(n_rows)

    def holds(self) -> Holds:
        if self._chosen is None:
            return Holds("", sum(self._gaps.values()))
        return self._chosen.holds()

    def sample(self, column: pa.Array, place: Place) -> np.ndarray:
        if self._chosen is None:
            return np.full(len(column), np.nan)
        return self._chosen.sample(column, place)

    def _choice(
        self, column: pa.Array, place: Place
    ) -> NumberLearner | DateLearner | TextLearner | None:
        column = column.cast(pa.large_string())
        texts = [text for text in cells.distinct(column) if not cells.is_gap(text)]
        decimal = place.layout.decimal
        if not texts:
            return None
        if self._from_csv and all(cells.flag(text) is not None for text in texts):
            return NumberLearner(self._name, Flag)
        if self._from_csv and all(cells.number(text, decimal) is not None for text in texts):
            return NumberLearner(self._name, Number)
        if all(map(cells.is_moment, texts)):
            return DateLearner(self._name, "UTC" if cells.have_zone(column).any() else None)
        return TextLearner(self._name, self._notes(column, place))

    def _notes(self, column: pa.Array, place: Place) -> tuple[str, ...]:
        """A note if the column is mostly numbers or dates."""
        present = ~pc.is_in(column, value_set=pa.array([""], column.type)).to_numpy(
            zero_copy_only=False
        )
        for kind, read in (
            ("numbers", cells.numbers(column, place.layout.decimal)),
            ("dates", cells.moments(column)),
        ):
            other = read.unreadable
            if other.any() and other.sum() <= (1.0 - _MOSTLY) * present.sum():
                row = int(np.argmax(other))
                where = place.layout.row_name(place.first_row + row)
                shown = str(column[row].as_py())[:20]
                return (f"mostly {kind}, but {shown!r} in {where}",)
            if kind == "numbers" and present.any() and not other.any():
                return ("numbers stored as text",)
        return ()


KINDS: dict[str, Callable[[dict[str, Any]], Column]] = {
    "number": Number.from_header,
    "boolean": Flag.from_header,
    "date": Date.from_header,
    "text": Text.from_header,
    "ordered": Ordered.from_header,
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
    if types.is_duration(dtype):
        return NumberLearner(name, Number)
    if types.is_date(dtype) or types.is_time(dtype):
        return DateLearner(name, None)
    if types.is_timestamp(dtype):
        return DateLearner(name, dtype.tz)
    if types.is_null(dtype):
        return "has no value in any row"
    return f"holds values of type {dtype}, which there is no recipe for"
