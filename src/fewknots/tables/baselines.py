"""Two models that cost nothing, to see whether a Gaussian process was worth it.

The *majority class* knows how common the classes are and looks at no input: it gives every row the
same probability. *Logistic regression* is linear in the standardised inputs. Both go into the model
file, so that any rows can be scored beside them.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import expit

from ..exceptions import ModelFileError

MAJORITY, LOGISTIC = "majority class", "logistic regression"
_ITERATIONS = 1000


class Baselines(NamedTuple):
    """What the two models learned."""

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
        if len(np.unique(y)) < 2:  # a sample without one class: nothing to separate
            log_odds = float(np.log((rate + 1e-9) / (1.0 - rate + 1e-9)))
            return cls(rate, mean, scale, np.zeros(X.shape[1]), log_odds)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # close enough to compare with
            linear = LogisticRegression(max_iter=_ITERATIONS)
            linear.fit((X - mean) / scale, y, sample_weight=weights)
        return cls(rate, mean, scale, linear.coef_[0], float(linear.intercept_[0]))

    def probabilities(self, X: Float[np.ndarray, "N D"]) -> dict[str, Float[np.ndarray, " N"]]:
        """Each model's probability of the positive class."""
        latent = (X - self.mean) / self.scale @ self.coef + self.intercept
        return {MAJORITY: np.full(len(X), self.positive_rate), LOGISTIC: expit(latent)}

    def arrays(self) -> dict[str, np.ndarray]:
        """For a model file."""
        return {name: np.asarray(value, np.float64) for name, value in self._asdict().items()}

    @classmethod
    def restored(cls, arrays: dict[str, Any], n_features: int) -> "Baselines":
        """Read what `arrays` gave, trusting none of it."""
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
