r"""log E[eᵍ⁽ᶠ⁾], f ~ N(μ, σ²), for concave g, where eᵍ may be much narrower than the Gaussian.

A quadrature rule for N(μ, σ²) would miss a peak between its nodes: the probability of a thousand
calls, as a function of f, is only 0.03 wide. The sum h = g - ½ (f - μ)²/σ² is concave, too, so

- its mode is found by bisection, since h' is decreasing;
- on each side h falls by DROP within √(2 DROP) σ; the place is found by bisection;
- between these two places a trapezoidal rule converges geometrically, since eʰ is negligible
outside.

With ⟨·⟩ the average under eʰ, the derivatives of log Ẑ with respect to μ are

    slope = ⟨g'⟩,     curvature = ⟨-g''⟩ - Var⟨g'⟩.
"""

from collections.abc import Callable

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from .elementary import exp

DROP = 36.0  # e⁻³⁶ is 2e-16
NODES, CHUNK = 128, 8
DOUBLINGS, HALVINGS = 12, 60

# f to (g, g', -g''), elementwise
Concave = Callable[[Float[Array, "C N"]], tuple[Float[Array, "C N"], ...]]


def log_mean_of_peak(
    concave: Concave, mean: Float[Array, " N"], variance: Float[Array, " N"]
) -> tuple[Float[Array, " N"], Float[Array, " N"], Float[Array, " N"]]:
    """The logarithm, its slope and its curvature (the negative of its second derivative) in μ."""
    floor = float(jnp.finfo(mean.dtype).eps) * (1.0 + jnp.abs(mean))
    sigma = jnp.maximum(jnp.sqrt(variance), floor)

    def at(z):
        """(h, g', -g'') at f = μ + σz, h without the constant."""
        g, slope, curvature = concave((mean + sigma * z)[None])
        return g[0] - 0.5 * jnp.square(z), slope[0], curvature[0]

    def rises(z):
        return sigma * at(z)[1] > z

    up = rises(jnp.zeros_like(mean))
    side = jnp.where(up, 1.0, -1.0)

    def doubled(_, reach):
        return jnp.where(rises(side * reach) == up, 2.0 * reach, reach)

    reach = lax.fori_loop(0, DOUBLINGS, doubled, jnp.ones_like(mean))
    mode = side * _bisected(lambda r: rises(side * r) == up, reach)
    height = at(mode)[0]
    widest = jnp.full_like(mean, (2.0 * DROP) ** 0.5)
    low = mode - _bisected(lambda r: at(mode - r)[0] > height - DROP, widest)
    high = mode + _bisected(lambda r: at(mode + r)[0] > height - DROP, widest)
    step = (high - low) / (NODES - 1)
    slope_there = at(mode)[1]

    def add_chunk(i, totals):
        z = low + (i * CHUNK + jnp.arange(CHUNK, dtype=mean.dtype))[:, None] * step
        g, slope, curvature = concave(mean + sigma * z)
        weight = exp(g - 0.5 * jnp.square(z) - height)
        off = slope - slope_there  # an accurate variance
        parts = (jnp.ones_like(weight), off, jnp.square(off), curvature)
        return tuple(
            total + jnp.sum(weight * part, axis=0)
            for total, part in zip(totals, parts, strict=True)
        )

    blank = tuple(jnp.zeros_like(mean) for _ in range(4))
    total, *sums = lax.fori_loop(0, NODES // CHUNK, add_chunk, blank)
    off, off_squared, curvature = (part / total for part in sums)
    log_mean = height + jnp.log(total * step / jnp.sqrt(2.0 * jnp.pi))
    return log_mean, slope_there + off, curvature - (off_squared - jnp.square(off))


def _bisected(holds, end: Float[Array, " N"]) -> Float[Array, " N"]:
    """Bisection: the place between 0 and `end` where `holds` changes from true to false."""

    def halved(_, bracket):
        low, high = bracket
        middle = 0.5 * (low + high)
        inside = holds(middle)
        return jnp.where(inside, middle, low), jnp.where(inside, high, middle)

    low, high = lax.fori_loop(0, HALVINGS, halved, (jnp.zeros_like(end), end))
    return 0.5 * (low + high)
