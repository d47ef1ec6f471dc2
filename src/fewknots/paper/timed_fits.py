"""A fit on the clock: training alone, with all else apart; and its scores on rows held out.

JAX compiles a program for every method and shape when it first meets it, which costs as much as
many iterations and has nothing to do with the method. So the same fit is begun once and stopped
after a few iterations, and then done again from the start with everything compiled; what the first
one took longer for the same iterations is the time of compiling.

A fit can be followed on rows held out, without the looking counting as training. Looking after
every iteration would take longer than training, and on a logarithmic axis nobody would see the
difference: the next look comes when the iterations have grown by a small share. So all but the
seconds is the same whenever it is run.
"""

import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..estimators import GPClassifier
from ..progress import Progress

_ENOUGH_TO_COMPILE = 25  # iterations: past the first look for idle inducing points
_NEXT_LOOK = 1.03
Follow = Callable[[Progress, float], None]


class TimedFit(NamedTuple):
    """How long it took.

    seconds : of training, from the first evaluation of the evidence to the end.
    start_seconds : before it, for standardising and choosing where inducing points start.
    compile_seconds : what compiling took, in neither of the two.
    """

    seconds: float
    start_seconds: float
    compile_seconds: float


def timed_fit(
    clf: GPClassifier, X: np.ndarray, y: np.ndarray, follow: Follow | None = None
) -> TimedFit:
    """Fit `clf`. The clock stands still while `follow` looks.

    `follow` is given what a callback is given, and the seconds of training so far.
    """
    compiling = _short_fit_seconds(clf, X, y)
    watch = _Stopwatch(follow)
    clf.set_params(callback=watch).fit(X, y)
    seconds, start = watch.seconds(), watch.started - watch.begun
    clf.set_params(callback=None)
    same = start + watch.laps[min(len(watch.laps), _ENOUGH_TO_COMPILE) - 1]
    return TimedFit(seconds, start, max(0.0, compiling - same))


def _short_fit_seconds(clf: GPClassifier, X: np.ndarray, y: np.ndarray) -> float:
    """Of the first iterations of the fit, with all that they need to be compiled."""
    most = min(_ENOUGH_TO_COMPILE, clf.max_iter or _ENOUGH_TO_COMPILE)
    short = GPClassifier(**(clf.get_params(deep=False) | {"max_iter": most}))
    begun = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it did not converge is the point
        short.fit(X, y)
    return time.perf_counter() - begun


class _Stopwatch:
    """A callback that counts the seconds of training after every iteration."""

    def __init__(self, follow: Follow | None):
        self.laps: list[float] = []
        self.begun = self.started = time.perf_counter()
        self._follow = follow
        self._away = 0.0  # seconds that are not the fit's

    def __call__(self, now: Progress) -> None:
        if not self.laps:
            self.started = time.perf_counter() - now.seconds
        self.laps.append(self.seconds())
        if self._follow is not None:
            left = time.perf_counter()
            self._follow(now, self.laps[-1])
            self._away += time.perf_counter() - left

    def seconds(self) -> float:
        """Of training, up to now."""
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
