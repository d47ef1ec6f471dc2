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
    """(α, Kα) at the mode: until Newton's step is shorter than `tolerance`; that one is taken, too.

    What it leaves is of the order of its square. A step that lowers log p(y|f) - ½ αᵀKα is not
    taken but halved.

    seen : from α and Kα to that objective, and to what `newton` needs there.
    newton : from that, α and Kα to the step of α.
    guess : an α to begin with, if it is better than zero.
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
        # A step that is still a loss when it is this short is lost to rounding: nothing is left.
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
