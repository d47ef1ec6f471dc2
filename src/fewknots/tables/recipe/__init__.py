"""Converts the raw columns of a table to numbers for a model.

| module     | what it does                                                              |
|------------|---------------------------------------------------------------------------|
| `numbers`  | numbers and booleans: unchanged; mean and a flag if missing               |
| `dates`    | days and times: number of days, and circles for year, week and day        |
| `texts`    | words: one feature per level, rare levels pooled                          |
| `columns`  | chooses one of these kinds for a column                                   |
| `written`  | chooses the kind of a text column by its contents                         |
| `reasons`  | why a row cannot be converted                                             |
| `labels`   | the target: any two values as 0 and 1                                     |
| `recipe`   | all columns of a table                                                    |
| `learning` | learns a recipe in one pass over the rows                                 |
| `profile`  | describes the kind and contents of each column for the user               |
| `suspicions`, `row_sample` | unusual columns, found in a sample of the rows            |
"""

from .labels import Labels
from .learning import RecipeLearner
from .recipe import Recipe

__all__ = ["Labels", "Recipe", "RecipeLearner"]
