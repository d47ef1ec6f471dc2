"""The columns of the user's table, and the features of the classifier that each one becomes.

A recipe makes several features from a date or a text. Users think in columns, so all features of a
column are changed together: a date with all its circles, a text with all its levels. Without a
recipe every feature is a column of numbers.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from ..data.sources import Place
from .unnamed_rows import UnnamedRows

_PLACE = Place("a made-up table")


class Input(NamedTuple):
    """One column of the user's table.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewknots import GPClassifier, explain
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> clf = GPClassifier("rbf", warp=None, n_inducing=8, random_state=0).fit(X, y)
    >>> rows = explain.without_names(clf, X)
    >>> explain.inputs_of(rows)[0].features
    slice(0, 1, None)
    """

    name: str
    features: slice  # of the classifier's features
    column: Any = None  # the recipe's `Column` that encodes it; None: the column is a feature

    @property
    def kind(self) -> str:
        """What it holds: "number", "boolean", "ordered", "date" or "text"."""
        return "number" if self.column is None else self.column.kind

    @property
    def n_features(self) -> int:
        """How many of the classifier's features it becomes."""
        return self.features.stop - self.features.start

    @property
    def can_be_missing(self) -> bool:
        """Whether the recipe has a fill value for a missing number, date or boolean."""
        return getattr(self.column, "fill", None) is not None

    def encoded(self, values: Any) -> Float[np.ndarray, "V F"]:
        """The recipe's features for a pyarrow array of values, or a NumPy one of numbers."""
        features = np.empty((len(values), self.n_features))
        self.column.encode(values, features, _PLACE)
        return features

    def present(self, X: Float[np.ndarray, "N D"]) -> np.ndarray:
        """The rows in which a number, date or boolean is not missing."""
        if not self.can_be_missing:
            return np.ones(len(X), bool)
        return X[:, self.features.stop - 1] == 0.0  # the last feature is 1 if it was missing


def inputs_of(rows: UnnamedRows, recipe: Any = None) -> tuple[Input, ...]:
    """The columns from which these features were made, by `recipe` or the classifier's own.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewknots import GPClassifier, explain
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> clf = GPClassifier("rbf", warp=None, n_inducing=8, random_state=0).fit(X, y)
    >>> rows = explain.without_names(clf, X)
    >>> [one.name for one in explain.inputs_of(rows)]
    ['x0', 'x1']
    """
    recipe = rows.recipe if recipe is None else recipe
    if recipe is None:
        return tuple(single_feature(rows, column) for column in range(len(rows.names)))
    if len(recipe.feature_names) != rows.X.shape[1]:
        raise ValueError(
            f"the recipe makes {len(recipe.feature_names)} features, X has {rows.X.shape[1]} "
            "columns. X must be what recipe.encode made of the rows."
        )
    inputs, first = [], 0
    for column in recipe.columns:
        beyond = first + len(column.feature_names)
        inputs.append(Input(column.name, slice(first, beyond), column))
        first = beyond
    return tuple(inputs)


def single_feature(rows: UnnamedRows, column: int) -> Input:
    """A feature as a column of its own."""
    return Input(rows.names[column], slice(column, column + 1))


def input_named(rows: UnnamedRows, wanted: str) -> Input:
    """A column of the table, or one of the features that the recipe made, by its name."""
    inputs = inputs_of(rows)
    for one in inputs:
        if one.name == wanted:
            return one
    if wanted not in rows.names and rows.recipe is not None:
        columns = ", ".join(one.name for one in inputs)
        raise ValueError(
            f"there is no column {wanted!r}; the columns are {columns}. Their inputs, "
            f"{', '.join(rows.names)}, can be named as well."
        )
    return single_feature(rows, rows.column(wanted))


def typical_row(rows: UnnamedRows, inputs: tuple[Input, ...]) -> Float[np.ndarray, " D"]:
    """A typical row for the other columns: medians, and the most frequent text or boolean.

    (Medians of all features would not be a possible row: a text with three levels could have none.)

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewknots import GPClassifier, explain
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> clf = GPClassifier("rbf", warp=None, n_inducing=8, random_state=0).fit(X, y)
    >>> rows = explain.without_names(clf, X)
    >>> explain.typical_row(rows, explain.inputs_of(rows)).round(2)
    array([0.49, 0.29])
    """
    X = rows.sample(10_000)
    row = np.median(X, axis=0)
    for one in inputs:
        block = X[:, one.features]
        if one.kind in ("text", "boolean"):
            found, counts = np.unique(block, axis=0, return_counts=True)
            row[one.features] = found[np.argmax(counts)]
        elif one.column is not None and (present := one.present(X)).any():
            block = block[present]  # sorted by its first feature: the number, or the day
            row[one.features] = block[np.argsort(block[:, 0], kind="stable")[len(block) // 2]]
    return row
