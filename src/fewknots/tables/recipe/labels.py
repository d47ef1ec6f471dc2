"""The target: any two values, as 0 and 1.

The same label looks different in different files: true in Parquet, True in a CSV, 1 and 1.0. So
labels are compared by their text, in which all of these agree with themselves.
"""

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from ...data.cells import is_gap, labels
from ...data.row_checks import Reasons, missing_value
from ...data.sources import Place
from ...data.table_columns import label_kind
from ...data.targets import LabelCodes
from ...exceptions import DataError, ModelFileError
from ...files.model_format import field
from .profile import ColumnProfile

Label = bool | int | float | str
_LABEL_KINDS = ("numbers", "text", "nothing")


@dataclass(frozen=True)
class Labels:
    """The column with the labels, and which of its two values is to be predicted."""

    target: str
    negative: Label
    positive: Label

    def codes(self, column: pa.Array, place: Place) -> np.ndarray:
        """1 where a label is the positive one, 0 where it is the other."""
        codes, reasons = self.codes_where_known(column, place)
        if reasons:
            raise missing_value(f"column {self.target!r}", place.row(min(reasons)))
        return codes

    def codes_where_known(self, column: pa.Array, place: Place) -> tuple[np.ndarray, Reasons]:
        """The same, and which rows have no label (their code is 0); a third label is an error."""
        known = np.array([label_text(self.negative), label_text(self.positive)], object)
        texts, _, absent = _texts(column, self.target, place)
        gaps = [text for text in set(texts) - set(known) if is_gap(text)]
        absent |= np.isin(texts, gaps)
        codes = LabelCodes(f"column {self.target!r}", known)
        codes.codes(np.where(absent, known[0], texts), place)  # for its errors
        reason = f"column {self.target!r} has no label"
        reasons = dict.fromkeys(map(int, np.flatnonzero(absent)), reason)
        return (texts == known[1]).astype(np.int64), reasons

    def header(self) -> dict[str, Any]:
        """The labels as JSON."""
        return {"target": self.target, "negative": self.negative, "positive": self.positive}

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> "Labels":
        """Read what `header` wrote, trusting none of it."""
        target = field(header, "target", str)
        negative, positive = header.get("negative"), header.get("positive")
        if not (isinstance(negative, Label) and isinstance(positive, Label)):
            raise ModelFileError("its two labels are not texts or numbers.")
        if label_text(negative) == label_text(positive):
            raise ModelFileError("its two labels are the same.")
        return cls(target, negative, positive)


class LabelLearner:
    """Sees the target once, to find its two values."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._codes = LabelCodes(f"column {target!r}", None, most=2)
        self._values: dict[str, Label] = {}
        self._counts: Counter[str] = Counter()

    def add(self, column: pa.Array, place: Place) -> np.ndarray:
        """Take note of these rows, as 0 and 1 in order of appearance.

        A third label, or none, is an error that says where it is.
        """
        texts, values, absent = _texts(column, self._target, place)
        if absent.any():
            raise missing_value(f"column {self._target!r}", place.row(int(np.argmax(absent))))
        codes = self._codes.codes(texts, place)
        self._values = values | self._values
        self._counts.update(texts.tolist())
        return codes

    def profile(self) -> ColumnProfile:
        """The target's line in the table of columns."""
        total = max(1, self._counts.total())
        shares = [f"{text} ({count / total:.1%})" for text, count in sorted(self._counts.items())]
        return ColumnProfile(self._target, "target", ", ".join(shares), 0)

    def labels(self, positive: str | None) -> Labels:
        """The two labels; without a choice the greater one (true, 1, the later word) counts."""
        known = [str(text) for text in self._codes.classes()]
        values = sorted((self._values[text] for text in known), key=_order)
        if positive is None:
            return Labels(self._target, *values)
        chosen = [value for value in values if label_text(value) in _readings(positive)]
        if len(chosen) != 1:
            raise DataError(
                f"the positive label is to be {positive!r}, but column {self._target!r} holds "
                f"{values[0]!r} and {values[1]!r}."
            )
        (other,) = (value for value in values if value is not chosen[0])
        return Labels(self._target, other, chosen[0])


def label_text(label: Any) -> str:
    """What a label is compared by."""
    if isinstance(label, bool | np.bool_):
        return "true" if label else "false"
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    return str(label)


def _order(label: Label) -> tuple[bool, Any]:
    return isinstance(label, str), label


def _readings(text: str) -> set[str]:
    """What someone may mean who types this."""
    readings = {text}
    if text.lower() in ("true", "false"):
        readings.add(text.lower())
    with suppress(ValueError):  # not a number
        readings.add(label_text(float(text)))
    return readings


def _texts(
    column: pa.Array, target: str, place: Place
) -> tuple[np.ndarray, dict[str, Label], np.ndarray]:
    """Each row's label as text, what the texts stand for, and which rows have none."""
    schema = pa.schema([(target, column.type)])
    if label_kind(schema, target) not in _LABEL_KINDS:
        raise DataError(
            f"column {target!r} of {place.name}, the target, holds {label_kind(schema, target)}. "
            "Labels are text, numbers or true and false."
        )
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    values: list[Any] = column.dictionary.to_pylist()
    values = [float(value) if isinstance(value, Decimal) else value for value in values]
    if place.layout.cells_are_text:
        values = [*labels([value or "" for value in values], place.layout.decimal)]
    codes = column.indices.fill_null(len(values)).to_numpy(zero_copy_only=False)
    # An empty field of a CSV's text column is an empty text, and means that there is no label.
    absent = np.array([value is None or value == "" or value != value for value in values] + [True])
    texts = np.array([*map(label_text, values), ""], object)
    named = {
        text: value for text, value, gap in zip(texts, values, absent, strict=False) if not gap
    }
    return texts[codes], named, absent[codes]
