"""Columns of words: one-hot encoding, with one feature per level.

Rare levels share one feature, "(other)", and so do levels that were not seen in training. (If no
level was rare there is no such feature, and for a new level all features are 0.) A missing text is
a level of its own.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...data.row_checks import Reasons
from ...data.sources import Place
from ...exceptions import DataError
from ...files.model_format import field, texts
from .profile import Holds

MOST_LEVELS = 50  # with a feature of their own
_MOST_COUNTED = 100_000  # different texts in one column; a limit on memory
_MOST_BYTES = 2**26  # of all these texts together
_SHOWN, _LETTERS = 3, 20  # levels in a profile, and characters of each
_A_FEW_ROWS = 10  # a level in fewer rows is rare, in a small table one in fewer than 1 %


@dataclass(frozen=True)
class Text:
    """A column of words."""

    name: str
    levels: tuple[str, ...]  # the empty text means a missing one
    pooled: bool  # whether there were rare levels, which share a feature

    kind = "text"

    @property
    def feature_names(self) -> tuple[str, ...]:
        names = [f"{self.name}={level or '(missing)'}" for level in self.levels]
        return (*names, f"{self.name}=(other)") if self.pooled else tuple(names)

    def encode(self, column: pa.Array, features: np.ndarray, place: Place) -> Reasons:
        words = as_words(column, self.name, place)
        codes = pc.index_in(words, pa.array(self.levels, words.type)).fill_null(len(self.levels))
        rows, codes = np.arange(len(words)), codes.to_numpy(zero_copy_only=False)
        known = codes < features.shape[1]  # without a pool, other levels have no feature
        features[:] = 0.0
        features[rows[known], codes[known]] = 1.0
        return {}

    def header(self) -> dict[str, Any]:
        return {"name": self.name, "levels": list(self.levels), "pooled": self.pooled}

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> "Text":
        return cls(
            field(header, "name", str), texts(header, "levels"), field(header, "pooled", bool)
        )


class TextLearner:
    """Counts the levels in one pass over a column, up to a limit."""

    kind = Text.kind

    def __init__(self, name: str, notes: tuple[str, ...] = ()) -> None:
        self._name, self._notes = name, notes
        self._counts: Counter[str] | None = Counter()
        self._bytes = 0

    def add(self, column: pa.Array, place: Place) -> None:
        words = as_words(column, self._name, place)
        if self._counts is None:
            return
        for pair in pc.value_counts(words).to_pylist():
            word = pair["values"]
            if word not in self._counts:
                self._bytes += len(word)
            self._counts[word] += pair["counts"]
        if len(self._counts) > _MOST_COUNTED or self._bytes > _MOST_BYTES:
            self._counts = None

    def learned(self, n_rows: int) -> "Text | str":
        if self._counts is None:
            return "holds too many different texts"
        if len(self._counts) == 1:
            return "never changes" if "" not in self._counts else "has no value in any row"
        rare_below = max(2, min(_A_FEW_ROWS, n_rows // 100))
        common = [w for w, count in self._counts.most_common(MOST_LEVELS) if count >= rare_below]
        if not common:
            return f"holds {len(self._counts):,} different texts, each in very few rows"
        return Text(self._name, tuple(sorted(common)), len(common) < len(self._counts))

    def holds(self) -> Holds:
        if self._counts is None:
            return Holds(f"more than {_MOST_COUNTED:,} levels", 0, self._notes)
        levels = [word for word, _ in self._counts.most_common(_SHOWN + 1) if word][:_SHOWN]
        count = len(self._counts) - ("" in self._counts)
        names = ", ".join(
            word if len(word) <= _LETTERS else word[:_LETTERS] + "..." for word in levels
        )
        shown = f"{count:,} level{'s' if count != 1 else ''}: {names}"
        return Holds(shown + (", ..." if count > _SHOWN else ""), self._counts[""], self._notes)

    def sample(self, column: pa.Array, place: Place) -> np.ndarray:
        """One number for each different text, to compare rows with the target."""
        words = as_words(column, self._name, place).to_pylist()
        return np.array([hash(word) for word in words], np.float64)


def as_words(column: pa.Array, name: str, place: Place) -> pa.Array:
    """The column as text, empty where a value is missing."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    try:
        return column.cast(pa.large_string()).fill_null("")
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise DataError(
            f"{place.name}: column {name!r} holds {column.type}, which cannot be read as text "
            f"({error}). The model was fitted to a column of text."
        ) from error
