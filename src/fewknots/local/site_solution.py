r"""The common part of the three rules for sites: their result and their loop.

In every neighbourhood, at the fixed point each site is a function of its row's likelihood and
marginal N(μ, σ²):

    slope a(μ, σ²) = g - bμ,     precision b(μ, σ²).

`Sensitivity` contains the four derivatives of this function, with which gradient.py differentiates
the solution. `wanted` is a and b at these marginals, as functions of the likelihood's own
parameters.

| rule           | a               | b                         | cost of a pass besides one factor|
|----------------|-----------------|---------------------------|----------------------------------|
| laplace.py     | (log p)'(μ)     | -(log p)''(μ)             | nothing: σ² is not needed        |
| variational.py | E[(log p)']     | -E[(log p)'']             | Σ, and quadrature                |
| ep.py          | ∂ log Ẑ/∂μ₋     | c/(1 - σ₋²c)              | Σ                                |
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float

from ..likelihoods import Likelihood
from ..numerics.linalg import times
from .neighbourhood import Covariances, Labelled, factorised

_MOST_PASSES = 100
_SMALLEST_STEP = 0.1

Matrix = Float[Array, "Q K"]


class Sensitivity(NamedTuple):
    """Derivatives of each row's site with respect to its marginal."""

    slope_to_mean: Matrix
    slope_to_variance: Matrix
    precision_to_mean: Matrix
    precision_to_variance: Matrix


class SiteSolution(NamedTuple):
    """The posterior of every neighbourhood."""

    slope: Matrix  # α
    precision: Matrix  # b
    factor: Float[Array, "Q K K"]  # R
    posterior_covariance: Float[Array, "Q K K"] | None  # Σ; None if the rule does not need it
    sensitivity: Sensitivity
    wanted: Callable[[Likelihood], tuple[Matrix, Matrix]]  # needed for its derivative only


Rule = Callable[[Covariances, Labelled, Likelihood, Any, float], SiteSolution]


class Marginals(NamedTuple):
    """The marginal of each neighbour's f, given the sites."""

    centred: Matrix  # μ - m
    variance: Matrix
    slope: Matrix  # α
    factor: Float[Array, "Q K K"]
    covariance: Float[Array, "Q K K"]  # Σ


class Targets(NamedTuple):
    """The targets of the sites under the marginals, and the largest step towards them."""

    slope: Matrix
    precision: Matrix
    damping: Matrix | float


def marginals(prior: Covariances, precision: Matrix, linear: Matrix) -> Marginals:
    """Σ = K - VᵀV with V = R⁻¹ √b K, and α = g - C K g = g - √b R⁻ᵀ V g."""
    K, root = prior.covariance, jnp.sqrt(precision)
    factor = factorised(K, precision)
    V = solve_triangular(factor, root[:, :, None] * K, lower=True)
    covariance = K - jnp.einsum("qki,qkj->qij", V, V)
    # Positive in exact arithmetic; rounding can make it negative where f is well known.
    variance = jnp.maximum(jnp.diagonal(covariance, axis1=1, axis2=2), _least(K))
    half = times(V, linear)[..., None]
    slope = linear - root * solve_triangular(factor, half, lower=True, trans=1)[..., 0]
    return Marginals(times(K, slope), variance, slope, factor, covariance)


def settle(
    prior: Covariances, targets: Callable[[Marginals, Matrix], Targets], tolerance: float
) -> tuple[Marginals, Matrix]:
    """Move the sites to their targets until they have converged; returns (marginals, precisions).

    As in inference/ep.py a neighbourhood without progress takes shorter steps. The remaining
    change is measured relative to each marginal: that of its mean in standard deviations, and that
    of its variance.
    """

    class FixedPointState(NamedTuple):
        precision: Matrix
        linear: Matrix
        step: Float[Array, " Q"]
        left: Float[Array, " Q"]
        passes: Array

    def unfinished(state: FixedPointState):
        return (jnp.max(state.left) > tolerance) & (state.passes < _MOST_PASSES)

    def advance(state: FixedPointState) -> FixedPointState:
        now = marginals(prior, state.precision, state.linear)
        wanted = targets(now, state.precision)
        more = wanted.damping * (wanted.precision - state.precision)
        pull = wanted.slope - now.slope
        moves = jnp.maximum(jnp.abs(more) * now.variance, jnp.abs(pull) * jnp.sqrt(now.variance))
        left = jnp.max(moves, axis=1)
        shorter = jnp.maximum(0.7 * state.step, _SMALLEST_STEP)
        longer = jnp.minimum(1.1 * state.step, 1.0)
        step = jnp.where(left > state.left, shorter, longer)
        precision = state.precision + step[:, None] * more
        slope = now.slope + step[:, None] * pull
        return FixedPointState(
            precision, slope + precision * now.centred, step, left, state.passes + 1
        )

    zero = jnp.zeros_like(prior.cross)
    far = jnp.full_like(prior.own, jnp.inf)
    start = FixedPointState(zero, zero, jnp.ones_like(far), far, jnp.asarray(0))
    found = lax.while_loop(unfinished, advance, start)
    return marginals(prior, found.precision, found.linear), found.precision


def by_row(function: Callable[..., Any], y: Array, *latent: Array) -> Any:
    """Apply a likelihood's function of y and one latent function to arrays of any shape."""
    flat = function(y.ravel(), *(array.reshape(1, -1) for array in latent))
    return jax.tree.map(lambda column: column.reshape(y.shape), flat)


def _least(K) -> float:
    return float(jnp.finfo(K.dtype).tiny) ** 0.5
