r"""Gaussian expectations in one dimension, and identities for their derivatives.

Every term of the bound (eq. klsparse) is E[g(f)] with f ~ N(μ, σ²) and g = log p(y|·). Its
derivatives are expectations too (section 4, "Computations and Scalability"):

    ∂/∂μ  E[g] = E[g'],      ∂/∂σ² E[g] = ½ E[g''],

so no derivative is taken through a quadrature: the caller integrates (g, g', g'', ...) with the
same nodes.

Two rules, chosen by the largest σ in the call, both accurate to 1e-8 for the probit and the logit:

*Gauss-Hermite*, 24 nodes, where every σ ≤ 1.

*A stretched trapezoidal rule* for larger σ. Log Φ bends within |f| ≲ 3 for every σ, so in units of
σ the bend gets sharper as σ grows and Gauss-Hermite fails: for 1e-8 it needs 70 nodes at σ = 2 and
over 180 at σ = 5, while learned kernels often have σ > 10. With f = c sinh(u) the bend (near
f = 0) and the Gaussian (width σ) both have width O(1) in u; the integrand is analytic in a
strip around the real u axis, where the trapezoidal rule converges geometrically. It takes 27
nodes at σ = 2, 41 at σ = 5, 78 at σ = 30.

A loop evaluates eight nodes at a time: memory is a few numbers per row for any number of nodes, and
the sum over the eight is a matrix product, which is the fastest reduction.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float
from scipy.special import ndtri

from .elementary import exp

Integrands = Callable[[Float[Array, "C N"]], tuple[Float[Array, "C N"], ...]]

CHUNK = 8
HERMITE_NODES, HERMITE_WEIGHTS = np.polynomial.hermite_e.hermegauss(3 * CHUNK)
HERMITE_LARGEST_SIGMA = 1.0
STRETCH = 5.0  # c in f = c sinh(u)
REACH = 7.0  # the trapezoidal rule covers μ ± 7σ; what lies beyond weighs 3e-12
MOST_NODES = 20 * CHUNK
# How many nodes asinh(REACH σ / STRETCH) needs, as a polynomial: fitted to the counts that reach
# 1e-8 for both links, σ from 1 to 100.
NODES_BY_WIDTH = (10.0, 8.0, 1.8)


def expect(
    integrands: Integrands, mean: Float[Array, " N"], variance: Float[Array, " N"]
) -> tuple[Float[Array, " N"], ...]:
    """E[g(f_n)], f_n ~ N(mean_n, variance_n), for each array g that `integrands` returns."""
    dtype = mean.dtype
    sigma = jnp.sqrt(variance)
    largest = jnp.max(sigma)
    hermite = largest <= HERMITE_LARGEST_SIGMA
    hermite_nodes = jnp.asarray(HERMITE_NODES, dtype)[:, None]
    hermite_weights = jnp.asarray(HERMITE_WEIGHTS, dtype)[:, None]
    trapezoid_nodes, trapezoid_count = _stretched_trapezoid(mean, sigma, largest)

    def chunk_of_hermite(start):
        nodes = lax.dynamic_slice_in_dim(hermite_nodes, start, CHUNK)
        weights = lax.dynamic_slice_in_dim(hermite_weights, start, CHUNK)
        return mean + sigma * nodes, jnp.broadcast_to(weights, (CHUNK, mean.shape[0]))

    def add_chunk(i, totals):
        f, weight = lax.cond(hermite, chunk_of_hermite, trapezoid_nodes, i * CHUNK)
        values = (jnp.ones_like(f), *integrands(f))
        return tuple(
            total + (ones @ (weight * value))[0]
            for total, value in zip(totals, values, strict=True)
        )

    ones = jnp.ones((1, CHUNK), dtype)
    count = jnp.where(hermite, len(HERMITE_NODES), trapezoid_count)
    n_totals = 1 + len(jax.eval_shape(integrands, mean[None]))
    weight, *totals = lax.fori_loop(
        0, count // CHUNK, add_chunk, tuple(jnp.zeros_like(mean) for _ in range(n_totals))
    )
    # Dividing by the rule's own total makes it exact on constants.
    return tuple(total / weight for total in totals)


def expect_around(
    integrands: Integrands,
    mean: Float[Array, " N"],
    variance: Float[Array, " N"],
    centre: Float[Array, "..."] | float,
    width: Float[Array, "..."] | float,
) -> tuple[Float[Array, " N"], ...]:
    """The same if the integrands of a row bend around `centre` instead of zero.

    width : the width of the bend, relative to the logistic function: its nearest complex
        singularity is at a distance of π, that of the integrand at π · width. Then the rules above
        have the same accuracy.

    Centre and width are constants for derivatives: only the integrands are differentiated.
    """
    centre, width = (lax.stop_gradient(jnp.asarray(part, mean.dtype)) for part in (centre, width))
    return expect(
        lambda x: integrands(centre + width * x),
        (mean - centre) / width,
        variance / jnp.square(width),
    )


def _stretched_trapezoid(mean, sigma, largest):
    """A function from the index of a node to eight nodes and weights, and the number of nodes."""
    # Rows whose σ is smaller than the rounding of f still need distinct nodes; with this minimum
    # the expectation differs from g(μ) by about the rounding error of g(μ).
    floor = 4.0 * float(jnp.finfo(mean.dtype).eps) ** 0.5
    sigma = jnp.maximum(sigma, floor * (1.0 + jnp.abs(mean)))
    width = _asinh(REACH * largest / STRETCH)
    constant, linear, quadratic = NODES_BY_WIDTH
    wanted = constant + linear * width + quadratic * width**2
    count = jnp.ceil(wanted / CHUNK).astype(jnp.int32) * CHUNK
    count = jnp.minimum(count, MOST_NODES)
    first = _asinh((mean - REACH * sigma) / STRETCH)
    step = (_asinh((mean + REACH * sigma) / STRETCH) - first) / (count - 1)
    within = jnp.arange(CHUNK)[:, None]

    def chunk(start):
        up = exp(first + (start + within) * step)
        down = 1.0 / up
        f = 0.5 * STRETCH * (up - down)  # c sinh(u)
        weight = (up + down) * exp(-0.5 * jnp.square((f - mean) / sigma))  # ∝ f'(u) N(f|μ, σ²)
        return f, weight

    return chunk, count


def _asinh(x):
    """Asinh with a small absolute error, which is enough for nodes; a much smaller graph than
    jnp's.
    """
    return jnp.sign(x) * jnp.log(jnp.abs(x) + jnp.sqrt(jnp.square(x) + 1.0))


def even_nodes(n_dimensions: int, count: int) -> Float[np.ndarray, "S C"]:
    """Evenly spread nodes of N(0, I) from a Kronecker sequence, without random numbers.

    The sequence uses powers of the root of x^{C+1} = x + 1, which for C = 1 is the golden ratio.
    """
    ratio = 2.0
    for _ in range(60):
        ratio = (1.0 + ratio) ** (1.0 / (n_dimensions + 1))
    steps = ratio ** -np.arange(1.0, n_dimensions + 1)
    return ndtri((0.5 + np.outer(np.arange(1, count + 1), steps)) % 1.0)
