"""One pass over a table before training: kinds of columns, labels, number of rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, runtime_checkable

from ..data.table_files import RawFiles
from ..exceptions import DataError
from .recipe import Labels, Recipe, RecipeLearner
from .recipe.columns import CHOICES
from .recipe.labels import LabelLearner
from .recipe.profile import AS_SAID, SKIPPED, ColumnProfile

SKIP = "skip"
KINDS = (*CHOICES, SKIP)


@runtime_checkable
class ReadingProgress(Protocol):
    """Receives the progress of reading."""

    def __call__(self, doing: str, rows: int) -> None:
        """`doing` names the work, `rows` is the number of rows so far."""

    def hide(self) -> None:
        """Stop displaying: training begins, which has a display of its own."""


class NoProgress:
    """Displays nothing."""

    def __call__(self, doing: str, rows: int) -> None:
        pass

    def hide(self) -> None:
        pass


@dataclass(frozen=True)
class Task:
    """What to learn, and from which columns."""

    target: str
    positive: str | None = None
    weight: str | None = None
    features: Sequence[str] | None = None  # None: every column but target and weight
    drop: Sequence[str] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)  # of columns: text, number, date, skip

    def inputs(self, files: RawFiles) -> list[str]:
        """The columns to use; an error if the files do not have them."""
        roles = [name for name in (self.target, self.weight) if name is not None]
        named = [*roles, *(self.features or ()), *self.drop, *self.kinds]
        files.check_presence(list(dict.fromkeys(named)))
        if self.features is not None and self.target in self.features:
            raise DataError(f"column {self.target!r} is the target and cannot be an input too.")
        for name in roles:
            if name in self.kinds:
                role = "target" if name == self.target else "weight"
                raise DataError(
                    f"column {name!r} is the {role}, not an input: leave it out of --column."
                )
        wanted = files.schema.names if self.features is None else list(dict.fromkeys(self.features))
        left_out = {*self.skipped, *roles}
        return [name for name in wanted if name not in left_out]

    @property
    def skipped(self) -> tuple[str, ...]:
        """The columns that the user excludes."""
        skipped = (name for name, kind in self.kinds.items() if kind == SKIP)
        return tuple(dict.fromkeys((*self.drop, *skipped)))


class Survey(NamedTuple):
    """The result of one pass over all rows."""

    recipe: Recipe
    labels: Labels
    rows_of_files: tuple[int, ...]
    columns: tuple[ColumnProfile, ...]  # in the order of the table


def survey(files: RawFiles, task: Task, watch: ReadingProgress) -> Survey:
    """Learn the recipe and find the two labels."""
    inputs = task.inputs(files)
    learner = RecipeLearner(files.schema, inputs, task.kinds, bool(files.dialects))
    labels = LabelLearner(task.target)
    counts = dict.fromkeys(map(str, files.paths), 0)
    for batch, place in files.batches([*inputs, task.target]):
        counts[place.name] += batch.num_rows
        codes = labels.add(batch.column(task.target), place)
        learner.add(batch, place, codes)
        watch("looking at the columns", learner.n_rows)
    recipe, both = learner.recipe(), labels.labels(task.positive)
    profiles = [labels.profile(), *learner.profiles()]
    profiles += [ColumnProfile(name, SKIPPED, "", 0, (AS_SAID,)) for name in task.skipped]
    if task.weight is not None:
        profiles.append(ColumnProfile(task.weight, "weight", "", 0))
    order = {name: number for number, name in enumerate(files.schema.names)}
    profiles.sort(key=lambda profile: order[profile.name])
    return Survey(recipe, both, tuple(counts.values()), tuple(profiles))
