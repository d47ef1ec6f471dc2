r"""What the three rules for sites have in common: their result, and their loop.

In every neighbourhood the sites are right when each is what its row's likelihood says under the
row's marginal N(μ, σ²): a function

    slope a(μ, σ²) = g - bμ,     precision b(μ, σ²).

`Sensitivity` holds its four derivatives, from which gradient.py differentiates the solution, and
`wanted` is a and b at the marginals found, as functions of the likelihood's own parameters.

| rule           | a               | b                         | a pass costs, beside one factor  |
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
    """How each row's site answers to its marginal."""

    slope_to_mean: Matrix
    slope_to_variance: Matrix
    precision_to_mean: Matrix
    precision_to_variance: Matrix


class SiteSolution(NamedTuple):
    """The posterior of every neighbourhood."""

    slope: Matrix  # α
    precision: Matrix  # b
    factor: Float[Array, "Q K K"]  # R
    posterior_covariance: Float[Array, "Q K K"] | None  # Σ; None if the rule does without
    sensitivity: Sensitivity
    wanted: Callable[[Likelihood], tuple[Matrix, Matrix]]  # its derivative is what counts


Rule = Callable[[Covariances, Labelled, Likelihood, Any, float], SiteSolution]


class Marginals(NamedTuple):
    """Each neighbour's f under the sites."""

    centred: Matrix  # μ - m
    variance: Matrix
    slope: Matrix  # α
    factor: Float[Array, "Q K K"]
    covariance: Float[Array, "Q K K"]  # Σ


class Targets(NamedTuple):
    """What the sites should be under the marginals, and how far to go at most."""

    slope: Matrix
    precision: Matrix
    damping: Matrix | float


def marginals(prior: Covariances, precision: Matrix, linear: Matrix) -> Marginals:
    """Σ = K - VᵀV with V = R⁻¹ √b K, and α = g - C K g = g - √b R⁻ᵀ V g."""
    K, root = prior.covariance, jnp.sqrt(precision)
    factor = factorised(K, precision)
    V = solve_triangular(factor, root[:, :, None] * K, lower=True)
    covariance = K - jnp.einsum("qki,qkj->qij", V, V)
    # Above zero in exact arithmetic; only rounding at a well-known row can pass below.
    variance = jnp.maximum(jnp.diagonal(covariance, axis1=1, axis2=2), _least(K))
    half = times(V, linear)[..., None]
    slope = linear - root * solve_triangular(factor, half, lower=True, trans=1)[..., 0]
    return Marginals(times(K, slope), variance, slope, factor, covariance)


def settle(
    prior: Covariances, targets: Callable[[Marginals, Matrix], Targets], tolerance: float
) -> tuple[Marginals, Matrix]:
    """Go to the targets again and again until no site would move; (marginals, precisions).

    As in inference/ep.py a neighbourhood that comes no closer takes shorter steps. What is left is
    measured as a share of each marginal: by how much its mean would move, in standard deviations,
    and its variance.
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
    """A likelihood's function of y and of one latent function, on arrays of any shape."""
    flat = function(y.ravel(), *(array.reshape(1, -1) for array in latent))
    return jax.tree.map(lambda column: column.reshape(y.shape), flat)


def _least(K) -> float:
    return float(jnp.finfo(K.dtype).tiny) ** 0.5
