"""What a table holds, before anything is learned from it: columns, labels, number of rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import pyarrow as pa

from .data.raw_files import RawFiles
from .exceptions import DataError
from .recipe import Labels, Recipe, RecipeLearner
from .recipe.columns import type_to_learn_from
from .recipe.labels import LabelLearner


@runtime_checkable
class Watch(Protocol):
    """Who is told about rows that are being read."""

    def __call__(self, doing: str, rows: int) -> None:
        """What is done, and how many rows it has come to."""

    def hide(self) -> None:
        """Training begins, which has a display of its own."""


class Unwatched:
    """Nobody is."""

    def __call__(self, doing: str, rows: int) -> None:
        pass

    def hide(self) -> None:
        pass


@dataclass(frozen=True)
class Task:
    """What is to be learned from which columns."""

    target: str
    positive: str | None = None
    weight: str | None = None
    features: Sequence[str] | None = None  # None: every column but target and weight
    drop: Sequence[str] = ()
    text: Sequence[str] = ()  # columns of words that look like numbers

    def csv_type(self, guessed: pa.Field) -> pa.DataType:
        """The type to read a CSV's column as, to learn from it."""
        if guessed.name == self.weight:
            return pa.float64()
        if guessed.name == self.target and not pa.types.is_null(guessed.type):
            return guessed.type
        return type_to_learn_from(guessed, guessed.name in self.text)

    def inputs(self, files: RawFiles) -> list[str]:
        """The columns to use, checked against those there are."""
        roles = [name for name in (self.target, self.weight) if name is not None]
        named = [*roles, *(self.features or ()), *self.drop, *self.text]
        files.check_presence(list(dict.fromkeys(named)))
        if self.features is not None and self.target in self.features:
            raise DataError(f"column {self.target!r} is the target and cannot be an input too.")
        wanted = files.schema.names if self.features is None else list(dict.fromkeys(self.features))
        left_out = {*self.drop, *roles}
        return [name for name in wanted if name not in left_out]


class Survey(NamedTuple):
    """What one pass over all rows tells."""

    recipe: Recipe
    labels: Labels
    rows_of_files: tuple[int, ...]


def survey(files: RawFiles, task: Task, watch: Watch) -> Survey:
    """Learn the recipe and find the two labels."""
    inputs = task.inputs(files)
    learner, labels = RecipeLearner(files.schema, inputs, task.text), LabelLearner(task.target)
    counts = dict.fromkeys(map(str, files.paths), 0)
    for batch, place in files.batches([*inputs, task.target]):
        counts[place.name] += batch.num_rows
        labels.add(batch.column(task.target), place)
        learner.add(batch, place)
        watch("looking at the columns", learner.n_rows)
    return Survey(learner.recipe(), labels.labels(task.positive), tuple(counts.values()))
