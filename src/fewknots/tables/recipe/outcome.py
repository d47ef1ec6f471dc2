"""From the learned columns to a recipe: which can be used, and why others cannot."""

from collections.abc import Mapping

from ...exceptions import DataError
from .contract import Column, Learner
from .recipe import Recipe

MOST_FEATURES = 10_000
_SHOWN = 5


def outcome_of(
    learners: Mapping[str, Learner], n_rows: int, unusable: Mapping[str, str]
) -> tuple[dict[str, Column], dict[str, str]]:
    """The columns that can be used, and why the others cannot."""
    columns: dict[str, Column] = {}
    others = dict(unusable)
    for name, learner in learners.items():
        learned = learner.learned(n_rows)
        if isinstance(learned, str):
            others[name] = learned
        else:
            columns[name] = learned
    return columns, others


def recipe_of(columns: Mapping[str, Column], unusable: Mapping[str, str]) -> Recipe:
    """The recipe for these columns; an error if there is none, or if they make too many inputs."""
    if not columns:
        reasons = listed(unusable) or "there is none"
        raise DataError(f"no column can be used as an input: {reasons}.")
    recipe = Recipe(tuple(columns.values()))
    if len(recipe.feature_names) > MOST_FEATURES:
        raise too_wide(f"{len(recipe.feature_names):,} inputs")
    return recipe


def listed(unusable: Mapping[str, str]) -> str:
    """The first few of these columns, each with the reason."""
    each = [f"{name!r} {reason}" for name, reason in unusable.items()]
    more = f"; and {len(each) - _SHOWN} more" if len(each) > _SHOWN else ""
    return "; ".join(each[:_SHOWN]) + more


def too_wide(what: str) -> DataError:
    """The error for a table with too many columns."""
    return DataError(
        f"the table makes {what}, and a model can have {MOST_FEATURES:,} inputs at most. Name the "
        "columns to use."
    )
