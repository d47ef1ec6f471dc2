"""Two simple predictors of numbers, to compare a Gaussian process with.

The *mean* ignores the inputs: every row gets the same Gaussian. *Ridge regression* is linear in the
standardised inputs; its penalty is chosen by leave-one-out errors, and it predicts N(prediction,
variance of these errors). Both are kept in the model file.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from ..exceptions import ModelFileError
from ..number_scoring import Seen, seen_by_gaussian

MEAN, RIDGE = "mean", "ridge regression"
_PENALTIES = np.logspace(-4.0, 4.0, 17)  # one row, for standardised inputs
_LEAST = 1e-6  # least error, relative to the deviation of y, if a line fits exactly


class NumberBaselines(NamedTuple):
    """The parameters of both models."""

    level: Float[np.ndarray, ""]
    spread: Float[np.ndarray, ""]
    mean: Float[np.ndarray, " D"]
    scale: Float[np.ndarray, " D"]
    coef: Float[np.ndarray, " D"]
    noise: Float[np.ndarray, ""]  # standard deviation of the linear model's errors

    @classmethod
    def fitted(
        cls,
        X: Float[np.ndarray, "N D"],
        y: Float[np.ndarray, " N"],
        weights: Float[np.ndarray, " N"] | None = None,
    ) -> "NumberBaselines":
        """Fit to rows, with the penalty that minimises Σ (e_n / (1 - h_n))².

        e_n is the error at row n, and h_n the influence (leverage) of the row on its own
        prediction.
        """
        weights = np.ones(len(y)) if weights is None else weights
        share = weights / weights.sum()
        mean, level = share @ X, share @ y
        scale = np.sqrt(share @ np.square(X - mean))
        scale = np.where(
            np.ptp(X[weights > 0], axis=0) > 0.0, scale, 1.0
        )  # a constant column differs from it only by rounding
        Z, away = (X - mean) / scale, y - level
        spread = float(np.sqrt(share @ np.square(away)))
        least = _LEAST * spread if spread > 0 else 1.0
        values, U = np.linalg.eigh((Z.T * weights) @ Z)
        turned = Z @ U
        pull = turned.T @ (weights * away)
        found = []
        for penalty in _PENALTIES * len(y):
            per_direction = 1.0 / (np.maximum(values, 0.0) + penalty)
            coef = per_direction * pull
            own = np.square(turned) @ per_direction + 1.0 / weights.sum()
            errors = (away - turned @ coef) / np.maximum(1.0 - weights * own, 1e-6)
            found.append((float(share @ np.square(errors)), coef))
        square, coef = min(found, key=lambda one: one[0])
        numbers = (max(spread, least), max(float(np.sqrt(square)), least))
        return cls(
            np.asarray(level),
            np.asarray(numbers[0]),
            mean,
            scale,
            U @ coef,
            np.asarray(numbers[1]),
        )

    def seen(
        self, X: Float[np.ndarray, "N D"], y: Float[np.ndarray, " N"], counts: bool
    ) -> dict[str, Seen]:
        """The predictions of each for rows with the numbers y."""
        line = (X - self.mean) / self.scale @ self.coef + self.level
        flat = np.full(len(X), float(self.level))
        return {
            MEAN: seen_by_gaussian(flat, float(self.spread), y, counts),
            RIDGE: seen_by_gaussian(line, float(self.noise), y, counts),
        }

    def arrays(self) -> dict[str, np.ndarray]:
        """The parameters as arrays for a model file."""
        return {name: np.asarray(value, np.float64) for name, value in self._asdict().items()}

    @classmethod
    def restored(cls, arrays: dict[str, Any], n_features: int) -> "NumberBaselines":
        """The inverse of `arrays`; nothing in a file is trusted."""
        for name in cls._fields:
            array, shape = arrays[name], (n_features,) if name in ("mean", "scale", "coef") else ()
            if array.dtype != np.float64 or array.shape != shape:
                raise ModelFileError(
                    f"the baselines' {name!r} is {array.dtype} of shape {array.shape}, not float64 "
                    f"of shape {shape}."
                )
            if not np.all(np.isfinite(array)):
                raise ModelFileError(f"the baselines' {name!r} holds NaN or infinity.")
        for name in ("spread", "noise"):
            if not arrays[name] > 0:
                raise ModelFileError(f"the baselines' {name!r} is not above zero.")
        return cls(*(arrays[name] for name in cls._fields))
