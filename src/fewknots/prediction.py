"""From a posterior to probabilities, block by block: memory does not grow with the rows."""

from functools import partial

import jax
import numpy as np
from jaxtyping import Float

from .data.blocks import map_blocks, row_slices
from .data.standardise import Standardiser
from .likelihoods import Bernoulli
from .posterior import Posterior
from .precision import computing_in

# Rows standardised at a time: many blocks' worth, and still a small copy.
_SLICE = 65536


def marginals(
    posterior: Posterior, standardiser: Standardiser, X: Float[np.ndarray, "N D"]
) -> tuple[Float[np.ndarray, " N"], Float[np.ndarray, " N"]]:
    """Mean and variance of f at rows in the user's units, in float64."""
    mean, variance = np.empty(len(X)), np.empty(len(X))
    for rows in row_slices(len(X), _SLICE):
        mean[rows], variance[rows] = posterior.marginals(standardiser(X[rows]))
    return mean, variance


def log_probabilities(
    likelihood: Bernoulli, mean: Float[np.ndarray, " N"], variance: Float[np.ndarray, " N"]
) -> tuple[Float[np.ndarray, " N"], Float[np.ndarray, " N"]]:
    """(log p(-1), log p(+1)) of each row."""
    with computing_in(mean.dtype):
        negative, positive = map_blocks(
            partial(_log_probabilities, likelihood), mean, variance, outputs=2
        )
    return negative, positive


def decision(
    likelihood: Bernoulli, mean: Float[np.ndarray, " N"], variance: Float[np.ndarray, " N"]
) -> Float[np.ndarray, " N"]:
    """The probability of +1 on the link's scale."""
    with computing_in(mean.dtype):
        return map_blocks(partial(_decision, likelihood), mean, variance, outputs=1)[0]


@jax.jit
def _log_probabilities(likelihood, mean, variance):
    return likelihood.log_probabilities(mean, variance)


@jax.jit
def _decision(likelihood, mean, variance):
    return (likelihood.decision(mean, variance),)
