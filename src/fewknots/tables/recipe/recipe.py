"""Converts a whole table to numbers, as learned in one pass over its rows, in bounded memory.

The recipe does not depend on labels, so held-out rows may be included: then levels and gaps that
occur only in them are known. For notes on suspicious columns (profile.py) a sample of the rows is
kept that is evenly spaced over the whole table (`RowSample`).
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from ...data.row_checks import Reasons, joined, refuse
from ...data.sources import Place
from ...data.table_columns import check_presence
from ...exceptions import DataError, ModelFileError
from ...files.model_format import field
from .columns import KINDS, Column, Learner, learner_for
from .profile import SKIPPED, ColumnProfile, suspicions

MOST_FEATURES = 10_000
_SHOWN = 5
_LABELS = object()  # key of the labels in the sample; not a text, as columns may have any name
_MOST_ROWS, _MOST_VALUES = 8192, 2**22


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


class RecipeLearner:
    """Pass all rows to `add`, then call `recipe`."""

    def __init__(
        self, schema: pa.Schema, names: Sequence[str], kinds: Mapping[str, str], from_csv: bool
    ) -> None:
        """`kinds` are the user's choices for columns: "text", "number" or "date"."""
        if len(names) > MOST_FEATURES:
            raise _too_wide(f"{len(names):,} columns")
        self.n_rows = 0
        self._learners: dict[str, Learner] = {}
        self._unusable: dict[str, str] = {}
        for name in names:
            learner = learner_for(schema.field(name), kinds.get(name), from_csv)
            if isinstance(learner, str):
                self._unusable[name] = learner
            else:
                self._learners[name] = learner
        self._names, self._sample = tuple(names), RowSample([*self._learners, _LABELS])

    def add(self, batch: pa.RecordBatch, place: Place, codes: np.ndarray | None = None) -> None:
        """Learn from these rows; their labels (0, 1, ...) are used only for notes on columns."""
        for name, learner in self._learners.items():
            learner.add(batch.column(name), place)
        self.n_rows += batch.num_rows

        def sampled(key: Hashable, rows: np.ndarray) -> np.ndarray:
            if not isinstance(key, str):
                return np.zeros(len(rows)) if codes is None else codes[rows].astype(float)
            return self._learners[key].sample(batch.column(key).take(pa.array(rows)), place)

        self._sample.add(batch.num_rows, sampled)

    def recipe(self) -> Recipe:
        """The recipe for the columns that can be used."""
        columns, unusable = self._outcome()
        listed = [f"{name!r} {reason}" for name, reason in unusable.items()]
        more = f"; and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
        said = "; ".join(listed[:_SHOWN]) + more
        if not columns:
            raise DataError(f"no column can be used as an input: {said or 'there is none'}.")
        recipe = Recipe(tuple(columns.values()))
        if len(recipe.feature_names) > MOST_FEATURES:
            raise _too_wide(f"{len(recipe.feature_names):,} inputs")
        return recipe

    def profiles(self) -> list[ColumnProfile]:
        """The kind and contents of each column, and notes on unusual columns."""
        columns, unusable = self._outcome()
        found = []
        for name in self._names:
            learner = self._learners.get(name)
            if learner is None:
                found.append(ColumnProfile(name, SKIPPED, "", 0, (unusable[name],)))
                continue
            holds = learner.holds()
            kind, said = SKIPPED, (unusable.get(name, ""), *holds.notes)
            if name in columns:
                values, y = self._sample[name], self._sample[_LABELS]
                odd = suspicions(name, learner.kind, holds.leading_zeros, values, y)
                kind, said = learner.kind, (*holds.notes, *odd)
            found.append(ColumnProfile(name, kind, holds.shown, holds.gaps, said))
        return found

    def _outcome(self) -> tuple[dict[str, Column], dict[str, str]]:
        """The columns that can be used, and why the others cannot."""
        columns: dict[str, Column] = {}
        unusable = dict(self._unusable)
        for name, learner in self._learners.items():
            learned = learner.learned(self.n_rows)
            if isinstance(learned, str):
                unusable[name] = learned
            else:
                columns[name] = learned
        return columns, unusable


def _too_wide(what: str) -> DataError:
    return DataError(
        f"the table makes {what}, and a model can have {MOST_FEATURES:,} inputs at most. Name the "
        "columns to use."
    )


class RowSample:
    """An evenly spaced sample of at most about 8,000 rows, fewer for wide tables: at most 32 MB.

    When it has too many rows, every second one is dropped, and from then on only every second row
    is added.
    """

    def __init__(self, names: Sequence[Hashable]) -> None:
        self._most = max(64, min(_MOST_ROWS, _MOST_VALUES // max(1, len(names))))
        self._step, self._seen = 1, 0
        self._rows = np.empty(0, np.int64)
        self._values: dict[Hashable, np.ndarray] = {name: np.empty(0) for name in names}

    def add(self, n_rows: int, values: Callable[[Hashable, np.ndarray], np.ndarray]) -> None:
        """Add `n_rows` more rows; `values(name, rows)` returns a column's values in these rows."""
        rows = np.arange(self._seen, self._seen + n_rows)
        rows = rows[rows % self._step == 0]
        self._rows = np.concatenate([self._rows, rows])
        for name, held in self._values.items():
            self._values[name] = np.concatenate([held, values(name, rows - self._seen)])
        self._seen += n_rows
        while len(self._rows) > self._most:
            self._step *= 2
            kept = self._rows % self._step == 0
            self._rows = self._rows[kept]
            self._values = {name: held[kept] for name, held in self._values.items()}

    def __getitem__(self, name: Hashable) -> np.ndarray:
        """The values of a column in the sample."""
        return self._values[name]
