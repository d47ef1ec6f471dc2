"""A fit on the clock: training alone, with compilation apart.

JAX compiles a program for every method and shape when it first meets it, which costs as much as
many iterations and has nothing to do with the method. So the same fit is begun once and stopped
after a few iterations, and then done again from the start with everything compiled. The first one's
seconds are reported beside, so that nothing is hidden.
"""

import time
import warnings
from typing import NamedTuple

import numpy as np

from ..estimators import GPClassifier

_ENOUGH_TO_COMPILE = 25  # iterations: past the first look for idle inducing points


class TimedFit(NamedTuple):
    """A fitted classifier, the seconds of its training, and those of the fit that compiled."""

    clf: GPClassifier
    seconds: float
    compile_seconds: float


def timed_fit(clf: GPClassifier, X: np.ndarray, y: np.ndarray) -> TimedFit:
    """Fit `clf`; its time runs from the call of `fit` to its end, k-means included."""
    compile_seconds = compile_for(clf, X, y)
    started = time.perf_counter()
    clf.fit(X, y)
    return TimedFit(clf, time.perf_counter() - started, compile_seconds)


def compile_for(clf: GPClassifier, X: np.ndarray, y: np.ndarray) -> float:
    """Have all that `clf.fit` needs compiled; the seconds that took."""
    most = _ENOUGH_TO_COMPILE if clf.max_iter is None else min(clf.max_iter, _ENOUGH_TO_COMPILE)
    short = GPClassifier(**(clf.get_params(deep=False) | {"max_iter": most, "callback": None}))
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it did not converge is the point
        short.fit(X, y)
    return time.perf_counter() - started
