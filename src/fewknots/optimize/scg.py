"""Scaled conjugate gradients (Møller 1993): no line search, approximate curvature is enough.

The paper found it better than L-BFGS for the sparse mean field bound. Along each conjugate
direction d the curvature is measured by a difference of gradients, and increased by β|d|² until the
resulting step succeeds. β grows where the quadratic model is poor and shrinks where it is good.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..stopping import StoppedEarly
from .lbfgsb import PLATEAU_ITERATIONS, Outcome, Status, flatten, unflattener

_DIFFERENCE = 1e-4  # the length of the step that measures curvature
_LEAST_SCALE, _MOST_SCALE = 1e-15, 1e15
_MOST_FAILURES = 40  # in a row; the steps have then become too small to matter


def maximise(
    objective: Callable[[Any], tuple[float, Any]],
    start: Any,
    limits: tuple[Any, Any],
    *,
    max_iter: int,
    plateau_gain: float,
    on_iteration: Callable[[float], bool],
) -> Outcome:
    """Same arguments and result as lbfgsb.maximise."""
    to_params = unflattener(start)
    lowest, highest = map(flatten, limits)

    def negative(x):
        value, gradient = objective(to_params(x))
        return -value, -flatten(gradient)

    def within_limits(x, g):
        # a coordinate at its limit, whose descent direction leads outside, does not move
        blocked = ((x <= lowest) & (g > 0)) | ((x >= highest) & (g < 0))
        return np.where(blocked, 0.0, g)

    x = flatten(start)
    try:
        f, g = negative(x)
        g = within_limits(x, g)
    except StoppedEarly:
        return Outcome(to_params(x), -np.inf, 0, Status.STOPPED)
    direction, scale, since_restart, failures = -g, 1.0, 0, 0
    slope = squared = curvature = 0.0
    succeeded = True
    values: list[float] = []
    status = Status.MAX_ITER
    if not (np.isfinite(f) and np.all(np.isfinite(g))):
        return Outcome(to_params(x), -np.inf, 0, Status.CONVERGED)
    while len(values) < max_iter:
        if succeeded:
            slope = direction @ g
            if slope >= 0:  # not a descent direction: restart with steepest descent
                direction, since_restart = -g, 0
                slope = direction @ g
            squared = direction @ direction
            if squared < 1e-20:
                status = Status.CONVERGED
                break
            h = _DIFFERENCE / np.sqrt(squared)
            try:
                _, ahead = negative(x + h * direction)
            except StoppedEarly:
                status = Status.STOPPED
                break
            curvature = direction @ (ahead - g) / h if np.all(np.isfinite(ahead)) else 0.0
        raised = curvature + scale * squared
        if raised <= 0:
            raised = scale * squared
            scale = scale - curvature / squared
        step = -slope / raised
        trial = np.clip(x + step * direction, lowest, highest)
        try:
            f_trial, g_trial = negative(trial)
            g_trial = within_limits(trial, g_trial)
        except StoppedEarly:
            status = Status.STOPPED
            break
        finite = np.isfinite(f_trial) and np.all(np.isfinite(g_trial))
        agreement = 2.0 * (f_trial - f) / (step * slope) if finite else -1.0
        succeeded = agreement >= 0
        if agreement < 0.25:
            scale = min(4.0 * scale, _MOST_SCALE)
        elif agreement > 0.75:
            scale = max(0.5 * scale, _LEAST_SCALE)
        if not succeeded:
            failures += 1
            if failures >= _MOST_FAILURES:
                status = Status.CONVERGED
                break
            continue
        failures = 0
        since_restart += 1
        if since_restart >= len(x):
            direction, since_restart = -g_trial, 0
        else:
            direction = ((g - g_trial) @ g_trial / slope) * direction - g_trial
        x, f, g = trial, f_trial, g_trial
        values.append(-f)
        if on_iteration(-f):
            status = Status.STOPPED
            break
        flat = len(values) > PLATEAU_ITERATIONS and (
            values[-1] - values[-1 - PLATEAU_ITERATIONS] < plateau_gain
        )
        if flat:
            status = Status.CONVERGED
            break
    return Outcome(to_params(x), -f, len(values), status)
