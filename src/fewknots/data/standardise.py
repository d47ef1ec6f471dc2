"""Standardising inputs to mean 0 and standard deviation 1, also for rows that come in blocks.

Moments of blocks are as exact as if all rows came at once. The usual formula E[x²] - E[x]² loses
all digits for a column of times such as 1.7e9 ± 10: the squares agree in their first 16 digits.
Here the *pivot*, the first row of all, is subtracted from every row, which is (nearly) exact. Then
blocks are merged by their means and their sums of squares about these (Chan, Golub & LeVeque 1983,
eq. 2.1):

    δ = m_B - m_A,   m = m_A + δ W_B / W,   S = S_A + S_B + δ² W_A W_B / W
"""

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from ..numerics.arrays import AnyArray
from .blocks import row_slices

_BITS = 30
_NUMBERS_AT_ONCE = 65_536  # rows whose differences and squares stay in the cache


class Moments:
    """Weighted moments and extremes of the rows added so far."""

    def __init__(self, pivot: Float[np.ndarray, " D"]) -> None:
        self._pivot = pivot.copy()
        self._weight = 0.0
        self._mean = np.zeros_like(pivot)  # relative to the pivot
        self._squares = np.zeros_like(pivot)
        self.minimum = np.full_like(pivot, np.inf)
        self.maximum = np.full_like(pivot, -np.inf)

    def add(self, X: Float[np.ndarray, "N D"], weights: Float[np.ndarray, " N"]) -> None:
        """Add these rows."""
        columns = X.T.copy()  # contiguous columns: three times as fast
        self.minimum = np.minimum(self.minimum, columns.min(axis=1))
        self.maximum = np.maximum(self.maximum, columns.max(axis=1))
        added = float(weights.sum())
        if added == 0.0:
            return
        columns -= self._pivot[:, None]
        mean = columns @ weights / added
        columns -= mean[:, None]
        squares = np.square(columns, out=columns) @ weights
        total = self._weight + added
        step = mean - self._mean
        self._mean += step * (added / total)
        self._squares += squares + step**2 * (self._weight * added / total)
        self._weight = total

    def merge(self, other: "Moments") -> None:
        """Add the rows of another `Moments`, whose pivot may differ."""
        self.minimum = np.minimum(self.minimum, other.minimum)
        self.maximum = np.maximum(self.maximum, other.maximum)
        total = self._weight + other._weight
        if other._weight == 0.0:
            return
        step = (other._pivot - self._pivot) + (other._mean - self._mean)
        self._mean = self._mean + step * (other._weight / total)
        share = self._weight * other._weight / total
        self._squares = self._squares + other._squares + step**2 * share
        self._weight = total

    def times(self, factor: float) -> "Moments":
        """The same rows with all weights multiplied by `factor`."""
        other = copy(self)
        other._weight, other._squares = factor * self._weight, factor * self._squares
        return other

    @property
    def mean(self) -> Float[np.ndarray, " D"]:
        """The weighted mean."""
        return self._pivot + self._mean

    @property
    def scale(self) -> Float[np.ndarray, " D"]:
        """The population standard deviation; 1 for a column that never changes."""
        if self._weight == 0.0:
            return np.ones_like(self._mean)
        scale = np.sqrt(self._squares / self._weight)
        changes = (self.maximum > self.minimum) & (scale > 0.0)
        return np.where(changes, scale, 1.0)


@dataclass(frozen=True)
class Standardiser:
    """z = (x - mean) / scale, column by column."""

    mean: Float[np.ndarray, " D"]
    scale: Float[np.ndarray, " D"]

    @classmethod
    def fitted(
        cls, X: Float[np.ndarray, "N D"], weights: Float[np.ndarray, " N"]
    ) -> "Standardiser":
        """Weighted mean and population standard deviation; a constant column keeps scale 1."""
        moments = Moments(X[0])
        for rows in row_slices(len(X), _rows_at_once(X)):
            moments.add(X[rows], weights[rows])
        return cls(moments.mean, moments.scale)

    @classmethod
    def identity(cls, n_features: int) -> "Standardiser":
        """A standardiser that changes nothing."""
        return cls(np.zeros(n_features), np.ones(n_features))

    def with_columns(
        self,
        columns: list[int],
        centre: Float[np.ndarray, " d"],
        scale: Float[np.ndarray, " d"],
    ) -> "Standardiser":
        """A copy with another centre and scale for some of the columns."""
        centres, scales = self.mean.copy(), self.scale.copy()
        centres[columns], scales[columns] = centre, scale
        return Standardiser(centres, scales)

    def rounded(self) -> "Standardiser":
        """A copy rounded to thirty bits, so that it does not depend on the order of summation."""
        return Standardiser(steady(self.mean), steady(self.scale))

    def __call__(self, X: Float[AnyArray, "N D"]) -> Float[AnyArray, "N D"]:
        if not np.any(self.mean) and np.all(self.scale == 1.0):
            return X  # no copy of a large table that does not change
        return (X - self.mean) / self.scale

    def rows(
        self, X: Float[np.ndarray, "N D"], numbers: Int[np.ndarray, " n"], dtype: np.dtype
    ) -> Float[np.ndarray, "n D"]:
        """The rows with these numbers, standardised, in another precision, without a large
        intermediate copy.
        """
        found = np.empty((len(numbers), X.shape[1]), dtype)
        for part in row_slices(len(numbers), _rows_at_once(X)):
            found[part] = self(X[numbers[part]])
        return found

    def undo(self, Z: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N D"]:
        """Convert back to the user's units."""
        return Z * self.scale + self.mean


def _rows_at_once(X: np.ndarray) -> int:
    return max(1, _NUMBERS_AT_ONCE // X.shape[1])


def steady(values: Any) -> Any:
    """Round to thirty bits, so that the result does not depend on the order of summation."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.round(mantissa * 2.0**_BITS), exponent - _BITS)
