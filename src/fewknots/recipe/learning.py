"""A recipe from one pass over the rows, in memory that does not grow with them.

No label is looked at, so rows that are held out to be scored may take part: a level or a gap that
only they have is then known.
"""

from collections.abc import Collection, Sequence

import pyarrow as pa

from ..data.sources import Place
from ..exceptions import DataError, InputWarning, warn
from .columns import Column, Learner, learner_for
from .recipe import Recipe

MOST_FEATURES = 10_000
_SHOWN = 5


class RecipeLearner:
    """Give it all rows with `add`, then ask for the `recipe`."""

    def __init__(self, schema: pa.Schema, names: Sequence[str], text: Collection[str] = ()) -> None:
        """`text` names columns that are words although they look like numbers."""
        if len(names) > MOST_FEATURES:
            raise _too_wide(f"{len(names):,} columns")
        self.n_rows = 0
        self._learners: dict[str, Learner] = {}
        self._unusable: dict[str, str] = {}
        for name in names:
            learner = learner_for(schema.field(name), name in text)
            if isinstance(learner, str):
                self._unusable[name] = learner
            else:
                self._learners[name] = learner

    def add(self, batch: pa.RecordBatch, place: Place) -> None:
        """Take note of these rows."""
        for name, learner in self._learners.items():
            learner.add(batch.column(name), place)
        self.n_rows += batch.num_rows

    def recipe(self) -> Recipe:
        """What was learned; a warning names the columns that are left out and says why."""
        columns: list[Column] = []
        unusable = dict(self._unusable)
        for name, learner in self._learners.items():
            learned = learner.learned(self.n_rows)
            if isinstance(learned, str):
                unusable[name] = learned
            else:
                columns.append(learned)
        listed = [f"{name!r} {reason}" for name, reason in unusable.items()]
        more = f"; and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
        said = "; ".join(listed[:_SHOWN]) + more
        if not columns:
            raise DataError(f"no column can be used as an input: {said or 'there is none'}.")
        if listed:
            warn(f"columns left out: {said}.", InputWarning)
        recipe = Recipe(tuple(columns))
        if len(recipe.feature_names) > MOST_FEATURES:
            raise _too_wide(f"{len(recipe.feature_names):,} inputs")
        return recipe


def _too_wide(what: str) -> DataError:
    return DataError(
        f"the table makes {what}, and a model can have {MOST_FEATURES:,} inputs at most. Name the "
        "columns to use."
    )
