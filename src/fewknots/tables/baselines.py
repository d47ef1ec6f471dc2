"""Two simple models on the same rows, to compare a Gaussian process with.

The *majority class* knows only how frequent the classes are: it gives every row the same
probabilities. *Logistic regression* (multinomial for more than two classes) is linear in the
standardised inputs. Both are kept in the model file, so they can be scored on any rows too.

Of two classes a model gives the probability of the positive one, of more a column for each: so the
parameters of a class have an axis of length C only if C > 2.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import expit, softmax

from ..exceptions import ModelFileError

MAJORITY, LOGISTIC = "majority class", "logistic regression"
_ITERATIONS, _ITERATIONS_OF_MANY = 1000, 100  # fewer, since each takes longer with many classes
_UNSEEN_ROWS = 0.5  # weight of a row of zeros for each class without rows
_RATE = "positive_rate"  # in files


class Baselines(NamedTuple):
    """The parameters of the two models."""

    rate: Float[np.ndarray, "..."]  # of the positive class, or of each class
    mean: Float[np.ndarray, " D"]
    scale: Float[np.ndarray, " D"]
    coef: Float[np.ndarray, "D ..."]
    intercept: Float[np.ndarray, "..."]

    @classmethod
    def fitted(
        cls,
        X: Float[np.ndarray, "N D"],
        y: np.ndarray,
        weights: Float[np.ndarray, " N"] | None = None,
        n_classes: int = 2,
    ) -> "Baselines":
        """Learn from rows with labels 0, 1, ..."""
        mean, scale = X.mean(axis=0), X.std(axis=0)
        scale = np.where(scale > 0.0, scale, 1.0)
        Z = (X - mean) / scale
        if n_classes > 2:
            return cls._of_many(mean, scale, Z, y, weights, n_classes)
        rate = np.asarray(np.average(y, weights=weights), np.float64)
        if len(np.unique(y)) < 2:  # the sample has only one class
            log_odds = np.log((rate + 1e-9) / (1.0 - rate + 1e-9))
            return cls(rate, mean, scale, np.zeros(X.shape[1]), np.asarray(log_odds))
        coef, intercept = _linear(Z, y, weights)
        return cls(rate, mean, scale, coef[0], intercept[0])

    @classmethod
    def _of_many(
        cls,
        mean: Float[np.ndarray, " D"],
        scale: Float[np.ndarray, " D"],
        Z: Float[np.ndarray, "N D"],
        y: np.ndarray,
        weights: Float[np.ndarray, " N"] | None,
        n_classes: int,
    ) -> "Baselines":
        weights = np.ones(len(y)) if weights is None else weights
        absent = np.flatnonzero(np.bincount(y, weights, n_classes) == 0.0)
        Z = np.concatenate([Z, np.zeros((len(absent), Z.shape[1]))])
        y = np.concatenate([y, absent])
        weights = np.concatenate([weights, np.full(len(absent), _UNSEEN_ROWS)])
        totals = np.bincount(y, weights, n_classes)
        coef, intercept = _linear(Z, y, weights)
        return cls(totals / totals.sum(), mean, scale, np.ascontiguousarray(coef.T), intercept)

    def probabilities(self, X: Float[np.ndarray, "N D"]) -> dict[str, Float[np.ndarray, "N ..."]]:
        """Probability of the positive class by each model, or of each class in a column."""
        latent = (X - self.mean) / self.scale @ self.coef + self.intercept
        linear = expit(latent) if latent.ndim == 1 else softmax(latent, axis=1)
        return {MAJORITY: np.full((len(X), *self.rate.shape), self.rate), LOGISTIC: linear}

    def arrays(self) -> dict[str, np.ndarray]:
        """The parameters as arrays for a model file."""
        named = {_RATE if name == "rate" else name: value for name, value in self._asdict().items()}
        return {name: np.asarray(value, np.float64) for name, value in named.items()}

    @classmethod
    def restored(cls, arrays: dict[str, Any], n_features: int, n_classes: int = 2) -> "Baselines":
        """The inverse of `arrays`; nothing in a file is trusted."""
        of_class, of_input = (n_classes,) if n_classes > 2 else (), (n_features,)
        shapes = {
            _RATE: of_class,
            "mean": of_input,
            "scale": of_input,
            "coef": (*of_input, *of_class),
            "intercept": of_class,
        }
        for name, shape in shapes.items():
            array = arrays[name]
            if array.dtype != np.float64 or array.shape != shape:
                raise ModelFileError(
                    f"the baselines' {name!r} is {array.dtype} of shape {array.shape}, not float64 "
                    f"of shape {shape}."
                )
            if not np.all(np.isfinite(array)):
                raise ModelFileError(f"the baselines' {name!r} holds NaN or infinity.")
        return cls(*(arrays[name] for name in shapes))


def _linear(
    Z: Float[np.ndarray, "N D"], y: np.ndarray, weights: Float[np.ndarray, " N"] | None
) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients, a row for each class (for two: for the second), and intercepts."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # accurate enough to compare with
        most = _ITERATIONS if np.max(y) < 2 else _ITERATIONS_OF_MANY
        linear = LogisticRegression(max_iter=most).fit(Z, y, sample_weight=weights)
    return linear.coef_, linear.intercept_
