"""The roles of columns (feature, target, weight), and pieces of a table as blocks."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ..exceptions import DataError
from . import cells
from .row_checks import check_features, check_labels, check_weights
from .sources import Block, Place, missing_value

_EXACT_IN_FLOAT32 = (
    *(pa.bool_(), pa.int8(), pa.uint8(), pa.int16(), pa.uint16()),
    *(pa.float16(), pa.float32()),
)


@dataclass(frozen=True)
class Columns:
    """The roles of a table's columns, by name."""

    features: tuple[str, ...]
    target: str | None
    weight: str | None

    @classmethod
    def chosen(
        cls, schema: pa.Schema, table: str, target: Any, features: Sequence[Any] | None, weight: Any
    ) -> "Columns":
        """The user's choice, checked against the schema; `table` is its name in messages."""
        if isinstance(features, str):
            raise TypeError(f"features is {features!r}: pass a list of column names.")
        roles = (target, weight)
        given = tuple(name for name in schema.names if name not in roles)
        wanted = given if features is None else tuple(features)
        for name in (*wanted, *(role for role in roles if role is not None)):
            if not isinstance(name, str):
                raise TypeError(f"{table} has named columns, and {name!r} is not a name.")
        columns = cls(wanted, target, weight)
        columns.check_presence(schema, table)
        if not wanted:
            raise DataError(f"{table} has no column left to use as a feature.")
        if target is not None and target in wanted:
            raise DataError(
                f"column {target!r} is both target and feature: leave it out of features=."
            )
        name, times = Counter(wanted).most_common(1)[0]
        if times > 1:
            raise DataError(f"column {name!r} is named {times} times in features=.")
        return columns

    @property
    def used(self) -> tuple[str, ...]:
        """The distinct columns with a role."""
        roles = (*self.features, self.target, self.weight)
        return tuple(dict.fromkeys(name for name in roles if name is not None))

    @property
    def numeric(self) -> tuple[str, ...]:
        """The columns that must hold numbers."""
        return self.features if self.weight is None else (*self.features, self.weight)

    @property
    def target_name(self) -> str:
        """The name of the labels in messages."""
        return "the target" if self.target is None else f"column {self.target!r}"

    def check_presence(self, schema: pa.Schema, table: str, names: Sequence[str] = ()) -> None:
        """Check that each used column, and each of `names`, exists exactly once."""
        check_presence(schema, table, (*self.used, *names))

    def check_types(self, schema: pa.Schema, table: str) -> None:
        """Check that features and weight are numbers, and that the target can be labels."""
        self.check_presence(schema, table)
        for name in self.numeric:
            kind = _kind(schema.field(name).type)
            if kind not in ("numbers", "nothing"):
                raise DataError(
                    f"column {name!r} of {table} holds {kind}, not numbers. Encode it as numbers "
                    "first, or leave it out by naming the columns to use in features=."
                )
        if self.target is not None and label_kind(schema, self.target) not in _LABEL_KINDS:
            kind = label_kind(schema, self.target)
            raise DataError(
                f"column {self.target!r} of {table}, the target, holds {kind}. Labels are text, "
                "whole numbers or true and false."
            )

    def exact_in_float32(self, schema: pa.Schema) -> bool:
        """Whether float32 is exact for the values of all columns, by their types."""
        return all(schema.field(name).type in _EXACT_IN_FLOAT32 for name in self.numeric)

    def block(self, batch: pa.RecordBatch, place: Place, keep: Sequence[str]) -> Block:
        """The rows of `batch` as arrays, checked."""
        X = np.empty((batch.num_rows, len(self.features)))
        for column, name in enumerate(self.features):
            X[:, column] = _values(batch, name, place)
        check_features(X, self.features, place)
        labels = weights = None
        if self.target is not None:
            labels = _labels(batch, self.target, place)
        if self.weight is not None:
            weights = _values(batch, self.weight, place).astype(np.float64)
            check_weights(weights, f"column {self.weight!r}", place)
        return Block(X, labels, weights, batch.select(list(keep)) if keep else None, place)


def check_presence(schema: pa.Schema, table: str, names: Sequence[str]) -> None:
    """Check that each of `names` is a column of `table` exactly once."""
    counts = Counter(schema.names)
    for name in names:
        found = counts[name]
        if found == 0:
            raise DataError(
                f"{table} has no column {name!r}. Its columns are {_listed(schema.names)}."
            )
        if found > 1:
            raise DataError(f"{table} has {found} columns named {name!r}: rename them.")


_LABEL_KINDS = ("numbers", "text", "nothing")


def label_kind(schema: pa.Schema, name: str) -> str:
    """The kind of a target column; for categories, the kind of their values."""
    dtype = schema.field(name).type
    return _kind(dtype.value_type if pa.types.is_dictionary(dtype) else dtype)


def _kind(dtype: pa.DataType) -> str:
    types = pa.types
    if types.is_null(dtype):
        return "nothing"
    if types.is_boolean(dtype) or types.is_integer(dtype) or types.is_floating(dtype):
        return "numbers"
    if types.is_decimal(dtype):
        return "numbers"
    if types.is_dictionary(dtype):
        return "categories"
    if cells.is_text(dtype):
        return "text"
    return f"values of type {dtype}"


def _values(batch: pa.RecordBatch, name: str, place: Place) -> np.ndarray:
    if place.layout.cells_are_text:
        return _written_values(batch.column(name), name, place)
    column = _without_nulls(batch, name, place)
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    return column.to_numpy(zero_copy_only=False)


def _written_values(column: pa.Array, name: str, place: Place) -> np.ndarray:
    read = cells.numbers(column, place.layout.decimal, flags=True)
    if read.unreadable.any():
        row = int(np.argmax(read.unreadable))
        raise DataError(
            f"{place.row(row)}: column {name!r} is {column[row].as_py()!r}, which is not a number. "
            "Correct it; if the column holds text, encode it as numbers first or leave it out by "
            f"naming the columns to use in features=.{place.note}"
        )
    absent = np.isnan(read.values)
    if absent.any():
        raise missing_value(f"column {name!r}", place.row(int(np.argmax(absent))))
    return read.values


def _labels(batch: pa.RecordBatch, name: str, place: Place) -> np.ndarray:
    column = _without_nulls(batch, name, place)
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    if pa.types.is_boolean(column.type) or pa.types.is_primitive(column.type):
        labels = column.to_numpy(zero_copy_only=False)
        check_labels(labels, f"column {name!r}", place)
        return labels
    # Two strings shared by all rows instead of one string object per row.
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    values = column.dictionary.to_numpy(zero_copy_only=False)
    codes = column.indices.to_numpy(zero_copy_only=False)
    # An empty text, as in an empty field of a CSV, is a missing label.
    absent = np.array([value is None or value == "" or value != value for value in values], bool)
    if absent[codes].any():
        raise missing_value(f"column {name!r}", place.row(int(np.argmax(absent[codes]))))
    return values[codes]


def _without_nulls(batch: pa.RecordBatch, name: str, place: Place) -> pa.Array:
    column = batch.column(name)
    if column.null_count:
        absent = column.is_null().to_numpy(zero_copy_only=False)
        raise missing_value(f"column {name!r}", place.row(int(np.argmax(absent))))
    return column


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:20])
    return shown + (f" and {len(names) - 20} more" if len(names) > 20 else "")
