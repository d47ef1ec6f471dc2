"""Timed fits: seconds of training alone, and scores on held-out rows over time.

JAX compiles a program for every method and shape at its first use. This takes as long as many
iterations and says nothing about the method. So the fit is first run for a few iterations only, and
then again from the start with everything compiled; the difference for the same iterations is the
time of compiling.

A fit can be scored on held-out rows while it runs, and this time does not count as training.
Scoring after every iteration would take longer than training and make no visible difference on a
logarithmic axis: the next score is computed when the number of iterations has grown by a small
share. So everything except the seconds is the same in every run.
"""

import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..estimators import GPClassifier
from ..progress import Progress

_ENOUGH_TO_COMPILE = 25  # iterations: includes the first search for unused inducing points
_NEXT_LOOK = 1.03
Follow = Callable[[Progress, float], None]


class TimedFit(NamedTuple):
    """Durations.

    seconds : of training, from the first evaluation of the evidence to the end.
    start_seconds : before training, for standardising and choosing the first inducing points.
    compile_seconds : of compiling, which is not in the other two.
    """

    seconds: float
    start_seconds: float
    compile_seconds: float


def timed_fit(
    clf: GPClassifier, X: np.ndarray, y: np.ndarray, follow: Follow | None = None
) -> TimedFit:
    """Fit `clf`. The time of `follow` does not count.

    `follow` gets the argument of a callback, and the seconds of training so far.
    """
    compiling = _short_fit_seconds(clf, X, y)
    watch = _Stopwatch(follow)
    clf.set_params(callback=watch).fit(X, y)
    seconds, start = watch.seconds(), watch.started - watch.begun
    clf.set_params(callback=None)
    same = start + watch.laps[min(len(watch.laps), _ENOUGH_TO_COMPILE) - 1]
    return TimedFit(seconds, start, max(0.0, compiling - same))


def _short_fit_seconds(clf: GPClassifier, X: np.ndarray, y: np.ndarray) -> float:
    """Seconds of the first iterations of the fit, including compiling."""
    most = min(_ENOUGH_TO_COMPILE, clf.max_iter or _ENOUGH_TO_COMPILE)
    short = GPClassifier(**(clf.get_params(deep=False) | {"max_iter": most}))
    begun = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is not meant to converge
        short.fit(X, y)
    return time.perf_counter() - begun


class _Stopwatch:
    """A callback that counts the seconds of training after every iteration."""

    def __init__(self, follow: Follow | None):
        self.laps: list[float] = []
        self.begun = self.started = time.perf_counter()
        self._follow = follow
        self._away = 0.0  # seconds that do not count as training

    def __call__(self, now: Progress) -> None:
        if not self.laps:
            self.started = time.perf_counter() - now.seconds
        self.laps.append(self.seconds())
        if self._follow is not None:
            left = time.perf_counter()
            self._follow(now, self.laps[-1])
            self._away += time.perf_counter() - left

    def seconds(self) -> float:
        """Seconds of training so far."""
        return time.perf_counter() - self.started - self._away


def followed_fit(
    clf: GPClassifier,
    X: np.ndarray,
    y: np.ndarray,
    held_out: tuple[np.ndarray, np.ndarray],
    next_look: float = _NEXT_LOOK,
) -> dict[str, Any]:
    """Fit `clf`; hold-out scores over time, and how it ended.

    held_out : inputs and labels to score on.
    next_look : number of iterations at a score divided by that at the score before.
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
    """Scores the current model on held-out rows."""

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
            assert now.model is not None  # every report of a fit has one
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


def hold_out_scores(clf: Any, X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Mean negative log probability of the true class (NLP), and the share of wrong answers."""
    if hasattr(clf, "predict_log_proba"):
        log_probabilities = clf.predict_log_proba(X)
    else:  # for example scikit-learn's gradient boosting
        log_probabilities = np.log(clf.predict_proba(X))
    truth = np.searchsorted(clf.classes_, y)
    right = log_probabilities[np.arange(len(y)), truth]
    wrong = log_probabilities.argmax(axis=1) != truth
    return {"nlp": float(-np.mean(right)), "error": float(np.mean(wrong))}
