"""The target: any values, encoded as the numbers 0, 1, ... of classes.

The same label can look different in different files: true in Parquet, True in a CSV, 1 and 1.0. So
labels are compared by a common text form. Whether the cells of a CSV are numbers, booleans or texts
is decided for the whole column, not for a piece of it.

Each piece of a table is looked at through its distinct labels, of which there are few.
"""

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa

from ...data.cells import is_gap, typed_labels
from ...data.row_checks import Reasons
from ...data.sources import Place, missing_value
from ...data.table_columns import label_kind
from ...data.targets import LabelCodes
from ...exceptions import DataError, ModelFileError
from ...files.model_format import field
from .profile import ColumnProfile

Label = bool | int | float | str
_LABEL_KINDS = ("numbers", "text", "nothing")
_LISTED = 3  # labels of many, in a message or a profile
_RARE = 5  # a class in fewer rows can hardly be learned


@dataclass(frozen=True)
class Labels:
    """The column with the labels, and all its values in the order of their numbers.

    Two values: the second one is the positive label.
    """

    target: str
    values: tuple[Label, ...]
    learns: ClassVar = "classes"

    @property
    def n_classes(self) -> int:
        """The number of labels."""
        return len(self.values)

    @property
    def negative(self) -> Label:
        """The first of two labels."""
        return self.values[0]

    @property
    def positive(self) -> Label | None:
        """The second of two labels; None if there are more."""
        return self.values[1] if len(self.values) == 2 else None

    def codes(self, column: pa.Array, place: Place) -> np.ndarray:
        """The number of each label; raise an error for a row without a label, or with an unknown
        one.
        """
        piece = _Piece.of(column, self.target, place)
        of_label, absent = self._distinct(piece)
        piece.check_present(absent, self.target, place)
        codes = of_label[piece.which]
        if (codes < 0).any():
            known = np.array([label_text(value) for value in self.values], object)
            row = int(np.argmax(codes < 0))
            unknown = piece.texts[piece.which[row : row + 1]]
            LabelCodes(f"column {self.target!r}", known).codes(unknown, place.row(row))
        return codes

    def codes_where_known(
        self, column: pa.Array, place: Place
    ) -> tuple[np.ndarray, Reasons, Counter[str]]:
        """The same, why some rows have no known label, and which labels were not seen in the fit.

        The number of such a row is 0; unseen labels are counted.
        """
        piece = _Piece.of(column, self.target, place)
        codes, absent = self._distinct(piece)
        target, unseen = f"column {self.target!r}", Counter[str]()
        of_label = dict.fromkeys(np.flatnonzero(absent).tolist(), f"{target} has no label")
        counts = np.bincount(piece.which, minlength=len(codes))
        for label in np.flatnonzero((codes < 0) & (counts > 0)).tolist():
            text = str(piece.texts[label])
            unseen[text] += int(counts[label])
            of_label[label] = f"{target} is {text!r}, which is none of the labels of the fit"
        rows = np.flatnonzero(np.isin(piece.which, list(of_label)))
        reasons = {int(row): of_label[piece.which[row]] for row in rows}
        return np.maximum(codes, 0)[piece.which], reasons, unseen

    def _distinct(self, piece: "_Piece") -> tuple[np.ndarray, np.ndarray]:
        """For each distinct label its number (-1 if unknown) and whether it is a gap."""
        known = {label_text(value): code for code, value in enumerate(self.values)}
        forms = zip(piece.texts, piece.alone, strict=True)
        codes = np.array([known.get(a, known.get(b, -1)) for a, b in forms], np.int64)
        gaps = np.array([is_gap(text) for text in piece.texts], bool)
        absent = piece.absent | (gaps & (codes < 0))
        return np.where(absent, 0, codes), absent

    def header(self) -> dict[str, Any]:
        """The labels as JSON; two labels in the format of older files, which had no more."""
        if len(self.values) == 2:
            return {"target": self.target, "negative": self.values[0], "positive": self.values[1]}
        return {"target": self.target, "classes": list(self.values)}

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> "Labels":
        """Read what `header` wrote, trusting none of it."""
        target = field(header, "target", str)
        values = header.get("classes", [header.get("negative"), header.get("positive")])
        if not (isinstance(values, list) and len(values) >= 2):
            raise ModelFileError("its labels are not two or more.")
        if not all(isinstance(value, Label) for value in values):
            raise ModelFileError("its labels are not texts or numbers.")
        if len(set(map(label_text, values))) < len(values):
            raise ModelFileError("two of its labels are the same.")
        return cls(target, tuple(values))


class LabelLearner:
    """Sees the target once, to find its values."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._codes = LabelCodes(f"column {target!r}", None)
        self._values: dict[str, Label] = {}
        self._code_of: dict[str, int] = {}
        self._counts: Counter[str] = Counter()
        self._written = False  # whether all values are text, as in a CSV

    def add(self, column: pa.Array, place: Place) -> np.ndarray:
        """Return these rows as 0, 1, ... in order of appearance.

        Raise an error, with its place, for a missing label or for too many different ones.
        """
        piece = _Piece.of(column, self._target, place)
        piece.check_present(piece.absent, self._target, place)
        self._written = place.layout.cells_are_text
        counts = np.bincount(piece.which, minlength=len(piece.texts))
        for label in np.flatnonzero(counts).tolist():
            text = piece.texts[label]
            if text not in self._code_of:
                where = place.row(piece.first_row(label))
                self._code_of[text] = int(self._codes.codes(piece.texts[[label]], where)[0])
                self._values[text] = piece.values[label]
            self._counts[text] += int(counts[label])
        codes = np.array([self._code_of.get(text, -1) for text in piece.texts])
        return codes[piece.which]

    def profile(self) -> ColumnProfile:
        """The target's line in the table of columns."""
        counts, meant = Counter[str](), self._meant()
        for text, count in self._counts.items():
            counts[label_text(meant[text])] += count
        total = max(1, counts.total())
        shares = {text: f"{text} ({count / total:.1%})" for text, count in counts.items()}
        if len(shares) == 2:
            holds = ", ".join(shares[text] for text in sorted(shares))
            return ColumnProfile(self._target, "target", holds, 0)
        frequent = [shares[text] for text, _ in counts.most_common(_LISTED)]
        more = ", ..." if len(shares) > _LISTED else ""
        holds = f"{len(shares):,} classes: {', '.join(frequent)}{more}"
        rare = sorted(text for text, count in counts.items() if count < _RARE)
        notes = (f"in fewer than {_RARE} rows: {_some(rare)}",) if rare else ()
        return ColumnProfile(self._target, "target", holds, 0, notes)

    def labels(self, positive: str | None) -> Labels:
        """All labels, sorted; of two labels the greater one (true, 1, the later word) is positive.

        positive : the positive label, if not this one
        """
        self._codes.classes()  # there are two or more
        distinct: dict[str, Label] = {}
        for value in self._meant().values():
            distinct.setdefault(label_text(value), value)
        values = sorted(_of_one_kind([*distinct.values()]), key=_order)
        if positive is None:
            return Labels(self._target, tuple(values))
        if len(values) > 2:
            raise DataError(
                f"--positive chooses between two labels, but column {self._target!r} holds "
                f"{len(values):,} ({_some(map(repr, values))}). Leave it out: each label gets its "
                "probability."
            )
        chosen = [value for value in values if label_text(value) in _readings(positive)]
        if len(chosen) != 1:
            raise DataError(
                f"--positive is {positive!r}, but column {self._target!r} holds "
                f"{values[0]!r} and {values[1]!r}."
            )
        (other,) = (value for value in values if value is not chosen[0])
        return Labels(self._target, (other, chosen[0]))

    def _meant(self) -> dict[str, Label]:
        """The label that each text stands for."""
        if not self._written:
            return self._values
        return dict(zip(self._code_of, self._codes.values(), strict=True))


def label_text(label: Any) -> str:
    """The text form by which labels are compared."""
    if isinstance(label, bool | np.bool_):
        return "true" if label else "false"
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    return str(label)


def _some(texts: Iterable[str]) -> str:
    """The first few of many texts."""
    listed = list(texts)
    return ", ".join(listed[:_LISTED]) + (", ..." if len(listed) > _LISTED else "")


def _of_one_kind(values: list[Label]) -> list[Label]:
    """As texts if some are texts: one file may have numbers and the next one words."""
    several = len({isinstance(value, str) for value in values}) > 1
    return [label_text(value) for value in values] if several else values


def _order(label: Label) -> tuple[bool, Any]:
    return isinstance(label, str), label


def _readings(text: str) -> set[str]:
    """The values that a typed text may stand for."""
    readings = {text}
    if text.lower() in ("true", "false"):
        readings.add(text.lower())
    with suppress(ValueError):  # not a number
        readings.add(label_text(float(text)))
    return readings


class _Piece(NamedTuple):
    """The labels of some rows: the distinct ones, and which of them each row has."""

    texts: np.ndarray  # for a CSV, as they are written
    alone: list[str]  # in another form: the value of each text when read alone
    values: list[Any]  # what the texts stand for
    absent: np.ndarray  # whether it is no label
    which: np.ndarray

    def first_row(self, label: int) -> int:
        """The first row with this label."""
        return int(np.argmax(self.which == label))

    def check_present(self, absent: np.ndarray, target: str, place: Place) -> None:
        """Raise an error if a row has one of the distinct labels that are `absent`."""
        if absent[self.which].any():
            row = int(np.argmax(absent[self.which]))
            raise missing_value(f"column {target!r}", place.row(row))

    @classmethod
    def of(cls, column: pa.Array, target: str, place: Place) -> "_Piece":
        """The piece that a column is; the last distinct label stands for null."""
        schema = pa.schema([(target, column.type)])
        if label_kind(schema, target) not in _LABEL_KINDS:
            raise DataError(
                f"column {target!r} of {place.name}, the target, holds "
                f"{label_kind(schema, target)}. Labels are text, numbers or true and false."
            )
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        values: list[Any] = column.dictionary.to_pylist()
        values = [float(value) if isinstance(value, Decimal) else value for value in values]
        which = column.indices.fill_null(len(values)).to_numpy(zero_copy_only=False)
        # An empty field of a CSV's text column is an empty text, and means that there is no label.
        absent = [value is None or value == "" or value != value for value in values]
        texts = alone = [*map(label_text, values), ""]
        if place.layout.cells_are_text:
            alone = [label_text(typed_labels([text], [place.layout.decimal])[0]) for text in texts]
        return cls(np.array(texts, object), alone, values, np.array([*absent, True]), which)
