"""Inputs brought to mean 0 and standard deviation 1, and back."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


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
        mean = np.average(X, axis=0, weights=weights)
        scale = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weights))
        return cls(mean, np.where(np.ptp(X, axis=0) > 0, scale, 1.0))

    @classmethod
    def identity(cls, n_features: int) -> "Standardiser":
        """One that changes nothing."""
        return cls(np.zeros(n_features), np.ones(n_features))

    def __call__(self, X: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N D"]:
        if not np.any(self.mean) and np.all(self.scale == 1.0):
            return X  # a large table need not be copied to stay as it is
        return (X - self.mean) / self.scale

    def undo(self, Z: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N D"]:
        """Back to the user's units."""
        return Z * self.scale + self.mean
