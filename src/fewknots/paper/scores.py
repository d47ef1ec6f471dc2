"""How good predictions are on rows held out, as the paper counts it."""

from typing import Any

import numpy as np


def hold_out_scores(clf: Any, X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Mean negative log probability of the true class (NLP), and the share of wrong answers."""
    if hasattr(clf, "predict_log_proba"):
        log_probabilities = clf.predict_log_proba(X)
    else:  # as scikit-learn's gradient boosting
        log_probabilities = np.log(clf.predict_proba(X))
    truth = np.searchsorted(clf.classes_, y)
    right = log_probabilities[np.arange(len(y)), truth]
    wrong = log_probabilities.argmax(axis=1) != truth
    return {"nlp": float(-np.mean(right)), "error": float(np.mean(wrong))}
