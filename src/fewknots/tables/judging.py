"""The differences between classes and numbers when a table's model predicts and is scored.

Code that scores (the end of a fit, `evaluate`, `report`) gets the predictions of the model and of
the simple models from a `Judge`, joins the pieces, and asks the `Judge` for scores. So it does not
depend on the kind of target. The predictions (`seen`) are arrays with rows along their first axis:
log probabilities of classes, or `number_scoring.Seen`.
"""

from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from ..number_scoring import Seen, number_intervals, number_scores
from ..scoring import difference_interval, intervals, row_nlp, scores
from .baselines import LOGISTIC, Baselines
from .number_baselines import RIDGE, NumberBaselines

MODEL = "Gaussian process"


@runtime_checkable
class Judge(Protocol):
    """Scores predictions of one kind of target."""

    baseline: str  # the simple model that the gain refers to

    def fitted_baselines(self, X: Any, y: Any, weights: Any, n_classes: int) -> Any:
        """The simple models, fitted to these rows."""
        ...

    def seen(self, estimator: Any, X: Any, y: Any) -> Any:
        """The model's predictions for rows with these targets."""
        ...

    def seen_simply(self, baselines: Any, estimator: Any, X: Any, y: Any) -> dict[str, Any]:
        """The predictions of each simple model."""
        ...

    def joined(self, parts: list[Any]) -> Any:
        """Join the predictions for pieces of the rows."""
        ...

    def comparison(self, seen: Any, y: Any, simple: dict[str, Any]) -> dict[str, Any]:
        """Scores by name, and the gain in NLP of the model over `baseline`."""
        ...

    def intervals(self, seen: Any, y: Any) -> dict[str, tuple[float, float] | None]:
        """Bootstrap intervals of the model's scores."""
        ...


class OfClasses:
    """A `Judge` of probabilities."""

    baseline = LOGISTIC

    def fitted_baselines(self, X: Any, y: Any, weights: Any, n_classes: int) -> Baselines:
        return Baselines.fitted(X, y, weights, n_classes)

    def seen(self, estimator: Any, X: Any, y: Any) -> Float[np.ndarray, "N C"]:
        return estimator.predict_log_proba(X)

    def seen_simply(self, baselines: Any, estimator: Any, X: Any, y: Any) -> dict[str, np.ndarray]:
        return baselines.probabilities(X)

    def joined(self, parts: list[np.ndarray]) -> np.ndarray:
        return np.concatenate(parts)

    def comparison(self, seen: Any, y: Any, simple: dict[str, Any]) -> dict[str, Any]:
        p = probabilities_to_score(seen)
        found = {MODEL: scores(p, y, seen)} | {name: scores(q, y) for name, q in simple.items()}
        return {"scores": found} | _gain(row_nlp(p, y, seen), row_nlp(simple[LOGISTIC], y), self)

    def intervals(self, seen: Any, y: Any) -> dict[str, tuple[float, float] | None]:
        return intervals(probabilities_to_score(seen), y, log_p=seen)


class OfNumbers:
    """A `Judge` of distributions of numbers."""

    baseline = RIDGE

    def fitted_baselines(self, X: Any, y: Any, weights: Any, n_classes: int) -> NumberBaselines:
        return NumberBaselines.fitted(X, y, weights)

    def seen(self, estimator: Any, X: Any, y: Any) -> Seen:
        return estimator._seen(X, y)

    def seen_simply(self, baselines: Any, estimator: Any, X: Any, y: Any) -> dict[str, Seen]:
        return baselines.seen(X, y, counts=estimator.likelihood_.support == "counts")

    def joined(self, parts: list[Seen]) -> Seen:
        return Seen.joined(parts)

    def comparison(self, seen: Any, y: Any, simple: dict[str, Any]) -> dict[str, Any]:
        found = {MODEL: seen} | simple
        return {"scores": {name: number_scores(one, y) for name, one in found.items()}} | _gain(
            -seen.log_density, -simple[RIDGE].log_density, self
        )

    def intervals(self, seen: Any, y: Any) -> dict[str, tuple[float, float] | None]:
        return number_intervals(seen, y)


def _gain(ours: np.ndarray, theirs: np.ndarray, judge: Judge) -> dict[str, Any]:
    interval = [*difference_interval(theirs, ours)]
    nlp = float(np.mean(theirs - ours))
    return {"gain": {"nlp": nlp, "interval": interval, "over": judge.baseline}}


def probabilities_to_score(log_p: Float[np.ndarray, "N C"]) -> Float[np.ndarray, "N ..."]:
    """The probabilities that `scoring` takes: of the positive class, or of each of many."""
    p = np.exp(log_p)
    return p[:, 1] if p.shape[1] == 2 else p


JUDGES: dict[str, Judge] = {"classes": OfClasses(), "numbers": OfNumbers()}
