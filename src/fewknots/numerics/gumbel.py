r"""Expectations of the softmax of independent Gaussians, without samples.

Add independent Gumbel noise g_c to f_c ~ N(m_c, v_c). Given f, the largest of the f_c + g_c is
below s with probability exp(-Σ_c e^{f_c - s}), and it is number c with probability softmax_c(f).
So, with the distribution function of one of them and its derivatives,

    F_c(s) = E[exp(-z)],   F_c' = E[z exp(-z)],   F_c'' = E[(z² - z) exp(-z)], ...,   z = e^{f_c-s},

all expectations of a softmax are integrals over one number s, at a cost of O(C):

    E[log Σ_c e^{f_c}]         = m_c + ∫ F_c (1 - Π_{j≠c} F_j) ds      for any c,            (1)
    E[softmax_c]               = ∫ F_c' Π_{j≠c} F_j ds,                                      (2)
    E[softmax_c (1-softmax_c)] = -∫ F_c'' Π_{j≠c} F_j ds.                                    (3)

The derivative with respect to m_c turns F_c into -F_c', that with respect to v_c into ½ F_c'' (the
heat equation).

**The integral over s** is a sum at equal steps (the trapezoid rule). For such smooth functions its
error falls exponentially with the step; the smallest variance determines how smooth they are. It
starts where one F_j is still zero and ends where all functions decay like e^{-s}, and the
remaining terms are a geometric series.

**F itself** is an integral over one Gaussian, again a sum at equal steps, in one of two ways:

    narrow (σ ≤ 1): f = m + σε, at equal steps in ε; the Gaussian weights are fixed,
    wide:           f = s + x, at fixed x; z = e^x is fixed, and F and its derivatives
                    are products of the N(s + x|m, v) with one small matrix.

Both are sums of positive numbers. Far above the mean F' is computed from (`tails`)

    F'(s; m, v) = e^{m + v/2 - s} F(s; m + v, v),                                            (4)

directly as logarithms, so that a probability of e^{-100} is accurate, too.

The numbers of nodes below give 1e-9 in float64 and 1e-5 in float32, for variances from 0 to 1000
and means as far apart as 100 (tests/numerics/test_gumbel.py: against adaptive quadrature).
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import logsumexp, ndtr
from jaxtyping import Array, Bool, Float
from scipy import special

from .precision import for_platform
from .row_parts import in_row_parts

_WIDE = 1.0  # the standard deviation above which F is computed in the second way
_LARGEST_Z = 100.0  # e^{-100}: more makes no difference, and z⁴ must not overflow
_NOISE_BELOW = 3.5  # e^{-e^{3.5}} = 4e-15


class _Rule(NamedTuple):
    """The steps and limits of the integrals, for one dtype.

    step, step_per_sd : the step in s is step + step_per_sd · (smallest standard deviation)
    above, far : the last s lies `above` standard deviations over a mean, and `far` more
    below, below_in_tails : the first one so many under it, and 3.5 less for the noise
    reach, narrow : nodes in ε lie within ± reach; how many there are for σ = 1
    right, left, bend, first, last : nodes x(u), u from first to last, at steps that are `right` far
        to the right and `right` + 2 `left` far to the left, and change within |u| ≲ `bend`
    begin, begin_sd : where e^{-z} = 1 begins; further left, where no node is, this is N's own mass
    """

    step: float
    step_per_sd: float
    above: float
    far: float
    below: float
    below_in_tails: float
    reach: float
    narrow: int
    right: float
    left: float
    bend: float
    first: int
    last: int
    begin: float
    begin_sd: float


_RULES = {
    np.dtype(np.float64): _Rule(
        *(0.38, 0.18, 6.2, 10.0, 6.2, 12.0, 7.4, 40, 0.30, 0.34, 5.0, -38, 15, -22.0, 2.5)
    ),
    np.dtype(np.float32): _Rule(
        *(0.60, 0.30, 4.8, 6.5, 4.8, 6.0, 5.6, 24, 0.60, 0.30, 4.0, -16, 8, -11.0, 1.5)
    ),
}
# On a CPU a few rows at a time stay in the cache; a GPU wants more work at once. Few numbers are
# computed for several s at once, so that calling the programs costs less than running them.
_ROWS_AT_ONCE = {"cpu": 128, "gpu": 2**30}
_NUMBERS_AT_ONCE = {"cpu": 2**12, "gpu": 2**19}
_MOST_STEPS_AT_ONCE = 16
_MOST_STEPS = 2000  # fewer for variances far above 1000, which only occur during a search
_UNROLLED = 8


class SoftmaxMoments(NamedTuple):
    """Expectations for independent f_c ~ N(m_c, v_c)."""

    log_sum: Float[Array, " N"]  # E[log Σ exp f]
    mean: Float[Array, "C N"]  # E[softmax]
    spread: Float[Array, "C N"]  # E[softmax (1 - softmax)]
    spread_change: Float[Array, "C N"]  # its derivative with respect to v_c


class TiltedSoftmax(NamedTuple):
    """log E[softmax_y] and its first and second derivatives with respect to each m_c."""

    log_prob: Float[Array, " N"]
    slope: Float[Array, "C N"]
    second: Float[Array, "C N"]


def softmax_moments(mean: Float[Array, "C N"], variance: Float[Array, "C N"]) -> SoftmaxMoments:
    """Equations (1) to (3)."""
    # the one that begins last: before, its F is zero
    begins = mean - _RULES[mean.dtype].below * jnp.sqrt(variance)
    chosen = jnp.arange(len(mean))[:, None] == jnp.argmax(begins, axis=0)

    def add(chosen, totals, s, weight, noisy):
        log_one = jnp.sum(jnp.where(chosen, noisy.log_below, 0.0), axis=1)
        log_others = jnp.sum(jnp.where(chosen, 0.0, noisy.log_below), axis=1)
        largest = weight[:, None] * jnp.exp(_log_largest(noisy))
        terms = (
            -weight * jnp.exp(log_one) * jnp.expm1(log_others),
            largest,
            -largest * noisy.second,
            -0.5 * largest * noisy.fourth,
        )
        return tuple(
            total + jnp.sum(term, axis=0) for total, term in zip(totals, terms, strict=True)
        )

    zeros = jnp.zeros_like(mean)
    start = (zeros[0], zeros, zeros, zeros)
    log_sum, *others = _summed(add, start, chosen, mean, variance, tails=False)
    log_sum = log_sum + jnp.sum(jnp.where(chosen, mean, 0.0), axis=0)
    return SoftmaxMoments(log_sum, *others)


def softmax_entropy(mean: Float[Array, "C N"], variance: Float[Array, "C N"]) -> Float[Array, " N"]:
    """E H[softmax(f)] = E[log Σ exp f] - Σ_c E[f_c softmax_c].

    By parts, E[f_c softmax_c] = m_c E[softmax_c] + v_c E[softmax_c (1 - softmax_c)].
    """
    found = softmax_moments(mean, variance)
    return found.log_sum - jnp.sum(mean * found.mean + variance * found.spread, axis=0)


def log_softmax_mean(
    mean: Float[Array, "C N"], variance: Float[Array, "C N"]
) -> Float[Array, "C N"]:
    """Log E[softmax], equation (2), to the same relative accuracy however small it is."""

    def add(_, total, s, weight, noisy):
        terms = jnp.log(weight)[:, None] + _log_largest(noisy)
        return jnp.logaddexp(total, logsumexp(terms, axis=0))

    nothing = jnp.full_like(mean, -jnp.inf)
    log_mean = _summed(add, nothing, None, mean, variance, tails=True)
    return log_mean - logsumexp(log_mean, axis=0)  # 0 up to quadrature error


def tilted_softmax(
    member: Bool[Array, "C N"], mean: Float[Array, "C N"], variance: Float[Array, "C N"]
) -> TiltedSoftmax:
    """Log E[softmax_y] and its derivatives; `member` is True where c = y.

    Under the integral the derivative with respect to m_y turns F_y' into -F_y'', that with respect
    to another m_c turns F_c into -F_c'. All are averages under the same weights F_y' Π F_j, so
    nothing underflows.
    """

    def add(member, totals, s, weight, noisy):
        highest, total, slope, second = totals
        terms = jnp.sum(jnp.where(member, _log_largest(noisy), 0.0), axis=1) + jnp.log(weight)
        now = jnp.maximum(highest, jnp.max(terms, axis=0))
        kept, share = jnp.exp(highest - now), jnp.exp(terms - now)
        first = jnp.exp(noisy.log_density - noisy.log_below)  # F'/F
        by_mean = jnp.where(member, noisy.second, first)
        by_mean_twice = jnp.where(member, noisy.third, noisy.second * first)
        return (
            now,
            kept * total + jnp.sum(share, axis=0),
            kept * slope - jnp.sum(share[:, None] * by_mean, axis=0),
            kept * second + jnp.sum(share[:, None] * by_mean_twice, axis=0),
        )

    zeros = jnp.zeros_like(mean)
    start = (jnp.full_like(mean[0], float(jnp.finfo(mean.dtype).min)), zeros[0], zeros, zeros)
    highest, total, slope, second = _summed(add, start, member, mean, variance, tails=True)
    slope, second = slope / total, second / total
    return TiltedSoftmax(highest + jnp.log(total), slope, second - jnp.square(slope))


# --- the integral over s --------------------------------------------------------------------------


class _Noisy(NamedTuple):
    """The distribution of each f_c + noise at some values of s; nothing underflows."""

    log_below: Float[Array, "S C N"]  # log F
    log_density: Float[Array, "S C N"]  # log F'
    second: Float[Array, "S C N"]  # F'' / F'
    third: Float[Array, "S C N"]  # F''' / F'
    fourth: Float[Array, "S C N"]  # F'''' / F'


def _log_largest(noisy: _Noisy) -> Float[Array, "S C N"]:
    """Log F_c' Π_{j≠c} F_j: log density that the largest is number c and has the value s."""
    log_all = jnp.sum(noisy.log_below, axis=1, keepdims=True)
    return noisy.log_density + (log_all - noisy.log_below)


def _summed(
    add: Callable[[Any, Any, Array, Array, _Noisy], Any],
    start: Any,
    given: Any,
    mean: Float[Array, "C N"],
    variance: Float[Array, "C N"],
    tails: bool,
) -> Any:
    """The integral over s: `add(given, totals, s, weights, noisy)` from `start` on.

    Rows, the last axis of all arrays, are processed in parts: each part takes only as many steps,
    and only those ways to F, as its own rows need. So rows of similar variance are put together.
    """
    size, n_rows = for_platform(_ROWS_AT_ONCE), mean.shape[1]

    def at_once(*part: Any) -> Any:
        return _summed_at_once(add, tails, *part)

    if n_rows <= size:
        return at_once(start, given, mean, variance)
    order = jnp.argsort(jnp.min(variance, axis=0))
    sorted_rows = jax.tree.map(lambda a: a[..., order], (start, given, mean, variance))
    found = in_row_parts(at_once, n_rows, size, *sorted_rows)
    back = jnp.argsort(order)
    return jax.tree.map(lambda a: a[..., back], found)


def _summed_at_once(add, tails, start, given, mean, variance) -> Any:
    rule = _RULES[mean.dtype]
    sd = jnp.sqrt(variance)
    step = rule.step + rule.step_per_sd * jnp.min(sd, axis=0)
    below = rule.below_in_tails if tails else rule.below
    first = jnp.max(mean - below * sd, axis=0) - _NOISE_BELOW
    last = jnp.max(mean + rule.above * sd, axis=0) + rule.far
    span = last - first
    step = jnp.maximum(step, span / _MOST_STEPS)
    count = jnp.where(span < jnp.inf, jnp.ceil(span / step), 0.0)  # no steps for NaN
    rest = 1.0 / -jnp.expm1(-step)  # 1 + e^{-step} + e^{-2 step} + ...
    at_once = max(1, min(for_platform(_NUMBERS_AT_ONCE) // mean.size, _MOST_STEPS_AT_ONCE))
    distribution = _distribution(sd, rule, tails)

    def some(i, totals):
        number = (i * at_once + jnp.arange(at_once)).astype(mean.dtype)[:, None]
        s = first + number * step
        weight = step * jnp.where(number < count, 1.0, jnp.where(number == count, rest, 0.0))
        return add(given, totals, s, weight, distribution(mean - s[:, None]))

    return lax.fori_loop(0, (jnp.max(count).astype(int) + at_once) // at_once, some, start)


# --- the distribution of one Gaussian with noise --------------------------------------------------


def _distribution(
    sd: Float[Array, "C N"], rule: _Rule, tails: bool
) -> Callable[[Float[Array, "S C N"]], _Noisy]:
    """The map from m - s to F and its derivatives."""
    is_wide = sd > _WIDE
    narrow, wide = _narrow(jnp.minimum(sd, _WIDE), rule), _wide(jnp.maximum(sd, _WIDE), rule, tails)
    some_narrow, some_wide = jnp.any(~is_wide), jnp.any(is_wide)

    def none(ahead: Float[Array, "S C N"]) -> _Noisy:
        return _Noisy(*(jnp.zeros_like(ahead),) * 5)

    def with_wide(ahead: Float[Array, "S C N"], found: _Noisy) -> _Noisy:
        pairs = zip(wide(ahead), found, strict=True)
        return _Noisy(*(jnp.where(is_wide, w, n) for w, n in pairs))

    def of(ahead: Float[Array, "S C N"]) -> _Noisy:
        # one after the other: the second gets the result of the first
        found = lax.cond(some_narrow, narrow, none, ahead)
        return lax.cond(some_wide, with_wide, lambda _, found: found, ahead, found)

    return of


def _narrow(sd: Float[Array, "C N"], rule: _Rule) -> Callable[[Float[Array, "S C N"]], _Noisy]:
    """By equal steps in ε: z runs through a geometric series, with one product per node.

    For small σ few nodes are enough.
    """
    share = jnp.clip(jnp.max(jnp.where(sd < 1.0, sd, 1.0)), 0.45, 1.0)  # NaN counts as 1
    loops = jnp.ceil(share * rule.narrow / _UNROLLED).astype(int)
    apart = 2.0 * rule.reach / (loops * _UNROLLED - 1).astype(sd.dtype)
    smallest, ratio = jnp.exp(-rule.reach * sd), jnp.exp(apart * sd)

    def of(ahead: Float[Array, "S C N"]) -> _Noisy:
        middle = jnp.exp(jnp.minimum(ahead, 30.0))

        def some(i, totals):
            factor, *sums = totals
            for q in range(_UNROLLED):
                node = (i * _UNROLLED + q).astype(sd.dtype) * apart - rule.reach
                weight = apart * jnp.exp(-0.5 * jnp.square(node)) / math.sqrt(2.0 * math.pi)
                z = jnp.minimum(middle * factor, _LARGEST_Z)
                below = weight * jnp.exp(-z)
                density = below * factor
                terms = (
                    below,
                    density,
                    density * (z - 1.0),
                    density * (z * (z - 3.0) + 1.0),
                    density * (z * (z * (z - 6.0) + 7.0) - 1.0),
                )
                sums = [total + term for total, term in zip(sums, terms, strict=True)]
                factor = factor * ratio
            return (factor, *sums)

        zeros = jnp.zeros_like(middle)
        start = (jnp.broadcast_to(smallest, middle.shape), *(zeros,) * 5)
        _, *sums = lax.fori_loop(0, loops, some, start)
        return _relative(sums[0], ahead, sums[1:])

    return of


def _wide(
    sd: Float[Array, "C N"], rule: _Rule, tails: bool
) -> Callable[[Float[Array, "S C N"]], _Noisy]:
    """By fixed nodes x = f - s; with `tails`, equation (4) far above the mean."""
    x, factors = (jnp.asarray(part, sd.dtype) for part in _fixed_nodes(rule))
    variance = jnp.square(sd)
    shrink, height = (0.5 / variance)[..., None], 1.0 / (math.sqrt(2.0 * math.pi) * sd)

    def sums(ahead: Float[Array, "S C N"]) -> list[Array]:
        """F, F', ..., F'''' at m - s = ahead."""
        gaussian = jnp.exp(-jnp.square(x - ahead[..., None]) * shrink)
        found = jnp.moveaxis(gaussian @ factors, -1, 0) * height
        left = ndtr((rule.begin - ahead) / jnp.sqrt(variance + rule.begin_sd**2))
        return [found[0] + left, *found[1:]]

    def of(ahead: Float[Array, "S C N"]) -> _Noisy:
        below, *density = sums(ahead)
        if not tails:
            return _relative(below, jnp.zeros_like(ahead), density)
        # F' = e^{A} H, A = m + v/2 - s, H = F(s; m + v, v), so F'' = e^{A} (H' - H) and so on;
        # but not where H would underflow.
        h0, h1, h2, h3, _ = sums(ahead + variance)
        shifted = -ahead >= jnp.maximum(variance - 5.0 * sd, 0.0)
        moved = (h0, h1 - h0, h2 - 2.0 * h1 + h0, h3 - 3.0 * (h2 - h1) - h0)
        density = [jnp.where(shifted, m, d) for m, d in zip(moved, density, strict=True)]
        return _relative(below, jnp.where(shifted, ahead + 0.5 * variance, 0.0), density)

    return of


def _fixed_nodes(rule: _Rule) -> tuple[Float[np.ndarray, " J"], Float[np.ndarray, "J 5"]]:
    """Nodes x, and e^{-z} (less what begins left of them), z e^{-z}, ... there, times the steps."""
    u = np.arange(rule.first, rule.last + 1.0)
    root = np.hypot(u, rule.bend)
    x = rule.right * u + rule.left * (u - root)
    z = np.exp(x)
    begun = special.ndtr((rule.begin - x) / rule.begin_sd)
    density = z * np.exp(-z)
    columns = (
        np.exp(-z) - begun,
        density,
        density * (z - 1.0),
        density * (z * (z - 3.0) + 1.0),
        density * (z * (z * (z - 6.0) + 7.0) - 1.0),
    )
    steps = rule.right + rule.left * (1.0 - u / root)
    return x, np.column_stack(columns) * steps[:, None]


def _relative(below: Array, log_factor: Array, density: list[Array]) -> _Noisy:
    """From F, and from F' to F'''' without a common factor."""
    least = float(jnp.finfo(below.dtype).tiny)  # smaller values add nothing to any integral
    size = jnp.maximum(density[0], least)
    log_below = jnp.log(jnp.maximum(below, least))
    return _Noisy(log_below, log_factor + jnp.log(size), *(part / size for part in density[1:]))
