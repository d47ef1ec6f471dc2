"""Converts the raw columns of a table to numbers for a model.

| module     | what it does                                                              |
|------------|---------------------------------------------------------------------------|
| `numbers`  | numbers and booleans: unchanged; mean and a flag if missing               |
| `dates`    | days and times: number of days, and circles for year, week and day        |
| `texts`    | words: one feature per level, rare levels pooled                          |
| `ordered`  | categories with an order: the place in it                                 |
| `columns`  | chooses one of these kinds for a column, by its type or its contents      |
| `contract` | the interface of each of these kinds                                        |
| `labels`   | the target: any values as 0, 1, ...                                       |
| `recipe`   | all columns of a table as numbers                                         |
| `learner`  | learns that in one pass over the rows of files                            |
| `input_columns` | the same for a table in memory: what an estimator takes              |
| `profile`  | describes each column for the user, and what is unusual about it          |

Numbers with gaps do not need pyarrow, so modules that need it are imported on first use.
"""

from typing import TYPE_CHECKING, Any

from .recipe import Recipe

if TYPE_CHECKING:
    from .labels import Labels
    from .learner import RecipeLearner

__all__ = ["Labels", "Recipe", "RecipeLearner"]


def __getattr__(name: str) -> Any:
    if name == "Labels":
        from .labels import Labels

        return Labels
    if name == "RecipeLearner":
        from .learner import RecipeLearner

        return RecipeLearner
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
