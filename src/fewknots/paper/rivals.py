"""The models that a Gaussian process has to beat on the flights, as scikit-learn has them."""

import time
from typing import Any

import numpy as np

from .scores import hold_out_scores

Rows = tuple[np.ndarray, np.ndarray]


def _linear(seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(
        StandardScaler(), LogisticRegression(solver="liblinear", random_state=seed)
    )


def _boosting(seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(random_state=seed)


_MODELS = {"linear": _linear, "boosting": _boosting}
RIVALS = {"linear": "linear model (LIBLINEAR)", "boosting": "gradient boosting (defaults)"}


def fit_rival(name: str, rows: Rows, held_out: Rows, seed: int) -> dict[str, Any]:
    """Its scores, in the form of a curve of one point."""
    model = _MODELS[name](seed)
    started = time.perf_counter()
    model.fit(*rows)
    seconds = time.perf_counter() - started
    scores = hold_out_scores(model, *held_out)
    point = {"seconds": seconds} | scores
    return {"curve": {key: [value] for key, value in point.items()}, "seconds": seconds}
