r"""Permutation importance: how much worse predictions become when a column is shuffled.

The values of one column are permuted among labelled rows, all features made from it together. Its
information about the labels is then lost, the rest is unchanged, and the mean of -log p(y) rises by

    loss = mean over rows of  -log p(y | shuffled)  -  -log p(y),

in nats per row. Several shuffles are averaged row by row; the interval is a bootstrap over the
rows. A column that others can replace has a small loss: it is not needed.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from sklearn.base import is_classifier

from ..data.row_draw import some_rows
from .inputs import Input, inputs_of
from .labels import places_of
from .unnamed_rows import UnnamedRows, check_rows

_PREDICTIONS = 50_000  # upper limit for all shuffles together, with ten classes or fewer
_FEWEST_ROWS, _MOST_ROWS = 20, 1000
_MOST_SHUFFLES = 5
_RESAMPLES = 500


class Importance(NamedTuple):
    """One number for each column, in the table's order.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewknots import GPClassifier, explain
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> clf = GPClassifier("rbf", warp=None, n_inducing=8, random_state=0).fit(X, y)
    >>> rows = explain.without_names(clf, X)
    >>> explain.importance(rows, y, explain.inputs_of(rows)).names
    ('x0', 'x1')
    """

    names: tuple[str, ...]
    loss: Float[np.ndarray, " C"]  # nats a row
    low: Float[np.ndarray, " C"]  # a 95 % interval
    high: Float[np.ndarray, " C"]
    n_rows: int  # number of rows that were shuffled
    n_shuffles: int

    @property
    def order(self) -> list[int]:
        """The columns by descending importance."""
        return [int(column) for column in np.argsort(-self.loss, kind="stable")]


def importance(
    rows: UnnamedRows, y: Any, inputs: tuple[Input, ...] | None = None, seed: int = 0
) -> Importance:
    """Shuffle each column among at most 1,000 rows.

    y : the labels, as in `classes_`; for a regressor the numbers.
    inputs : the columns, from `inputs_of`; None: all.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewknots import GPClassifier, explain
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> clf = GPClassifier("rbf", warp=None, n_inducing=8, random_state=0).fit(X, y)
    >>> rows = explain.without_names(clf, X)
    >>> found = explain.importance(rows, y)
    >>> found.loss > 0
    array([ True,  True])
    """
    check_rows(rows, classifier=False)
    if is_classifier(rows.classifier):
        y = places_of(rows.classifier.classes_, y, len(rows.X))
    y = np.asarray(y)
    inputs = inputs_of(rows) if inputs is None else inputs
    affordable = _PREDICTIONS // rows.price
    most = int(np.clip(affordable // len(inputs), _FEWEST_ROWS, _MOST_ROWS))
    chosen = some_rows(len(rows.X), most)
    X, truth = rows.X[chosen], y[chosen]
    shuffles = int(np.clip(affordable // (len(inputs) * len(X)), 1, _MOST_SHUFFLES))
    rng = np.random.default_rng(seed)

    def nlp(X: np.ndarray) -> np.ndarray:
        if not is_classifier(rows.classifier):
            return -rows.classifier.predict_log_density(X, truth)
        return -rows.classifier.predict_log_proba(X)[np.arange(len(X)), truth]

    before = nlp(X)
    rises = np.zeros((len(X), len(inputs)))
    for number, one in enumerate(inputs):
        for _ in range(shuffles):
            shuffled = X.copy()
            shuffled[:, one.features] = X[rng.permutation(len(X)), one.features]
            rises[:, number] += (nlp(shuffled) - before) / shuffles
    # One set of bootstrap resamples for all columns: how often each row is drawn, as weights.
    drawn = rng.multinomial(len(X), np.full(len(X), 1.0 / len(X)), _RESAMPLES) / len(X)
    low, high = np.percentile(drawn @ rises, [2.5, 97.5], axis=0)
    names = tuple(one.name for one in inputs)
    return Importance(names, rises.mean(axis=0), low, high, len(X), shuffles)
