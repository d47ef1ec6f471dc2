"""The columns of a table in memory and their recipe: what an estimator knows about its X.

The recipe is that of the command line, learned from the whole table at once. Columns are
identified by their position; an array has no names.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...data.memory_columns import MemoryColumn, MemoryTable, as_arrow
from ...data.sources import Place
from ...exceptions import InputWarning, ModelFileError, warn
from ...files.model_format import field, texts
from .contract import Learner
from .numbers import Flag, Number, NumberLearner
from .outcome import listed, outcome_of, recipe_of
from .recipe import Recipe

_X = Place("X")


@dataclass(frozen=True)
class InputColumns:
    """All columns of X, also those left out, and the recipe for the others.

    names : the user's; "x0", "x1", ... for an array.
    are_named : whether these are the user's.
    """

    names: tuple[str, ...]
    are_named: bool
    recipe: Recipe

    def place(self, name: str) -> int:
        """Position in the table of the recipe's column with this name."""
        return self.names.index(name)

    @property
    def feature_names(self) -> np.ndarray:
        """One name for each feature."""
        return np.array(self.recipe.feature_names, dtype=object)

    @property
    def column_names(self) -> np.ndarray:
        """For each feature the column that it is made from."""
        counts = [len(column.feature_names) for column in self.recipe.columns]
        return np.repeat(np.array(self.recipe.names, dtype=object), counts)

    @property
    def given_names(self) -> np.ndarray | None:
        """The user's names as scikit-learn keeps them."""
        return np.array(self.names, dtype=object) if self.are_named else None

    def encode(self, table: MemoryTable) -> np.ndarray:
        """The features of all rows, NaN for a gap in a column that had none in the fit."""
        of_name = dict(zip(self.names, table.columns, strict=True))
        numbers = {c.name for c in self.recipe.columns if c.kind in ("number", "boolean")}

        def values(name: str) -> Any:
            return of_name[name].values if name in numbers else as_arrow(of_name[name])

        return self.recipe.features(values, table.n_rows, _X)

    def header(self) -> dict[str, Any]:
        """Everything as JSON."""
        names = {"names": list(self.names), "are_named": self.are_named}
        return names | {"recipe": self.recipe.header()}

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> "InputColumns":
        """The inverse of `header`; nothing in a file is trusted."""
        recipe = Recipe.from_header(field(header, "recipe", dict))
        found = cls(texts(header, "names"), field(header, "are_named", bool), recipe)
        if not set(recipe.names) <= set(found.names) or len(set(found.names)) < len(found.names):
            raise ModelFileError("the columns of its recipe are not columns of its table.")
        return found


def learned_columns(table: MemoryTable, names: tuple[str, ...] | None) -> InputColumns:
    """Learn the recipe for a table; columns that cannot be used are left out, with a warning.

    names : the user's; None for an array.
    """
    learners: dict[str, Learner] = {}
    unusable: dict[str, str] = {}
    for column in table.columns:
        learner = _learner_for(column)
        if isinstance(learner, str):
            unusable[column.name] = learner
            continue
        learner.add(column.values, _X)
        learners[column.name] = learner
    columns, unusable = outcome_of(learners, table.n_rows, unusable)
    recipe = recipe_of(columns, unusable)
    if unusable:
        warn(f"columns of X are left out: {listed(unusable)}.", InputWarning)
    if names is None:
        return InputColumns(tuple(column.name for column in table.columns), False, recipe)
    return InputColumns(names, True, recipe)


def _learner_for(column: MemoryColumn) -> Learner | str:
    if isinstance(column.values, np.ndarray):
        return NumberLearner(column.name, Flag if column.is_boolean else Number)
    import pyarrow as pa

    from .columns import learner_for
    from .ordered import OrderedLearner

    if column.order:
        return OrderedLearner(column.name, column.order)
    return learner_for(pa.field(column.name, column.values.type), None, from_csv=False)
