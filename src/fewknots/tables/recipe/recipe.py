"""Converts a whole table to numbers, as learned in one pass over its rows (learner.py).

The features of a value that is missing, in a column that had none missing in the rows of the fit,
are NaN in `features`: the caller decides what becomes of such rows. `encode` refuses them.

Nothing here needs pyarrow before a column does.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...data.row_checks import Reasons, joined, missing, refuse
from ...data.sources import Place
from ...exceptions import ModelFileError
from ...files.model_format import field
from .contract import Column
from .numbers import Flag, Number

if TYPE_CHECKING:
    import pyarrow as pa

_OF_NUMBERS: dict[str, Callable[[dict[str, Any]], Column]] = {
    "number": Number.from_header,
    "boolean": Flag.from_header,
}


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
        import pyarrow as pa

        from ...data.table_columns import check_presence

        check_presence(table.schema, place.name, self.names)
        features = np.empty((table.num_rows, len(self.feature_names)))
        reasons: Reasons = {}
        done = 0
        for batch in table.to_batches() if isinstance(table, pa.Table) else [table]:
            rows = features[done : done + batch.num_rows]
            found = self._write(rows, batch.column, place.row(done), gaps_are_reasons=True)
            rows[list(found)] = 0.0
            reasons |= {done + row: reason for row, reason in found.items()}
            done += batch.num_rows
        return features, reasons

    def features(self, column: Callable[[str], Any], n_rows: int, place: Place) -> np.ndarray:
        """The features of rows in memory; NaN for a gap in a column that had none at the fit.

        column : the values of the column of this name.
        """
        features = np.empty((n_rows, len(self.feature_names)))
        reasons = self._write(features, column, place, gaps_are_reasons=False)
        if reasons:
            refuse(reasons, place)
        return features

    def _write(
        self,
        features: np.ndarray,
        column_of: Callable[[str], Any],
        place: Place,
        gaps_are_reasons: bool,
    ) -> Reasons:
        """Write the features of some rows; the reasons for those where it is not possible."""
        found: Reasons = {}
        first = 0
        for column in self.columns:
            beyond = first + len(column.feature_names)
            own = features[:, first:beyond]
            reasons = column.encode(column_of(column.name), own, place)
            if gaps_are_reasons:
                reasons = missing(column.name, np.isnan(own[:, 0])) | reasons
            found = joined(found, reasons)
            first = beyond
        return found

    def header(self) -> dict[str, Any]:
        """The recipe as JSON."""
        return {"columns": [{"kind": column.kind} | column.header() for column in self.columns]}

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> "Recipe":
        """The inverse of `header`; nothing in a file is trusted."""
        recipe = cls(tuple(map(_restored, field(header, "columns", list))))
        if len(set(recipe.names)) < len(recipe.names):
            raise ModelFileError("its recipe names a column twice.")
        return recipe


def _restored(entry: Any) -> Column:
    kind = field(entry, "kind", str)
    kinds = _OF_NUMBERS
    if kind not in kinds:
        from .columns import KINDS

        kinds = KINDS
    if kind not in kinds:
        raise ModelFileError(f"this fewknots has no recipe for columns of kind {kind!r}.")
    return kinds[kind](entry)
