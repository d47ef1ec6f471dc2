"""Two simple models to compare a Gaussian process with.

The *majority class* knows only how frequent the classes are: it gives every row the same
probability. *Logistic regression* is linear in the standardised inputs. Both are saved in the model
file, so that they can be scored on any rows too.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import expit

from ..exceptions import ModelFileError

MAJORITY, LOGISTIC = "majority class", "logistic regression"
_ITERATIONS = 1000


class Baselines(NamedTuple):
    """The parameters of the two models."""

    positive_rate: float
    mean: Float[np.ndarray, " D"]
    scale: Float[np.ndarray, " D"]
    coef: Float[np.ndarray, " D"]
    intercept: float

    @classmethod
    def fitted(
        cls,
        X: Float[np.ndarray, "N D"],
        y: np.ndarray,
        weights: Float[np.ndarray, " N"] | None = None,
    ) -> "Baselines":
        """Learn from rows with labels 0 and 1."""
        import warnings

        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression

        rate = float(np.average(y, weights=weights))
        mean, scale = X.mean(axis=0), X.std(axis=0)
        scale = np.where(scale > 0.0, scale, 1.0)
        if len(np.unique(y)) < 2:  # the sample has only one class
            log_odds = float(np.log((rate + 1e-9) / (1.0 - rate + 1e-9)))
            return cls(rate, mean, scale, np.zeros(X.shape[1]), log_odds)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # accurate enough to compare with
            linear = LogisticRegression(max_iter=_ITERATIONS)
            linear.fit((X - mean) / scale, y, sample_weight=weights)
        return cls(rate, mean, scale, linear.coef_[0], float(linear.intercept_[0]))

    def probabilities(self, X: Float[np.ndarray, "N D"]) -> dict[str, Float[np.ndarray, " N"]]:
        """Probability of the positive class by each model."""
        latent = (X - self.mean) / self.scale @ self.coef + self.intercept
        return {MAJORITY: np.full(len(X), self.positive_rate), LOGISTIC: expit(latent)}

    def arrays(self) -> dict[str, np.ndarray]:
        """The parameters as arrays for a model file."""
        return {name: np.asarray(value, np.float64) for name, value in self._asdict().items()}

    @classmethod
    def restored(cls, arrays: dict[str, Any], n_features: int) -> "Baselines":
        """The inverse of `arrays`; nothing in a file is trusted."""
        shapes = {"positive_rate": (), "intercept": ()}
        for name in cls._fields:
            array, shape = arrays[name], shapes.get(name, (n_features,))
            if array.dtype != np.float64 or array.shape != shape:
                raise ModelFileError(
                    f"the baselines' {name!r} is {array.dtype} of shape {array.shape}, not float64 "
                    f"of shape {shape}."
                )
            if not np.all(np.isfinite(array)):
                raise ModelFileError(f"the baselines' {name!r} holds NaN or infinity.")
        return cls(
            float(arrays["positive_rate"]),
            arrays["mean"],
            arrays["scale"],
            arrays["coef"],
            float(arrays["intercept"]),
        )
