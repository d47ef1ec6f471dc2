"""Converts the raw columns of a table to numbers for a model.

| module     | what it does                                                              |
|------------|---------------------------------------------------------------------------|
| `numbers`  | numbers and booleans: unchanged; mean and a flag if missing               |
| `dates`    | days and times: number of days, and circles for year, week and day        |
| `texts`    | words: one feature per level, rare levels pooled                          |
| `columns`  | chooses one of these kinds for a column, by its type or its contents      |
| `labels`   | the target: any values as 0, 1, ...                                       |
| `recipe`   | all columns of a table, learned in one pass over the rows                 |
| `profile`  | describes each column for the user, and what is unusual about it          |
"""

from .labels import Labels
from .recipe import Recipe, RecipeLearner

__all__ = ["Labels", "Recipe", "RecipeLearner"]
