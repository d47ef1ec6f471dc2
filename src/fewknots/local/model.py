"""The local model: what is learned, predictions for queries, their score and its derivatives."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ..inference.method import likelihood_gradient
from ..inference.sites import Rows
from ..kernels import Kernel
from ..likelihoods import Gaussian, Likelihood, Tilted
from ..numerics.arrays import AnyArray
from ..numerics.precision import compiled
from . import coupled
from .ep import expectation_propagation
from .gaussian import gaussian
from .gradient import pulled_back
from .laplace import iterates, laplace, reach_of
from .neighbourhood import (
    Covariances,
    Labelled,
    LocalPrediction,
    covariances,
    from_reach,
    predicted,
)
from .site_solution import Rule, SiteSolution, by_row
from .variational import variational

RULES: dict[str, Rule] = {
    "laplace": laplace,
    "kl": variational,
    "ep": expectation_propagation,
}
# Tolerance of the sites; Newton's last step squares the remaining error.
_TOLERANCE = {"laplace": (3e-2, 1e-6), "kl": (1e-3, 1e-9), "ep": (1e-3, 1e-9)}


class LocalModel(NamedTuple):
    """What a local fit learns.

    kernel : the kernel of f.
    mean : the mean of f far from all rows; one for each function if there are several.
    sharpness : a factor for the mean of f at a query. A few neighbours contain less information
        than all rows, and Laplace's approximation underestimates the mean, so probabilities are
        too close to one half. The factor is learned from leave-one-out probabilities. For numbers
        it is one, since there the mean of f is the prediction.
    """

    kernel: Kernel
    mean: Float[AnyArray, "*L"]
    sharpness: Float[AnyArray, ""]


class LogPredictive(NamedTuple):
    """Σ w log p of the queries, and its derivatives."""

    log_prob: Float[Array, ""]
    gradient: LocalModel
    d_likelihood: Likelihood  # gradient with respect to the likelihood's own parameters


def gathered(rows: Rows, near: Int[AnyArray, "Q K"]) -> tuple[Float[Array, "Q K D"], Labelled]:
    """The neighbours with these numbers; a negative number stands for no neighbour (weight 0)."""
    found = jnp.maximum(near, 0)
    weights = jnp.where(near < 0, 0.0, jnp.asarray(rows.weights)[found])
    labels = Labelled(jnp.asarray(rows.y)[found], weights)
    return jnp.asarray(rows.X)[found], labels


def factorises_nothing(rule: str, likelihood: Likelihood, dtype: Any) -> bool:
    """Whether predictions (not their derivatives) need no batches of LAPACK calls."""
    if likelihood.n_latent > 1:
        return True
    return rule == "laplace" and iterates(dtype) and not isinstance(likelihood, Gaussian)


def _solved(
    rule: str, model: LocalModel, likelihood: Likelihood, prior: Covariances, labels: Labelled
) -> tuple[SiteSolution, LocalPrediction]:
    tolerance = _TOLERANCE[rule][prior.own.dtype == jnp.float64]
    exact = isinstance(likelihood, Gaussian)
    solve = gaussian if exact else RULES[rule]
    found = solve(prior, labels, likelihood, model.mean, tolerance)
    if factorises_nothing(rule, likelihood, prior.own.dtype):
        reach = reach_of(prior, found.precision)
        return found, from_reach(prior, model.mean, found.slope, reach)
    return found, predicted(prior, model.mean, found.slope, found.factor, found.precision)


@partial(compiled, static_argnums=(0, 6))
def latent(
    rule: str,
    likelihood: Likelihood,
    model: LocalModel,
    rows: Rows,
    queries: Float[Array, "Q D"],
    near: Int[Array, "Q K"],
    n_slots: int = 1,
) -> tuple[Float[Array, "L Q"], Float[Array, "L Q"]]:
    """Mean and variance of every latent function at the queries; `n_slots` is coupled.py's."""
    neighbours, labels = gathered(rows, near)
    prior = covariances(model.kernel, queries, neighbours)
    if likelihood.n_latent > 1:
        found = _coupled(model, prior, labels, n_slots)
        mean, variance = coupled.latent(
            found.slots, prior.own, model.mean, found.mean, found.explained
        )
        return model.sharpness * mean, variance
    _, prediction = _solved(rule, model, likelihood, prior, labels)
    return (model.sharpness * prediction.mean)[None], prediction.variance[None]


def score(
    rule: str,
    likelihood: Likelihood,
    model: LocalModel,
    rows: Rows,
    queries: Rows,
    near: Any,
    n_slots: int = 1,
) -> LogPredictive:
    """Log probability of the queries' labels given their neighbours, and its gradient."""
    neighbours, labels = gathered(rows, near)
    prior, pullback = jax.vjp(
        lambda kernel: covariances(kernel, queries.X, neighbours), model.kernel
    )
    if likelihood.n_latent > 1:
        return _coupled_score(likelihood, model, prior, pullback, labels, queries, n_slots)
    found, prediction = _solved(rule, model, likelihood, prior, labels)
    sharp = model.sharpness * prediction.mean
    tilted = by_row(likelihood.tilted, jnp.asarray(queries.y), sharp, prediction.variance)
    by_mean, by_variance = _slopes(tilted, queries.weights)
    cotangents = pulled_back(prior, found, prediction, model.sharpness * by_mean, by_variance)
    (d_kernel,) = pullback(cotangents.covariances)

    def of_likelihood(other: Likelihood) -> Float[Array, ""]:
        seen = by_row(other.tilted, jnp.asarray(queries.y), sharp, prediction.variance)
        slope, precision = found.wanted(other)
        through_sites = cotangents.site_slope * slope + cotangents.site_precision * precision
        return queries.weights @ seen.log_prob + jnp.sum(through_sites)

    return LogPredictive(
        jnp.sum(queries.weights * tilted.log_prob),
        LocalModel(d_kernel, cotangents.mean, jnp.sum(by_mean * prediction.mean)),
        likelihood_gradient(likelihood, of_likelihood),
    )


def _coupled(
    model: LocalModel, prior: Covariances, labels: Labelled, n_slots: int
) -> coupled.Solution:
    tolerance = _TOLERANCE["laplace"][prior.own.dtype == jnp.float64]
    return coupled.solve(prior, labels, model.mean, n_slots, tolerance)


def _coupled_score(
    likelihood: Likelihood,
    model: LocalModel,
    prior: Covariances,
    pullback: Any,
    labels: Labelled,
    queries: Rows,
    n_slots: int,
) -> LogPredictive:
    """The score for a likelihood with several latent functions and no parameters."""
    found = _coupled(model, prior, labels, n_slots)
    mean, variance = coupled.latent(found.slots, prior.own, model.mean, found.mean, found.explained)
    tilted = likelihood.tilted(jnp.asarray(queries.y), model.sharpness * mean, variance)
    by_mean, by_variance = _slopes(tilted, queries.weights)
    d_prior, d_mean = coupled.pulled_back(
        prior, labels, model.mean, found, model.sharpness * by_mean, by_variance
    )
    (d_kernel,) = pullback(d_prior)
    return LogPredictive(
        jnp.sum(queries.weights * tilted.log_prob),
        LocalModel(d_kernel, d_mean, jnp.sum(by_mean * mean)),
        likelihood,
    )


def _slopes(tilted: Tilted, weights: Float[AnyArray, " Q"]) -> tuple[Array, Array]:
    """Derivatives of Σ w log p with respect to each query's means and variances.

    ∂ log Ẑ/∂σ² = ½ (∂ log Ẑ/∂μ)² + ½ ∂² log Ẑ/∂μ²: the heat equation.
    """
    return weights * tilted.slope, 0.5 * weights * (jnp.square(tilted.slope) - tilted.curvature)
