"""A fit on the clock: training alone, with all else apart.

JAX compiles a program for every method and shape when it first meets it, which costs as much as
many iterations and has nothing to do with the method. So the same fit is begun once and stopped
after a few iterations, and then done again from the start with everything compiled; what the first
one took longer for the same iterations is the time of compiling.
"""

import time
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..estimators import GPClassifier
from ..progress import Progress

_ENOUGH_TO_COMPILE = 25  # iterations: past the first look for idle inducing points

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
