"""Learns a recipe in one pass over the rows of a table, in bounded memory.

The recipe does not depend on labels, so held-out rows may be included: then levels and gaps that
occur only in them are known. For notes on suspicious columns (profile.py) a sample of the rows is
kept that is evenly spaced over the whole table (`RowSample`).
"""

from collections.abc import Callable, Hashable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from ...data.sources import Place
from .columns import learner_for
from .contract import Column, Learner
from .outcome import MOST_FEATURES, outcome_of, recipe_of, too_wide
from .profile import SKIPPED, ColumnProfile, suspicions
from .recipe import Recipe

_LABELS = object()  # key of the labels in the sample; not a text, as columns may have any name
_MOST_ROWS, _MOST_VALUES = 8192, 2**22


class RecipeLearner:
    """Pass all rows to `add`, then call `recipe`."""

    def __init__(
        self, schema: pa.Schema, names: Sequence[str], kinds: Mapping[str, str], from_csv: bool
    ) -> None:
        """`kinds` are the user's choices for columns: "text", "number" or "date"."""
        if len(names) > MOST_FEATURES:
            raise too_wide(f"{len(names):,} columns")
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
        return recipe_of(*self._outcome())

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
            kind, notes = SKIPPED, (unusable.get(name, ""), *holds.notes)
            if name in columns:
                values, y = self._sample[name], self._sample[_LABELS]
                odd = suspicions(name, learner.kind, holds.leading_zeros, values, y)
                kind, notes = learner.kind, (*holds.notes, *odd)
            found.append(ColumnProfile(name, kind, holds.shown, holds.gaps, notes))
        return found

    def _outcome(self) -> tuple[dict[str, Column], dict[str, str]]:
        return outcome_of(self._learners, self.n_rows, self._unusable)


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
