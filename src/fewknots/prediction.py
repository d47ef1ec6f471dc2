"""From a posterior to probabilities, block by block: memory does not grow with the rows."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from jaxtyping import Float
from scipy.special import ndtri_exp

from .data.blocks import map_blocks, row_slices
from .data.standardise import Standardiser
from .likelihoods import Bernoulli
from .posterior import MixturePosterior, Posterior
from .precision import computing_in
from .reach import refusing_overflow

# Rows standardised at a time: many blocks' worth, and still a small copy.
_SLICE = 65536
_MIXTURE_SLICE = 1024  # each row has as many numbers as the mixture has components

Vector = Float[np.ndarray, " N"]


@refusing_overflow
def marginals(
    posterior: Posterior, standardiser: Standardiser, X: Float[np.ndarray, "N D"]
) -> tuple[Vector, Vector]:
    """Mean and variance of f at rows in the user's units, in float64."""
    mean, variance = np.empty(len(X)), np.empty(len(X))
    size = _MIXTURE_SLICE if isinstance(posterior, MixturePosterior) else _SLICE
    for rows in row_slices(len(X), size):
        mean[rows], variance[rows] = posterior.marginals(standardiser(X[rows]))
    return mean, variance


@refusing_overflow
def log_probabilities(
    likelihood: Bernoulli,
    posterior: Posterior,
    standardiser: Standardiser,
    X: Float[np.ndarray, "N D"],
) -> tuple[Vector, Vector]:
    """(log p(-1), log p(+1)) of each row."""
    with computing_in(np.dtype(np.float64)):
        if not isinstance(posterior, MixturePosterior):
            latent = marginals(posterior, standardiser, X)
            negative, positive = map_blocks(partial(_log_probabilities, likelihood), *latent)
            return negative, positive
        negative, positive = np.empty(len(X)), np.empty(len(X))
        average = partial(_average_log_probabilities, likelihood)
        for rows in row_slices(len(X), _MIXTURE_SLICE):
            means, variance = posterior.components(standardiser(X[rows]))
            means, variance = means.astype(np.float64), variance.astype(np.float64)
            negative[rows], positive[rows] = map_blocks(average, means, variance)
        return negative, positive


@refusing_overflow
def decision(
    likelihood: Bernoulli,
    posterior: Posterior,
    standardiser: Standardiser,
    X: Float[np.ndarray, "N D"],
) -> Vector:
    """The probability of +1 on the link's scale."""
    if not isinstance(posterior, MixturePosterior):
        latent = marginals(posterior, standardiser, X)
        with computing_in(np.dtype(np.float64)):
            return map_blocks(partial(_decision, likelihood), *latent)[0]
    negative, positive = log_probabilities(likelihood, posterior, standardiser, X)
    if likelihood.link == "logit":
        return positive - negative
    # From the smaller of the two, which alone is exact far from zero.
    return np.where(positive < negative, ndtri_exp(positive), -ndtri_exp(negative))


@jax.jit
def _log_probabilities(likelihood, mean, variance):
    return likelihood.log_probabilities(mean, variance)


@jax.jit
def _average_log_probabilities(likelihood, means, variance):
    """Of the mixture: probabilities are averaged, not latent values."""
    n_rows, n_components = means.shape
    both = likelihood.log_probabilities(means.ravel(), jnp.repeat(variance, n_components))
    return tuple(
        logsumexp(log_p.reshape(n_rows, n_components), axis=1) - jnp.log(n_components)
        for log_p in both
    )


@jax.jit
def _decision(likelihood, mean, variance):
    return (likelihood.decision(mean, variance),)
