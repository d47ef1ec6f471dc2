"""From a table's columns, as people keep them, to numbers for a model.

| module     | what it does                                                              |
|------------|---------------------------------------------------------------------------|
| `numbers`  | numbers, true and false: as they are; the mean and a mark where missing   |
| `dates`    | days and times: one number that grows, and circles for year, week and day |
| `texts`    | words: one column a level, rare levels pooled                             |
| `columns`  | which of these a column is                                                |
| `written`  | which of these a column of text is                                        |
| `reasons`  | why a row cannot be turned into numbers                                   |
| `labels`   | the target: any two values as 0 and 1                                     |
| `recipe`   | all columns of a table                                                    |
| `learning` | a recipe from one pass over the rows                                      |
| `profile`  | what each column was taken for, for people                                |
| `suspicions`, `row_sample` | what looks odd about it, from a sample of the rows        |
"""

from .labels import Labels
from .learning import RecipeLearner
from .recipe import Recipe

__all__ = ["Labels", "Recipe", "RecipeLearner"]
