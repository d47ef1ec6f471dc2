r"""Gaussian expectations in one dimension, and the identities that make them derivatives.

Every term of the bound (eq. klsparse) is E[g(f)] with f ~ N(μ, σ²) and g = log p(y|·). Its
derivatives are expectations too (section 4, "Computations and Scalability"):

    ∂/∂μ  E[g] = E[g'],      ∂/∂σ² E[g] = ½ E[g''],

so nothing is ever differentiated through a quadrature: the caller integrates (g, g', g'', ...)
with the same nodes.

Two rules, picked by the largest σ in the call, both good to 1e-8 for the probit and the logit:

*Gauss-Hermite*, 24 nodes, where every σ ≤ 1.

*A stretched trapezoidal rule* above. Log Φ bends within |f| ≲ 3 whatever σ is, so in units of σ
the bend sharpens as σ grows and Gauss-Hermite fails: for 1e-8 it needs 70 nodes at σ = 2 and
over 180 at σ = 5, while learned kernels often have σ > 10. With f = c sinh(u) the bend (near
f = 0) and the Gaussian (width σ) both have width O(1) in u; the integrand is analytic in a
strip around the real u axis, where the trapezoidal rule converges geometrically. It takes 27
nodes at σ = 2, 41 at σ = 5, 78 at σ = 30.

Nodes are visited eight at a time in a loop: memory is a few numbers a row however many nodes
there are, and the sum over the eight is a matrix product, the fastest reduction there is.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

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


def _stretched_trapezoid(mean, sigma, largest):
    """A function from a node's number to eight nodes and weights, and how many nodes there are."""
    # Rows whose σ is lost in the rounding of f still need distinct nodes; at this floor the
    # expectation differs from g(μ) by about the rounding of g(μ) itself.
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
    """To absolute accuracy, which is all a node's place needs, and a fraction of jnp's graph."""
    return jnp.sign(x) * jnp.log(jnp.abs(x) + jnp.sqrt(jnp.square(x) + 1.0))
