"""A fit followed on rows held out, without the looking counting as training.

Looking after every iteration would take longer than training, and on a logarithmic axis nobody
would see the difference: the next look comes when the time has grown by a small share.
"""

from typing import Any

import numpy as np

from ..estimators import GPClassifier
from ..progress import Progress
from .scores import hold_out_scores
from .timing import timed_fit

_NEXT_LOOK = 1.03  # times the seconds of the last one


def followed_fit(
    clf: GPClassifier,
    X: np.ndarray,
    y: np.ndarray,
    held_out: tuple[np.ndarray, np.ndarray],
    most_seconds: float,
) -> dict[str, Any]:
    """Fit `clf` for at most so many seconds; hold-out scores over time, and how it ended.

    held_out : inputs and labels to score on.
    """
    follower = _Follower(held_out, most_seconds)
    timed = timed_fit(clf, X, y, follower)
    follower.look(clf, timed.seconds)
    return {
        "curve": follower.columns,
        **timed._asdict(),
        "iterations": clf.n_iter_,
        "converged": clf.converged_,
    }


class _Follower:
    """Scores the model of the moment, and stops the fit in time."""

    def __init__(self, held_out: tuple[np.ndarray, np.ndarray], most_seconds: float):
        self.columns: dict[str, list[float]] = {
            name: [] for name in ("seconds", "iteration", "bound", "nlp", "error")
        }
        self._held_out = held_out
        self._most_seconds = most_seconds

    def __call__(self, now: Progress, seconds: float) -> bool:
        times = self.columns["seconds"]
        if not times or seconds >= _NEXT_LOOK * times[-1]:
            assert now.model is not None  # every moment of a fit has one
            self.look(now.model(), seconds)
        return seconds >= self._most_seconds

    def look(self, model: GPClassifier, seconds: float) -> None:
        """Add a row to the columns."""
        scores = hold_out_scores(model, *self._held_out)
        row = {"seconds": seconds, "iteration": model.n_iter_, "bound": model.log_evidence_}
        for name, value in (row | scores).items():
            self.columns[name].append(value)
