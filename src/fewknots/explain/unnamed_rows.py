"""A classifier and rows as plain arrays, with the names of the columns kept separately.

Curves are computed from artificial rows, which are arrays. A classifier that was fitted to a table
with column names would warn each time; a copy of it without the names does not.
"""

from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from ..data.row_draw import some_rows

_FEW_CLASSES = 10


class UnnamedRows(NamedTuple):
    """The input of the other modules of this package.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewknots import GPClassifier, explain
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> clf = GPClassifier("rbf", warp=None, n_inducing=8, random_state=0).fit(X, y)
    >>> rows = explain.without_names(clf, X)
    >>> rows.X.shape, rows.names
    ((60, 2), ('x0', 'x1'))
    """

    classifier: Any  # predicts for plain arrays
    X: Float[np.ndarray, "N D"]
    names: tuple[str, ...]
    recipe: Any = None  # the classifier's own, which made X of the user's table

    def column(self, wanted: int | str) -> int:
        """The number of a column, given by its number or name."""
        if isinstance(wanted, str):
            if wanted not in self.names:
                raise ValueError(
                    f"there is no input {wanted!r}; the inputs are {', '.join(self.names)}."
                )
            return self.names.index(wanted)
        if not 0 <= wanted < len(self.names):
            raise ValueError(
                f"there is no input {wanted}; they go from 0 to {len(self.names) - 1}."
            )
        return int(wanted)

    @property
    def price(self) -> int:
        """About how much longer a prediction takes than with few classes: 1, 2, 3, ..."""
        return -(-len(getattr(self.classifier, "classes_", (0,))) // _FEW_CLASSES)

    def sample(self, most: int, seed: int = 0) -> Float[np.ndarray, "n D"]:
        """At most so many rows, the same ones in each call."""
        return self.X[some_rows(len(self.X), most, seed)]


def check_kind(estimator: Any, classifier: bool = True) -> None:
    """Check that this is a fitted estimator of fewknots: others have no kernel."""
    wanted = "GPClassifier" if classifier else "GPClassifier or GPRegressor"
    name = type(estimator).__name__
    if hasattr(estimator, "steps"):
        raise TypeError(
            f"a fitted {wanted} is needed, got a {name}. Pass its last step, and the rows as that "
            "step gets them: pipeline[-1] and pipeline[:-1].transform(X)."
        )
    if hasattr(estimator, "recipe"):
        raise TypeError(
            f"a fitted {wanted} is needed, got a {name}. Pass the one in it, model.classifier, and "
            "the rows as it gets them: the X of model.rows(source). The command line, `fewknots "
            "report`, does both."
        )
    if not hasattr(estimator, "predict_latent") or (classifier and not is_classifier(estimator)):
        raise TypeError(f"a fitted {wanted} of fewknots is needed, got a {name}.")
    check_is_fitted(estimator)


def check_rows(rows: Any, classifier: bool = True) -> None:
    """Check that this is a result of `without_names`, not the classifier itself."""
    if not isinstance(rows, UnnamedRows):
        raise TypeError(
            "this function takes a classifier and rows together, as explain.without_names("
            f"classifier, X) gives them; got a {type(rows).__name__}."
        )
    if classifier and not hasattr(rows.classifier, "predict_proba"):
        check_kind(rows.classifier)


def without_names(
    classifier: Any, X: Any, feature_names: Sequence[object] | None = None
) -> UnnamedRows:
    """X (array or table) checked as for prediction, with names for plots.

    The classifier is a fitted `GPClassifier`, or, where nothing is said of classes, a
    `GPRegressor`.

    Names are `feature_names`, else those the classifier was fitted with, else x0, x1, ...

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewknots import GPClassifier, explain
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> clf = GPClassifier("rbf", warp=None, n_inducing=8, random_state=0).fit(X, y)
    >>> explain.without_names(clf, X).names
    ('x0', 'x1')
    """
    check_kind(classifier, classifier=False)
    recipe = classifier.recipe_
    names = feature_names
    if names is None:
        names = getattr(classifier, "feature_names_in_", None)
        names = names if recipe is None else recipe.feature_names
    plain = classifier._for_features()
    # A table's columns are compared with those of the fit; an array has nothing to compare.
    is_array = isinstance(X, np.ndarray | list)
    are_features = recipe is None or np.shape(X)[1:] != (classifier.n_features_in_,)
    if is_array:
        unnamed = copy(classifier)
        unnamed.__dict__.pop("feature_names_in_", None)
        rows = (plain if are_features else unnamed)._rows(X)
    else:
        rows = classifier._rows(X)
    rows = classifier._without_new_gaps(rows)
    if not len(rows):
        raise ValueError("there are no rows to draw.")
    if names is None:
        names = [f"x{column}" for column in range(rows.shape[1])]
    if len(names) != rows.shape[1]:
        raise ValueError(f"{len(names)} feature names for {rows.shape[1]} columns of X.")
    return UnnamedRows(plain, rows, tuple(str(name) for name in names), recipe)
