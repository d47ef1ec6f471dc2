"""A fit followed on rows held out, without the looking counting as training.

Looking after every iteration would take longer than training, and on a logarithmic axis nobody
would see the difference: the next look comes when the iterations have grown by a small share. So
all but the seconds is the same whenever it is run.
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
    next_look: float = _NEXT_LOOK,
) -> dict[str, Any]:
    """Fit `clf`; hold-out scores over time, and how it ended.

    held_out : inputs and labels to score on.
    next_look : the iterations at a look, divided by those at the look before.
    """
    follower = _Follower(held_out, next_look)
    timed = timed_fit(clf, X, y, follower)
    follower.look(clf, timed.seconds)
    return {
        "curve": follower.columns,
        **timed._asdict(),
        "iterations": clf.n_iter_,
        "converged": clf.converged_,
    }


class _Follower:
    """Scores the model of the moment."""

    def __init__(self, held_out: tuple[np.ndarray, np.ndarray], next_look: float):
        names = ("seconds", "iteration", "passes", "bound", "nlp", "error")
        self.columns: dict[str, list[Any]] = {name: [] for name in names}
        self._held_out = held_out
        self._next_look = next_look
        self._passes: float | None = None  # over the rows; only minibatches count them

    def __call__(self, now: Progress, seconds: float) -> None:
        self._passes = now.passes
        looks = self.columns["iteration"]
        if not looks or now.iteration >= self._next_look * looks[-1]:
            assert now.model is not None  # every moment of a fit has one
            self.look(now.model(), seconds)

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
