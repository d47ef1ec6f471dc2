"""Converts a whole table to numbers."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from ...data.sources import Place
from ...data.table_columns import check_presence
from ...exceptions import ModelFileError
from .columns import KINDS, Column
from .header import field
from .reasons import Reasons, joined, refuse


@dataclass(frozen=True)
class Recipe:
    """The columns of a table that a model uses, and the encoding of each."""

    columns: tuple[Column, ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns that a table must have, in any order; other columns are allowed."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """One name for each feature, for instance "carrier=AA"."""
        return tuple(name for column in self.columns for name in column.feature_names)

    def encode(self, table: "pa.RecordBatch | pa.Table", place: Place) -> np.ndarray:
        """The features of all rows; `place` is the origin of the rows, for error messages."""
        features, reasons = self.encode_what_can_be(table, place)
        if reasons:
            refuse(reasons, place)
        return features

    def encode_what_can_be(
        self, table: "pa.RecordBatch | pa.Table", place: Place
    ) -> tuple[np.ndarray, Reasons]:
        """The features of all rows, and the reasons for rows without features (set to zero)."""
        check_presence(table.schema, place.name, self.names)
        features = np.empty((table.num_rows, len(self.feature_names)))
        reasons: Reasons = {}
        done = 0
        for batch in table.to_batches() if isinstance(table, pa.Table) else [table]:
            rows = features[done : done + batch.num_rows]
            found: Reasons = {}
            first = 0
            for column in self.columns:
                beyond = first + len(column.feature_names)
                own = column.encode(
                    batch.column(column.name), rows[:, first:beyond], place.row(done)
                )
                found = joined(found, own)
                first = beyond
            rows[list(found)] = 0.0
            reasons |= {done + row: reason for row, reason in found.items()}
            done += batch.num_rows
        return features, reasons

    def header(self) -> dict[str, Any]:
        """The recipe as JSON."""
        return {"columns": [{"kind": column.kind} | column.header() for column in self.columns]}

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> "Recipe":
        """The inverse of `header`; nothing in a file is trusted."""
        columns = []
        for entry in field(header, "columns", list):
            kind = field(entry, "kind", str)
            if kind not in KINDS:
                raise ModelFileError(f"this fewknots has no recipe for columns of kind {kind!r}.")
            columns.append(KINDS[kind](entry))
        recipe = cls(tuple(columns))
        if len(set(recipe.names)) < len(recipe.names):
            raise ModelFileError("its recipe names a column twice.")
        return recipe
