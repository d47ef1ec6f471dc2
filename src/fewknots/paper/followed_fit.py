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

_NEXT_LOOK = 1.03


def followed_fit(
    clf: GPClassifier,
    X: np.ndarray,
    y: np.ndarray,
    held_out: tuple[np.ndarray, np.ndarray],
    most_seconds: float = np.inf,
    next_look: float = _NEXT_LOOK,
) -> dict[str, Any]:
    """Fit `clf` for at most so many seconds; hold-out scores over time, and how it ended.

    held_out : inputs and labels to score on.
    next_look : the seconds of a look divided by those of the look before.
    """
    follower = _Follower(held_out, most_seconds, next_look)
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

    def __init__(
        self, held_out: tuple[np.ndarray, np.ndarray], most_seconds: float, next_look: float
    ):
        names = ("seconds", "iteration", "passes", "bound", "nlp", "error")
        self.columns: dict[str, list[float | None]] = {name: [] for name in names}
        self._held_out = held_out
        self._most_seconds = most_seconds
        self._next_look = next_look
        self._looked = 0.0
        self._passes: float | None = None  # over the rows; only minibatches count them

    def __call__(self, now: Progress, seconds: float) -> bool:
        self._passes = now.passes
        if seconds >= self._next_look * self._looked:
            assert now.model is not None  # every moment of a fit has one
            self.look(now.model(), seconds)
        return seconds >= self._most_seconds

    def look(self, model: GPClassifier, seconds: float) -> None:
        """Add a row to the columns."""
        scores = hold_out_scores(model, *self._held_out)
        row = {
            "seconds": seconds,
            "iteration": model.n_iter_,
            "passes": self._passes,
            "bound": model.log_evidence_,
        }
        for name, value in (row | scores).items():
            self.columns[name].append(value)
        self._looked = seconds
