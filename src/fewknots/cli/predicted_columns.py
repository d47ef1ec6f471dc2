"""The columns that `fewknots predict` adds to a table."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from ..fitting.settings import number
from ..tables.recipe.labels import Labels

if TYPE_CHECKING:
    from ..tables.model import TableModel


class Columns(NamedTuple):
    """Names, and the values for rows of inputs."""

    names: tuple[str, ...]
    values: Callable[[np.ndarray], list[Any]]

    def of(self, X: np.ndarray) -> list[Any]:
        """A pyarrow array for each name; empty ones for no rows."""
        if len(X):
            return self.values(X)
        return [values.slice(0, 0) for values in self.values(np.zeros((1, X.shape[1])))]


def columns_of(model: "TableModel", coverage: float) -> Columns:
    """For classes the probabilities and the most probable; for numbers mean, standard deviation,
    interval.
    """
    labels: Any = model.labels
    estimator: Any = model.estimator
    if isinstance(labels, Labels):
        names = tuple(f"p_{label}" for label in labels.values)

        def probabilities(X: np.ndarray) -> list[Any]:
            p = estimator.predict_proba(X)
            likeliest = pa.array(labels.values).take(pa.array(np.argmax(p, axis=1)))
            return [*(pa.array(np.ascontiguousarray(column)) for column in p.T), likeliest]

        return Columns((*names, "prediction"), probabilities)
    number("--coverage", coverage, positive=True)
    if coverage >= 1:
        raise ValueError(f"--coverage must be below 1 (0.95 for 95 %), got {coverage!r}.")

    def numbers(X: np.ndarray) -> list[Any]:
        mean, deviation = estimator.predict(X, return_std=True)
        return [
            pa.array(column)
            for column in (mean, deviation, *estimator.predict_interval(X, coverage).T)
        ]

    return Columns(("prediction", "std", "low", "high"), numbers)
