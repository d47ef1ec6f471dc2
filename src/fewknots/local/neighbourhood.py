r"""One small Gaussian process for each query, among its nearest rows, for many queries at a time.

For a query x with its K nearest rows X, the prior is f ~ N(m, K) at the rows, with a constant mean
m, and sites (inference/sites.py) replace the rows' likelihoods. With Σ = (K⁻¹ + diag b)⁻¹,
P = I - Σ diag b and C = (K + diag b⁻¹)⁻¹,

    μ = m + Kα,   α = g - b(μ - m),           f(x) ~ N(m + kᵀα, k(x, x) - kᵀu),   u = C k,

where k = k(X, x). Everything comes from R, the Cholesky factor of B = I + √b K √b, whose
eigenvalues are at least 1: rows at the same place, or of weight zero, need no jitter.

| symbol  | name here  | shape |
|---------|------------|-------|
| K       | covariance | Q×K×K |
| k       | cross      | Q×K   |
| k(x, x) | own        | Q     |
| R       | factor     | Q×K×K |
| u       | reach      | Q×K   |
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float

from ..kernels import Kernel
from ..numerics.arrays import AnyArray
from ..numerics.elementary import not_below_zero
from ..numerics.linalg import after


class Labelled(NamedTuple):
    """Targets and weights of the neighbours; weight 0 marks a missing one."""

    y: Float[AnyArray, "Q K"]
    weights: Float[AnyArray, "Q K"]


class Covariances(NamedTuple):
    """The prior covariance of each query and its neighbours."""

    covariance: Float[AnyArray, "Q K K"]
    cross: Float[AnyArray, "Q K"]
    own: Float[AnyArray, " Q"]


class LocalPrediction(NamedTuple):
    """Mean and variance of f at each query, and values that their derivatives need."""

    mean: Float[Array, " Q"]
    variance: Float[Array, " Q"]
    reach: Float[Array, "Q K"]


def covariances(
    kernel: Kernel, queries: Float[Array, "Q D"], neighbours: Float[Array, "Q K D"]
) -> Covariances:
    """The kernel between neighbours, between them and their query, and at the query."""
    inner = kernel.of_coordinates  # computed once, since they are needed three times

    def of_one(query, rows):
        query, rows = kernel.coordinates(query[None]), kernel.coordinates(rows)
        return Covariances(inner(rows, rows), inner(query, rows)[0], inner.diagonal(query)[0])

    return jax.vmap(of_one)(queries, neighbours)


def factorised(
    covariance: Float[Array, "Q K K"], precision: Float[Array, "Q K"]
) -> Float[Array, "Q K K"]:
    """R of B = I + √b K √b = R Rᵀ."""
    root = jnp.sqrt(precision)
    identity = jnp.eye(covariance.shape[-1], dtype=covariance.dtype)
    return jnp.linalg.cholesky(identity + root[:, :, None] * covariance * root[:, None, :])


def shrunk(
    factor: Float[Array, "Q K K"], precision: Float[Array, "Q K"], vector: Float[Array, "Q K"]
) -> Float[Array, "Q K"]:
    """C x = √b B⁻¹ √b x."""
    root = jnp.sqrt(precision)
    half = solve_triangular(factor, (root * vector)[..., None], lower=True)
    return root * solve_triangular(factor, half, lower=True, trans=1)[..., 0]


def predicted(
    prior: Covariances,
    mean: Any,
    slope: Float[Array, "Q K"],
    factor: Float[Array, "Q K K"],
    precision: Float[Array, "Q K"],
) -> LocalPrediction:
    """Predict f at the queries, from the sites' precisions and α."""
    return from_reach(prior, mean, slope, shrunk(factor, precision, after(slope, prior.cross)))


def from_reach(
    prior: Covariances, mean: Any, slope: Float[Array, "Q K"], reach: Float[Array, "Q K"]
) -> LocalPrediction:
    """Predict f at the queries, from α and u."""
    # Positive in exact arithmetic; rounding can make it negative where f is well known.
    variance = not_below_zero(prior.own - jnp.sum(prior.cross * reach, axis=1))
    return LocalPrediction(mean + jnp.sum(prior.cross * slope, axis=1), variance, reach)
