"""L-BFGS-B on pytrees: SciPy's optimiser with our own stopping rule.

SciPy stops when one step gains little, but a single poor step is often followed by better ones.
Here the gain over the last ten iterations decides.
"""

from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import numpy as np
from scipy.optimize import Bounds, OptimizeResult, minimize

from ..stopping import StoppedEarly

PLATEAU_ITERATIONS = 10
_MEMORY = 50  # correction pairs; 50 need a third of the iterations of 10 on ill-conditioned fits
_MOST_TIMES_WORSE = 1e25


class Status(Enum):
    """How an optimisation ended."""

    CONVERGED = "converged"
    MAX_ITER = "reached max_iter"
    STOPPED = "stopped early"  # by a callback, the time limit or Ctrl-C


class Outcome(NamedTuple):
    """The best parameters found, and how the search ended."""

    params: Any
    value: float
    iterations: int
    status: Status


@runtime_checkable
class Maximise(Protocol):
    """Signature of `maximise`, here and in scg.py."""

    def __call__(
        self,
        objective: Callable[[Any], tuple[float, Any]],
        start: Any,
        limits: tuple[Any, Any],
        *,
        max_iter: int,
        plateau_gain: float,
        on_iteration: Callable[[float], bool],
    ) -> Outcome: ...


def maximise(
    objective: Callable[[Any], tuple[float, Any]],
    start: Any,
    limits: tuple[Any, Any],
    *,
    max_iter: int,
    plateau_gain: float,
    on_iteration: Callable[[float], bool],
) -> Outcome:
    """Maximise `objective`, which returns a value and a gradient shaped like `start`.

    limits : the lowest and highest value of every parameter, each shaped like `start`.
    plateau_gain : stop when ten iterations together gain less than this.
    on_iteration : called with the value after each iteration; returns True to stop.

    The objective may raise `StoppedEarly`, which ends the search at the best point so far.
    """
    to_params = unflattener(start)
    x0 = flatten(start)
    best_x, best_value = x0, -np.inf
    values: list[float] = []
    stopped = False

    def negative(x):
        nonlocal best_x, best_value
        value, gradient = objective(to_params(x))
        gradient = flatten(gradient)
        if not (np.all(np.isfinite(gradient)) and _is_comparable(value, best_value)):
            return _finite_replacement(x, best_x, best_value)
        if value > best_value:
            best_x, best_value = x.copy(), value
        return -value, -gradient

    def after_iteration(intermediate_result: OptimizeResult):
        nonlocal stopped
        values.append(-float(intermediate_result.fun))
        stopped = on_iteration(values[-1])
        flat_for_long = (
            len(values) > PLATEAU_ITERATIONS
            and values[-1] - values[-1 - PLATEAU_ITERATIONS] < plateau_gain
        )
        if stopped or flat_for_long:
            raise StopIteration

    try:
        minimize(
            negative,
            x0,
            jac=True,
            method="L-BFGS-B",
            bounds=Bounds(*map(flatten, limits)),
            callback=after_iteration,
            options={
                "maxiter": max_iter,
                "maxfun": 20 * max_iter + 100,
                "maxcor": _MEMORY,
                "ftol": 0.0,
                "gtol": 1e-10,
            },
        )
    except StoppedEarly:
        stopped = True
    if stopped:
        status = Status.STOPPED
    elif len(values) >= max_iter:
        status = Status.MAX_ITER
    else:
        status = Status.CONVERGED
    return Outcome(to_params(best_x), best_value, len(values), status)


def _is_comparable(value: float, best_value: float) -> bool:
    """Whether a line search can interpolate between the two.

    A finite value may be as bad as an infinite one: a bound with E[exp(-g)] can be -1e140 after a
    long first step, and then the interpolated step is zero in floating point.
    """
    if not np.isfinite(value):
        return False
    worst = best_value - _MOST_TIMES_WORSE * (1.0 + abs(best_value))
    return not np.isfinite(best_value) or value >= worst


def _finite_replacement(x, best_x, best_value):
    """Value and gradient for a trial point whose own would mislead the line search.

    An infinite value would end it. This value is a little worse than the best one, and
    its gradient points away from the best point, so the line search shortens its step.
    """
    away = x - best_x
    return 1.0 - best_value, away / max(float(away @ away), 1e-300)


# ravel_pytree would do this on the device, and compile a small program for every operation.


def flatten(tree: Any) -> np.ndarray:
    """All leaves in one vector."""
    leaves = [np.asarray(leaf, np.float64).ravel() for leaf in jax.tree.leaves(tree)]
    return np.concatenate([np.zeros(0), *leaves])


def unflattener(like: Any) -> Callable[[np.ndarray], Any]:
    """The inverse of `flatten`: from a vector to a pytree shaped like `like`."""
    leaves, structure = jax.tree.flatten(like)
    shapes = [np.shape(leaf) for leaf in leaves]
    dtypes = [leaf.dtype for leaf in leaves]
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]

    def unflatten(x: np.ndarray) -> Any:
        parts = np.split(x, ends)
        return jax.tree.unflatten(
            structure,
            [p.reshape(s).astype(d) for p, s, d in zip(parts, shapes, dtypes, strict=True)],
        )

    return unflatten
