"""Columns of categories that have an order: small < medium < large.

A level becomes its position in the order, from 0, so the function changes smoothly from one level
to the next, as along any number. A level that was unknown at the fit counts as a gap.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...data.sources import Place
from ...files.model_format import field, finite, optional, texts
from .numbers import Number, NumberLearner
from .texts import as_words


@dataclass(frozen=True)
class Ordered(Number):
    """A column of ordered categories, as 0, 1, 2, ..."""

    levels: tuple[str, ...] = ()  # from the lowest to the highest

    kind = "ordered"

    def read(self, column: Any, place: Place) -> tuple[np.ndarray, np.ndarray]:
        words = as_words(column, self.name, place)
        places = pc.index_in(words, pa.array(self.levels, words.type)).cast(pa.float64())
        return places.to_numpy(zero_copy_only=False), np.zeros(len(words), bool)

    def header(self) -> dict[str, Any]:
        return {"name": self.name, "fill": self.fill, "levels": list(self.levels)}

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> "Ordered":
        fill = optional(header, "fill", finite)
        return cls(field(header, "name", str), fill, levels=texts(header, "levels"))


class OrderedLearner(NumberLearner):
    """Learns an `Ordered` in one pass over a column; its levels are known in advance."""

    def __init__(self, name: str, levels: tuple[str, ...]) -> None:
        super().__init__(name, Ordered)
        self._levels = levels

    def _column(self, fill: float | None) -> Ordered:
        return Ordered(self._name, fill, levels=self._levels)
