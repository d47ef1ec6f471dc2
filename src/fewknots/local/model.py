"""The local model: what is learned, predictions for queries, their score and its derivatives."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ..inference.method import likelihood_gradient
from ..inference.sites import Rows
from ..kernels import Kernel
from ..likelihoods import Likelihood
from ..numerics.arrays import AnyArray
from ..numerics.precision import compiled
from .ep import expectation_propagation
from .gradient import pulled_back
from .laplace import laplace
from .neighbourhood import Covariances, Labelled, LocalPrediction, covariances, predicted
from .site_solution import Rule, SiteSolution, by_row
from .variational import variational

RULES: dict[str, Rule] = {
    "laplace": laplace,
    "kl": variational,
    "ep": expectation_propagation,
}
# How far the sites may be from their fixed point: Newton's last step squares what is left.
_TOLERANCE = {"laplace": (3e-2, 1e-6), "kl": (1e-3, 1e-9), "ep": (1e-3, 1e-9)}


class LocalModel(NamedTuple):
    """What a local fit learns.

    kernel : of f.
    mean : of f where no row is near.
    sharpness : a factor for the mean of f at a query. A few neighbours say less than all rows, and
        Laplace's approximation says it timidly: predictions come out nearer to one half than they
        should. Leave-one-out probabilities show by how much.
    """

    kernel: Kernel
    mean: Float[AnyArray, ""]
    sharpness: Float[AnyArray, ""]


class LogPredictive(NamedTuple):
    """Σ w log p of the queries, and its derivatives."""

    log_prob: Float[Array, ""]
    gradient: LocalModel
    d_likelihood: Likelihood  # for its own parameters


def gathered(rows: Rows, near: Int[AnyArray, "Q K"]) -> tuple[Float[Array, "Q K D"], Labelled]:
    """The neighbours with these numbers; a number below zero is none, a copy without weight."""
    found = jnp.maximum(near, 0)
    weights = jnp.where(near < 0, 0.0, jnp.asarray(rows.weights)[found])
    labels = Labelled(jnp.asarray(rows.y)[found], weights)
    return jnp.asarray(rows.X)[found], labels


def _solved(
    rule: str, model: LocalModel, likelihood: Likelihood, prior: Covariances, labels: Labelled
) -> tuple[SiteSolution, LocalPrediction]:
    tolerance = _TOLERANCE[rule][prior.own.dtype == jnp.float64]
    found = RULES[rule](prior, labels, likelihood, model.mean, tolerance)
    return found, predicted(prior, model.mean, found.slope, found.factor, found.precision)


@partial(compiled, static_argnums=0)
def latent(
    rule: str,
    likelihood: Likelihood,
    model: LocalModel,
    rows: Rows,
    queries: Float[Array, "Q D"],
    near: Int[Array, "Q K"],
) -> tuple[Float[Array, "1 Q"], Float[Array, "1 Q"]]:
    """Mean and variance of f at the queries, of the one latent function there is."""
    neighbours, labels = gathered(rows, near)
    prior = covariances(model.kernel, queries, neighbours)
    _, prediction = _solved(rule, model, likelihood, prior, labels)
    return (model.sharpness * prediction.mean)[None], prediction.variance[None]


def score(
    rule: str, likelihood: Likelihood, model: LocalModel, rows: Rows, queries: Rows, near: Any
) -> LogPredictive:
    """The log probability of the queries' labels given their neighbours, and its gradient."""
    neighbours, labels = gathered(rows, near)
    prior, pullback = jax.vjp(
        lambda kernel: covariances(kernel, queries.X, neighbours), model.kernel
    )
    found, prediction = _solved(rule, model, likelihood, prior, labels)
    sharp = model.sharpness * prediction.mean
    tilted = by_row(likelihood.tilted, jnp.asarray(queries.y), sharp, prediction.variance)
    by_mean = queries.weights * tilted.slope
    # ∂ log Ẑ/∂σ² = ½ (∂ log Ẑ/∂μ)² + ½ ∂² log Ẑ/∂μ²: the heat equation
    by_variance = 0.5 * queries.weights * (jnp.square(tilted.slope) - tilted.curvature)
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
