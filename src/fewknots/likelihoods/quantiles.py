r"""Quantiles of y from P(y ≤ t), if there is no formula.

The unknown is u, from which t follows on the support of y: t = mean + deviation · u on the whole
line, eᵘ for positive y, 1/(1 + e⁻ᵘ) between zero and one, eᵘ - 1 for counts, whose quantile is the
next whole number. On the scale of Φ⁻¹(P) the function is nearly linear, so the method of false
position (Illinois variant: the residual of the end that stays is halved) needs few steps.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

import jax.numpy as jnp
from jax import lax
from jax.scipy.special import expit, logit, ndtri
from jaxtyping import Array, Float

Support = Literal["real", "positive", "unit", "counts"]
_TOLERANCE = 1e-10  # of u
_MOST_STEPS = 60
_LEAST = 1e-300  # a probability with a finite Φ⁻¹


class _Search(NamedTuple):
    low: Array  # -∞ until the residual was below zero somewhere
    high: Array
    below: Array  # the residual at `low`
    above: Array
    u: Array  # the next point
    step: Array  # distance beyond it while one end is open
    seen: Array  # the last point
    value: Array  # and the residual there
    looks: Array


def inverted(
    support: Support,
    cdf: Callable[[Float[Array, " N"]], Float[Array, " N"]],
    mean: Float[Array, " N"],
    variance: Float[Array, " N"],
    level: Float[Array, ""],
) -> Float[Array, " N"]:
    """The t with P(y ≤ t) = level; for counts the smallest t with at least this probability.

    mean, variance : of y, to start the search.
    """
    scale = jnp.sqrt(variance)
    to_y, start = {
        "real": (lambda u: mean + scale * u, jnp.zeros_like(mean)),
        "positive": (jnp.exp, jnp.log(mean)),
        "unit": (expit, logit(mean)),
        "counts": (jnp.expm1, jnp.log1p(mean)),
    }[support]
    wanted = ndtri(level)

    def residual(u):
        p = cdf(to_y(u))
        return ndtri(jnp.clip(p, _LEAST, 1.0 - jnp.finfo(p.dtype).epsneg)) - wanted

    def unfinished(now: _Search):
        near = jnp.abs(now.value) < _TOLERANCE
        near |= now.high - now.low < _TOLERANCE * (1.0 + jnp.abs(now.seen))
        return ~jnp.all(near) & (now.looks < _MOST_STEPS)

    def advanced(now: _Search):
        u, value = now.u, residual(now.u)
        left = value < 0
        low, high = jnp.where(left, u, now.low), jnp.where(left, now.high, u)
        below = jnp.where(left, value, 0.5 * now.below)
        above = jnp.where(left, 0.5 * now.above, value)
        within = (low * above - high * below) / (above - below)
        # Every third step is a bisection, for functions with a jump.
        falsi = (now.looks % 3 < 2) & (within > low) & (within < high)
        within = jnp.where(falsi, within, 0.5 * (low + high))
        beyond = jnp.where(left, u + now.step, u - now.step)
        found = jnp.isfinite(low) & jnp.isfinite(high)
        return _Search(
            low,
            high,
            below,
            above,
            jnp.where(found, within, beyond),
            jnp.where(found, now.step, 2.0 * now.step),
            u,
            value,
            now.looks + 1,
        )

    far = jnp.full_like(mean, jnp.inf)
    first = _Search(-far, far, -far, far, start, jnp.ones_like(mean), start, far, jnp.asarray(0))
    found = to_y(lax.while_loop(unfinished, advanced, first).seen)
    if support == "counts":  # whole numbers up to rounding
        return jnp.maximum(jnp.ceil(found - 1e-7 * (1.0 + found)), 0.0)
    return found
