r"""Laplace's approximation in every neighbourhood: Newton's method for the mode f̂ = m + Kα.

Rasmussen & Williams, algorithm 3.1, for many small problems at once. It needs no variances on the
way, so a step is one linear system,

    (I + W K) Δα = ∇log p(f) - α,    Δα = r - √W z,    (I + √W K √W) z = √W K r,

On a CPU, solving it by a Cholesky factor of 48 rows costs about thirty products of K with a
vector. The first steps solve it roughly, by eight conjugate gradient steps. In float64 the last
two or three steps solve it exactly. In float32, whose rounding error is small enough here, these
steps and the query's own system also use conjugate gradients, until the residual is small
(`reach_of`), and nothing is factorised: this takes half the time, and avoids deadlocks between
batches of LAPACK calls.
"""

from collections.abc import Callable
from functools import partial
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
_ROUGH_STEPS = 1, 5  # in float32, whose later steps cost hardly more, and in float64
_STEPS_ALONE = 3
_CONJUGATE_STEPS = 8
_MOST_CONJUGATE_STEPS = 100
# The largest residual that conjugate gradients may leave: relative to the right-hand side, and
# absolute. A rough solution is short, and looks like the last step: with a relative 3e-2 and a
# kernel of variance 300 means were wrong by two standard deviations, with 3e-3 by 1e-5. The error
# of the step of √W f is at most the absolute one. Without it, a kernel of variance 1000 had steps
# of length 27 where Newton's had 1.7, and no step in their direction was a gain.
_ACCURACY = 1e-3, 0.1
_REACH_ACCURACY = 1e-4, 1e-2  # kᵀu is too small by the square of the error


Slope = Float[Array, "Q *P K"]  # a number for each neighbour, of each function


def laplace(
    prior: Covariances, labels: Labelled, likelihood: Likelihood, mean: Any, tolerance: float
) -> SiteSolution:
    """The mode of each neighbourhood with one latent function; coupled.py has several."""
    K = prior.covariance

    def at_rows(centred: Matrix, likelihood: Likelihood = likelihood) -> Pointwise:
        at = by_row(likelihood.at, labels.y, mean + centred)
        return jax.tree.map(lambda column: labels.weights * column, at)

    def seen(slope: Matrix, centred: Matrix) -> tuple[Float[Array, " Q"], Pointwise]:
        at = at_rows(centred)
        return jnp.sum(at.log_prob, axis=1) - 0.5 * jnp.sum(slope * centred, axis=1), at

    def newton(at: Pointwise, slope: Matrix, centred: Matrix) -> Matrix:
        if iterates(K.dtype):
            return _step(K, at, slope, partial(_until, _ACCURACY))
        linear, factor = at.slope + at.curvature * centred, factorised(K, at.curvature)
        return linear - shrunk(factor, at.curvature, times(K, linear)) - slope

    slope, centred = climb(K, seen, newton, _rough_mode(K, at_rows), tolerance)
    at, zero = at_rows(centred), jnp.zeros_like(slope)
    return SiteSolution(
        slope,
        at.curvature,
        factorised(K, at.curvature),
        None,
        Sensitivity(-at.curvature, zero, at.curvature_slope, zero),
        lambda other: at_rows(centred, other)[1:3],
    )


def climb(
    K: Float[Array, "Q K K"],
    seen: Callable[[Slope, Slope], tuple[Float[Array, " Q"], Any]],
    newton: Callable[[Any, Slope, Slope], Slope],
    guess: Slope,
    tolerance: float,
) -> tuple[Slope, Slope]:
    """(α, Kα) at the mode: Newton's method until its step is shorter than `tolerance`.

    The last step is taken, too, so the error is of the order of its square. A step that lowers
    log p(y|f) - ½ αᵀKα is halved.

    seen : from α and Kα to this objective, and to what `newton` needs.
    newton : from that, α and Kα to the step of α.
    guess : an initial α, used if it is better than zero.
    """

    class NewtonState(NamedTuple):
        slope: Slope  # α
        centred: Slope  # Kα
        more_slope: Slope  # Newton's step for α
        more_centred: Slope  # and for Kα
        step: Float[Array, " Q"]
        objective: Float[Array, " Q"]
        left: Float[Array, " Q"]
        steps: Array

        def ahead(self) -> tuple[Slope, Slope]:
            step = self.step.reshape(-1, *(1,) * (self.slope.ndim - 1))
            return self.slope + step * self.more_slope, self.centred + step * self.more_centred

    def product(slope: Slope) -> Slope:
        return jnp.einsum("qij,q...j->q...i", K, slope)

    def unfinished(state: NewtonState):
        return (jnp.max(state.left) > tolerance) & (state.steps < _MOST_STEPS)

    def advance(state: NewtonState) -> NewtonState:
        slope, centred = state.ahead()
        objective, at = seen(slope, centred)
        rounding = 1e2 * float(jnp.finfo(K.dtype).eps) * (1.0 + jnp.abs(objective))
        taken = objective >= state.objective - rounding
        more_slope = newton(at, slope, centred)
        more_centred = product(more_slope)
        new = NewtonState(
            slope,
            centred,
            more_slope,
            more_centred,
            jnp.ones_like(state.step),
            objective,
            jnp.max(jnp.abs(more_centred), axis=tuple(range(1, more_centred.ndim))),
            state.steps,
        )
        # If even so short a step lowers the objective, the rest is rounding: converged.
        shorter = 0.5 * state.step
        left = jnp.where(shorter < _SMALLEST_STEP, 0.0, state.left)
        halved = state._replace(step=shorter, left=left)
        chosen = jax.tree.map(lambda a, b: _where(taken, a, b), new, halved)
        return chosen._replace(steps=state.steps + 1)

    zero, each = jnp.zeros_like(guess), jnp.zeros_like(K[:, 0, 0])
    centred = product(guess)
    better = seen(guess, centred)[0] > seen(zero, zero)[0]
    begin = _where(better, guess, zero), _where(better, centred, zero)
    start = NewtonState(*begin, zero, zero, each, each - jnp.inf, each + jnp.inf, jnp.asarray(0))
    return lax.while_loop(unfinished, advance, start).ahead()


def iterates(dtype: Any) -> bool:
    """Whether systems are solved by iteration, without a factor: in float32."""
    return dtype == jnp.float32


def reach_of(prior: Covariances, precision: Matrix) -> Matrix:
    """By conjugate gradients, u = √b (I + √b K √b)⁻¹ √b k.

    kᵀu, a quadratic form, is too small by the square of the residual, never too large.
    """
    root = jnp.sqrt(precision)
    return root * _until(_REACH_ACCURACY, prior.covariance, root, root * prior.cross)


def _rough_mode(K: Float[Array, "Q K K"], seen: Callable[[Matrix], Pointwise]) -> Matrix:
    """α after a few inexact Newton steps, the first from where each row alone would be."""
    alone = _each_alone(jnp.diagonal(K, axis1=1, axis2=2), seen)
    at = seen(alone)
    start = _step(K, at, -at.curvature * alone, _roughly)

    def step(_, slope: Matrix) -> Matrix:
        return slope + _step(K, seen(times(K, slope)), slope, _roughly)

    return lax.fori_loop(1, _ROUGH_STEPS[K.dtype == jnp.float64], step, start)


def _each_alone(variance: Matrix, seen: Callable[[Matrix], Pointwise]) -> Matrix:
    """Nearly the mode of log p(y|f) - f²/2k(x, x), were there no other row."""

    def step(_, f: Matrix) -> Matrix:
        at = seen(f)
        return f + (variance * at.slope - f) / (1.0 + variance * at.curvature)

    return lax.fori_loop(0, _STEPS_ALONE, step, jnp.zeros_like(variance))


def _step(
    K: Float[Array, "Q K K"],
    at: Pointwise,
    slope: Matrix,
    solve: Callable[[Float[Array, "Q K K"], Matrix, Matrix], Matrix],
) -> Matrix:
    """Δα = r - √W z; `solve` finds z from K, √W and √W K r."""
    root, missing = jnp.sqrt(at.curvature), at.slope - slope
    return missing - root * solve(K, root, root * times(K, missing))


class _Gradients(NamedTuple):
    """Conjugate gradients for (I + √W K √W) z, between two steps."""

    z: Matrix
    residual: Matrix
    direction: Matrix
    size: Float[Array, "Q 1"]  # squared length of the residual
    steps: Any


def _start(right: Matrix) -> _Gradients:
    return _Gradients(jnp.zeros_like(right), right, right, _dot(right, right), 0)


def _conjugate(K: Float[Array, "Q K K"], root: Matrix, state: _Gradients) -> _Gradients:
    z, residual, direction, size, steps = state
    tiny = float(jnp.finfo(K.dtype).tiny)
    image = direction + root * times(K, root * direction)
    length = size / jnp.maximum(_dot(direction, image), tiny)
    residual = residual - length * image
    new_size = _dot(residual, residual)
    onward = residual + new_size / jnp.maximum(size, tiny) * direction
    return _Gradients(z + length * direction, residual, onward, new_size, steps + 1)


def _roughly(K: Float[Array, "Q K K"], root: Matrix, right: Matrix) -> Matrix:
    """Eight conjugate gradient steps."""
    steps = lax.fori_loop(
        0, _CONJUGATE_STEPS, lambda _, state: _conjugate(K, root, state), _start(right)
    )
    return steps.z


def _until(
    accuracy: tuple[float, float], K: Float[Array, "Q K K"], root: Matrix, right: Matrix
) -> Matrix:
    """Conjugate gradient steps until all neighbourhoods have converged."""
    start = _start(right)
    share, length = accuracy
    enough = jnp.minimum(share**2 * start.size, length**2)

    def unfinished(state: _Gradients):
        return jnp.any(state.size > enough) & (state.steps < _MOST_CONJUGATE_STEPS)

    return lax.while_loop(unfinished, lambda state: _conjugate(K, root, state), start).z


def _dot(a: Matrix, b: Matrix) -> Float[Array, "Q 1"]:
    return jnp.sum(a * b, axis=1, keepdims=True)


def _where(taken: Array, new: Array, old: Array) -> Array:
    if new.ndim == 0:
        return new
    return jnp.where(taken.reshape(-1, *(1,) * (new.ndim - 1)), new, old)
