r"""The probability that one of several independent Gaussians is the largest, and their moments
given that.

Among g_c ~ N(m_c, w_c), number c is the largest if all others are below it. With s for its value,
x_j = (s - m_j)/√w_j and N_c its density, all results are integrals over one number (Girolami &
Rogers 2006), at a cost of O(C):

    Z_c = P(g_c is the largest) = ∫ N_c(s) Π_{j≠c} Φ(x_j) ds.                                (1)

**The moments.** Let w_c = 1 and number y be the largest: the distribution of g is truncated to a
cone. Given g_y = s they are independent, each g_j truncated to values below s. With h = φ/Φ at x_j,

    E[g_j | s] = m_j - h,    Var[g_j | s] = 1 - h (x_j + h),    E[g_y | s] = s, Var[g_y | s] = 0.

Averages of these over s, whose density is the integrand of (1) over Z_y, are

    E[g] = m + ∇ log Z_y,    Cov[g] = V = Cov_s(E[g|s]) + diag E_s(Var[g|s]) = I + ∇∇ᵀ log Z_y. (2)

Z_y depends only on differences, so ∇ log Z_y adds up to zero and V 1 = 1; a cone is convex, so V ≤
I.

**The sum over s** is at equal steps, whose error is exp(-2π²τ²/step²) for a Gaussian of standard
deviation τ. The integrand's logarithm is concave, and falls off at least as fast as N_c; with the
slope h and curvature h (x + h) < 1 of log Φ, its curvature is at most

    1/τ² = Σ_j 1/w_j,

and its maximum is not below m_c, nor below that for two of the Gaussians alone, and hardly above
the largest of m_c and of √(2 log C) standard deviations above any other mean. Sums of positive
numbers are kept as logarithms, so that a probability of e^{-1000} is accurate, too.

Accurate to 1e-9 in float64 and 1e-5 in float32 (tests/numerics/test_largest.py).
"""

import math
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import logsumexp
from jaxtyping import Array, Bool, Float

from .normal import lower_tail
from .precision import for_platform
from .row_parts import in_row_parts

_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)
# In float64 and float32: the step in units of τ, and how far from the top in standard deviations.
_STEP = {np.dtype(np.float64): 0.9, np.dtype(np.float32): 1.25}
_REACH = {np.dtype(np.float64): 7.2, np.dtype(np.float32): 5.4}
_MOST_STEPS = 20_000  # enough for variances from 1 to 1e5 in one row, and equal ones of any size
_STEPS_AT_ONCE = 8
_ROWS_AT_ONCE = {"cpu": 128, "gpu": 2**30}


class InCone(NamedTuple):
    """Moments of g_c ~ N(m_c, 1), given that number y is the largest."""

    log_prob: Float[Array, " N"]  # log Z_y
    shift: Float[Array, "C N"]  # E[g] - m
    covariance: Float[Array, "C C N"]  # V


def log_largest(mean: Float[Array, "C N"], variance: Float[Array, "C N"]) -> Float[Array, "C N"]:
    """Log Z_c for every c, equation (1); variances are positive."""
    return in_row_parts(_log_largest, mean.shape[1], for_platform(_ROWS_AT_ONCE), mean, variance)


def in_cone(member: Bool[Array, "C N"], mean: Float[Array, "C N"]) -> InCone:
    """Equation (2); `member` is True where c = y."""
    return in_row_parts(_in_cone, mean.shape[1], for_platform(_ROWS_AT_ONCE), member, mean)


def _log_largest(mean: Float[Array, "C N"], variance: Float[Array, "C N"]) -> Float[Array, "C N"]:
    sd = jnp.sqrt(variance)
    first, last = _reached(mean, sd)
    nodes = _Nodes.of(jnp.min(first, axis=0), jnp.max(last, axis=0), sd)

    def some(i: Array, total: Array) -> Array:
        s, log_weight = nodes.at(i)
        x = (s[:, None] - mean) / sd
        log_below = lower_tail(x).log_cdf
        others = jnp.sum(log_below, axis=1, keepdims=True) - log_below
        terms = log_weight[:, None] - 0.5 * jnp.square(x) + others
        return jnp.logaddexp(total, logsumexp(terms, axis=0))

    total = lax.fori_loop(0, nodes.loops, some, jnp.full_like(mean, -jnp.inf))
    return total - jnp.log(sd) - _HALF_LOG_2PI


def _in_cone(member: Bool[Array, "C N"], mean: Float[Array, "C N"]) -> InCone:
    one = jnp.ones_like(mean)
    first, last = (jnp.sum(jnp.where(member, end, 0.0), axis=0) for end in _reached(mean, one))
    nodes = _Nodes.of(first, last, one)

    def some(i: Array, totals: Any) -> Any:
        highest, total, shift, product, own = totals
        s, log_weight = nodes.at(i)
        x = s[:, None] - mean
        below = lower_tail(x)
        log_term = jnp.where(member, -0.5 * jnp.square(x), below.log_cdf)
        terms = log_weight + jnp.sum(log_term, axis=1)
        now = jnp.maximum(highest, jnp.max(terms, axis=0))
        kept, share = jnp.exp(highest - now), jnp.exp(terms - now)
        moved = jnp.where(member, x, -below.ratio)  # E[g|s] - m
        spread = jnp.where(member, 0.0, 1.0 - below.ratio * below.excess)
        shared = share[:, None] * moved
        return (
            now,
            kept * total + jnp.sum(share, axis=0),
            kept * shift + jnp.sum(shared, axis=0),
            kept * product + jnp.sum(shared[:, :, None] * moved[:, None], axis=0),
            kept * own + jnp.sum(share[:, None] * spread, axis=0),
        )

    zeros = jnp.zeros_like(mean)
    products = zeros[:, None] * zeros
    lowest = jnp.full_like(mean[0], float(jnp.finfo(mean.dtype).min))
    start = (lowest, zeros[0], zeros, products, zeros)
    highest, total, *sums = lax.fori_loop(0, nodes.loops, some, start)
    shift, product, own = (part / total for part in sums)
    identity = jnp.eye(len(mean), dtype=mean.dtype)[..., None]
    covariance = product - shift[:, None] * shift + identity * own
    return InCone(highest + jnp.log(total) - _HALF_LOG_2PI, shift, covariance)


def _reached(
    mean: Float[Array, "C N"], sd: Float[Array, "C N"]
) -> tuple[Float[Array, "C N"], Float[Array, "C N"]]:
    """The range of s with the integrand of (1), for each c."""
    # For two alone: the mean of g_c given g_c = g_j; the largest of these over all j.
    variance = jnp.square(sd)
    share = variance[:, None] / (variance[:, None] + variance)
    lifted = jnp.max(mean[:, None] + share * (mean - mean[:, None]), axis=1)
    highest = jnp.max(mean + math.sqrt(2.0 * math.log(len(mean))) * sd, axis=0)
    far = _REACH[mean.dtype] * sd
    return lifted - far, jnp.maximum(mean, highest) + far


class _Nodes(NamedTuple):
    """Equal steps from `first`, as many as each row needs."""

    first: Float[Array, " N"]
    step: Float[Array, " N"]
    steps: Float[Array, " N"]
    loops: Array

    @classmethod
    def of(
        cls, first: Float[Array, " N"], last: Float[Array, " N"], sd: Float[Array, "C N"]
    ) -> "_Nodes":
        step = _STEP[sd.dtype] / jnp.sqrt(jnp.sum(1.0 / jnp.square(sd), axis=0))
        span = last - first
        step = jnp.maximum(step, span / _MOST_STEPS)
        # no steps for NaN
        count = jnp.where((span < jnp.inf) & (step > 0.0), jnp.ceil(span / step), 0.0)
        return cls(first, step, count, (jnp.max(count).astype(int) // _STEPS_AT_ONCE) + 1)

    def at(self, i: Array) -> tuple[Float[Array, "S N"], Float[Array, "S N"]]:
        """A few values of s, and the logarithms of their weights."""
        number = (i * _STEPS_AT_ONCE + jnp.arange(_STEPS_AT_ONCE)).astype(self.step.dtype)[:, None]
        used = number <= self.steps
        return self.first + number * self.step, jnp.where(used, jnp.log(self.step), -jnp.inf)
