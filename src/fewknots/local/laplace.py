r"""Laplace's approximation in every neighbourhood: Newton's method for the mode f̂ = m + Kα.

Rasmussen & Williams, algorithm 3.1, for many small problems together. It needs no variances while
it goes, so that a step is one Cholesky factor and a few products with vectors. On a CPU the factor
of 48 rows costs twenty such products: so the first steps solve their equations roughly, by eight
conjugate gradient steps, and only the last two or three exactly. That halves the time.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from ..likelihoods import Likelihood, Pointwise
from ..numerics.linalg import times
from .neighbourhood import Covariances, Labelled, factorised, shrunk
from .site_solution import Matrix, Sensitivity, SiteSolution, by_row

_MOST_STEPS = 50
_SMALLEST_STEP = 1e-3
_ROUGH_STEPS = 5
_CONJUGATE_STEPS = 8


def laplace(
    prior: Covariances, labels: Labelled, likelihood: Likelihood, mean: Any, tolerance: float
) -> SiteSolution:
    """Until Newton's step is shorter than `tolerance`; that last one is taken, too.

    What it leaves is of the order of its square. A step that lowers log p(y|f) - ½ αᵀKα is not
    taken but halved.
    """
    K = prior.covariance

    def seen(centred: Matrix, likelihood: Likelihood = likelihood) -> Pointwise:
        at = by_row(likelihood.at, labels.y, mean + centred)
        return jax.tree.map(lambda column: labels.weights * column, at)

    class NewtonState(NamedTuple):
        slope: Matrix  # α
        centred: Matrix  # Kα
        more_slope: Matrix  # Newton's step for α
        more_centred: Matrix  # and for Kα
        step: Float[Array, " Q"]
        objective: Float[Array, " Q"]
        left: Float[Array, " Q"]
        steps: Array

    def objective_at(at: Pointwise, slope: Matrix, centred: Matrix):
        return jnp.sum(at.log_prob, axis=1) - 0.5 * jnp.sum(slope * centred, axis=1)

    def unfinished(state: NewtonState):
        return (jnp.max(state.left) > tolerance) & (state.steps < _MOST_STEPS)

    def advance(state: NewtonState) -> NewtonState:
        slope = state.slope + state.step[:, None] * state.more_slope
        centred = state.centred + state.step[:, None] * state.more_centred
        at = seen(centred)
        objective = objective_at(at, slope, centred)
        rounding = 1e2 * float(jnp.finfo(K.dtype).eps) * (1.0 + jnp.abs(objective))
        taken = objective >= state.objective - rounding
        linear = at.slope + at.curvature * centred
        factor = factorised(K, at.curvature)
        more_slope = linear - shrunk(factor, at.curvature, times(K, linear)) - slope
        more_centred = times(K, more_slope)
        new = NewtonState(
            slope,
            centred,
            more_slope,
            more_centred,
            jnp.ones_like(state.step),
            objective,
            jnp.max(jnp.abs(more_centred), axis=1),
            state.steps,
        )
        # A step that is still a loss when it is this short is lost to rounding: nothing is left.
        shorter = 0.5 * state.step
        left = jnp.where(shorter < _SMALLEST_STEP, 0.0, state.left)
        halved = state._replace(step=shorter, left=left)
        chosen = jax.tree.map(lambda a, b: _where(taken, a, b), new, halved)
        return chosen._replace(steps=state.steps + 1)

    zero, each = jnp.zeros_like(prior.cross), jnp.zeros_like(prior.own)
    rough = _rough_mode(K, seen)
    centred = times(K, rough)
    better = objective_at(seen(centred), rough, centred) > objective_at(seen(zero), zero, zero)
    begin = _where(better, rough, zero), _where(better, centred, zero)
    start = NewtonState(*begin, zero, zero, each, each - jnp.inf, each + jnp.inf, jnp.asarray(0))
    found = lax.while_loop(unfinished, advance, start)
    centred = found.centred + found.step[:, None] * found.more_centred
    at = seen(centred)
    return SiteSolution(
        found.slope + found.step[:, None] * found.more_slope,
        at.curvature,
        factorised(K, at.curvature),
        None,
        Sensitivity(-at.curvature, zero, at.curvature_slope, zero),
        lambda other: seen(centred, other)[1:3],
    )


def _rough_mode(K: Float[Array, "Q K K"], seen: Callable[[Matrix], Pointwise]) -> Matrix:
    """α after a few inexact Newton steps: (I + W K) Δα = ∇log p(f) - α.

    With Δα = r - √W z that is (I + √W K √W) z = √W K r, a symmetric system.
    """

    def step(_, slope: Matrix) -> Matrix:
        at = seen(times(K, slope))
        root, missing = jnp.sqrt(at.curvature), at.slope - slope
        right = root * times(K, missing)

        def conjugate(_, state):
            z, residual, direction, size = state
            image = direction + root * times(K, root * direction)
            length = size / jnp.maximum(_dot(direction, image), tiny)
            residual = residual - length * image
            new_size = _dot(residual, residual)
            onward = residual + new_size / jnp.maximum(size, tiny) * direction
            return z + length * direction, residual, onward, new_size

        start = (jnp.zeros_like(right), right, right, _dot(right, right))
        z = lax.fori_loop(0, _CONJUGATE_STEPS, conjugate, start)[0]
        return slope + missing - root * z

    tiny = float(jnp.finfo(K.dtype).tiny)
    return lax.fori_loop(0, _ROUGH_STEPS, step, jnp.zeros(K.shape[:2], K.dtype))


def _dot(a: Matrix, b: Matrix) -> Float[Array, "Q 1"]:
    return jnp.sum(a * b, axis=1, keepdims=True)


def _where(taken: Array, new: Array, old: Array) -> Array:
    if new.ndim == 0:
        return new
    return jnp.where(taken.reshape(-1, *(1,) * (new.ndim - 1)), new, old)
