"""A fit followed on rows held out, without the looking counting as training.

After an iteration the model of that moment is scored on the held-out rows; the clock of the fit
stands still meanwhile. Looking after every iteration would take longer than training, and on a
logarithmic axis nobody would see the difference: the next look comes when the time has grown by a
small share.
"""

import time
from typing import Any

import numpy as np

from ..estimators import GPClassifier
from ..progress import Progress
from .scores import hold_out_scores
from .timing import compile_for

_NEXT_LOOK = 1.03  # times the seconds of the last one


def followed_fit(
    clf: GPClassifier,
    X: np.ndarray,
    y: np.ndarray,
    held_out: tuple[np.ndarray, np.ndarray],
    most_seconds: float,
) -> dict[str, Any]:
    """Fit `clf` for at most so many seconds; columns over time, and how it ended.

    held_out : inputs and labels to score on.
    The clock runs from the first evaluation of the evidence: compiling, and choosing where the
    inducing points start, are given apart.
    """
    compile_seconds = compile_for(clf, X, y)
    follower = _Follower(held_out, most_seconds)
    begun = time.perf_counter()
    clf.set_params(callback=follower).fit(X, y)
    seconds = follower.seconds()
    follower.look(clf, seconds)
    return {
        "curve": follower.columns,
        "compile_seconds": compile_seconds,
        "start_seconds": follower.started - begun,
        "seconds": seconds,
        "iterations": clf.n_iter_,
        "converged": clf.converged_,
    }


class _Follower:
    """A callback that scores the model of the moment and stops the fit in time."""

    def __init__(self, held_out: tuple[np.ndarray, np.ndarray], most_seconds: float):
        self.columns: dict[str, list[float]] = {
            name: [] for name in ("seconds", "iteration", "bound", "nlp", "error")
        }
        self._held_out = held_out
        self._most_seconds = most_seconds
        self.started = 0.0  # known at the first iteration
        self._looking = 0.0  # seconds that are not the fit's

    def __call__(self, now: Progress) -> bool:
        times = self.columns["seconds"]
        if not times:
            self.started = time.perf_counter() - now.seconds
        seconds = self.seconds()
        if not times or seconds >= _NEXT_LOOK * times[-1]:
            begun = time.perf_counter()
            assert now.model is not None  # a fit's own moments have one
            self.look(now.model(), seconds)
            self._looking += time.perf_counter() - begun
        return seconds >= self._most_seconds

    def seconds(self) -> float:
        """Of training, up to now."""
        return time.perf_counter() - self.started - self._looking

    def look(self, model: GPClassifier, seconds: float) -> None:
        """Add a row to the columns."""
        scores = hold_out_scores(model, *self._held_out)
        row = {"seconds": seconds, "iteration": model.n_iter_, "bound": model.log_evidence_}
        for name, value in (row | scores).items():
            self.columns[name].append(value)
