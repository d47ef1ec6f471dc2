r"""Permutation importance: how much worse predictions become when a column is shuffled.

The values of one column are permuted among labelled rows, all features made from it together. Its
information about the labels is then lost, the rest is unchanged, and the mean of -log p(y) rises by

    loss = mean over rows of  -log p(y | shuffled)  -  -log p(y),

in nats per row. Several shuffles are averaged row by row; the interval is a bootstrap over the
rows. A column that others can replace has a small loss: it is not needed.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from ..data.row_draw import some_rows
from .inputs import Input
from .unnamed_rows import UnnamedRows, check_rows

_PREDICTIONS = 50_000  # upper limit for all shuffles together, with ten classes or fewer
_FEWEST_ROWS, _MOST_ROWS = 20, 1000
_MOST_SHUFFLES = 5
_RESAMPLES = 500


class Importance(NamedTuple):
    """One number for each column, in the table's order."""

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
    rows: UnnamedRows, y: Int[np.ndarray, " N"], inputs: tuple[Input, ...], seed: int = 0
) -> Importance:
    """Shuffle each column among at most 1,000 rows; `y` has the places of labels in `classes_`."""
    check_rows(rows)
    affordable = _PREDICTIONS // rows.price
    most = int(np.clip(affordable // len(inputs), _FEWEST_ROWS, _MOST_ROWS))
    chosen = some_rows(len(rows.X), most)
    X, truth = rows.X[chosen], y[chosen]
    shuffles = int(np.clip(affordable // (len(inputs) * len(X)), 1, _MOST_SHUFFLES))
    rng = np.random.default_rng(seed)

    def nlp(X: np.ndarray) -> np.ndarray:
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
