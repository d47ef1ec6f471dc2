"""Learns a recipe in one pass over the rows, in bounded memory.

The recipe does not depend on labels, so held-out rows may be included: then levels and gaps that
occur only in them are known.
"""

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from ...data.sources import Place
from ...exceptions import DataError
from .columns import Column, Learner, learner_for
from .profile import SKIPPED, ColumnProfile
from .recipe import Recipe
from .row_sample import RowSample
from .suspicions import suspicions

MOST_FEATURES = 10_000
_SHOWN = 5
_LABELS = object()  # key of the labels in the sample; not a text, as columns may have any name


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
        """Learn from these rows; their labels (0 and 1) are used only for notes on columns."""
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
