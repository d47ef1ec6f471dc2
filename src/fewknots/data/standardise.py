"""Inputs brought to mean 0 and standard deviation 1, and back."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from .blocks import row_slices
from .moments import Moments

_BITS = 30
_NUMBERS_AT_ONCE = 65_536  # differences and squares of so few stay in the cache


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
        """One that changes nothing."""
        return cls(np.zeros(n_features), np.ones(n_features))

    def rounded(self) -> "Standardiser":
        """To thirty bits: the same whatever order the rows were added up in."""
        return Standardiser(steady(self.mean), steady(self.scale))

    def __call__(self, X: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N D"]:
        if not np.any(self.mean) and np.all(self.scale == 1.0):
            return X  # a large table need not be copied to stay as it is
        return (X - self.mean) / self.scale

    def rows(
        self, X: Float[np.ndarray, "N D"], numbers: Int[np.ndarray, " n"], dtype: np.dtype
    ) -> Float[np.ndarray, "n D"]:
        """The rows with these numbers in another precision, and no large copy besides."""
        found = np.empty((len(numbers), X.shape[1]), dtype)
        for part in row_slices(len(numbers), _rows_at_once(X)):
            found[part] = self(X[numbers[part]])
        return found

    def undo(self, Z: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N D"]:
        """Back to the user's units."""
        return Z * self.scale + self.mean


def _rows_at_once(X: np.ndarray) -> int:
    return max(1, _NUMBERS_AT_ONCE // X.shape[1])


def steady(values: Any) -> Any:
    """Rounded to thirty bits: the same whatever order they were added up in."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.round(mantissa * 2.0**_BITS), exponent - _BITS)
