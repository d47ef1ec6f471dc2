"""From a posterior to predictions of y, block by block: memory does not grow with the rows."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from jaxtyping import Float
from scipy.special import ndtri_exp

from .data.blocks import map_blocks, row_slices
from .data.row_checks import refusing_overflow
from .data.standardise import Standardiser
from .likelihoods import Bernoulli, Likelihood, Ordinal
from .number_scoring import Seen
from .numerics.precision import compiled, computing_in
from .posterior import JointPosterior, MixturePosterior, Posterior, Then

# Rows standardised at a time: many blocks, but still a small copy.
_SLICE = 65536
_CALL = 32  # cost of calling a compiled function, in rows
_MIXTURE_SLICE = 1024  # each row has as many numbers as the mixture has components

Vector = Float[np.ndarray, " N"]
EachLatent = Float[np.ndarray, "L N"]


@refusing_overflow
def marginals(
    posterior: Posterior, standardiser: Standardiser, X: Float[np.ndarray, "N D"]
) -> tuple[EachLatent, EachLatent]:
    """Mean and variance of each latent function at rows in the user's units, in float64."""
    slices = row_slices(len(X), _slice_size(posterior))
    pieces = [posterior.marginals(standardiser(X[rows])) for rows in slices]
    mean, variance = _joined(pieces)
    return mean.astype(np.float64), variance.astype(np.float64)


@refusing_overflow
def joint(
    posterior: Posterior, standardiser: Standardiser, X: Float[np.ndarray, "N D"]
) -> tuple[Float[np.ndarray, "L N"], Float[np.ndarray, "..."]]:
    """Mean and covariance of the latent functions at rows in the user's units, in float64."""
    together = joint_posterior(posterior).joint(standardiser(X))
    return together.mean(), together.whole_covariance()


def joint_posterior(posterior: Posterior) -> JointPosterior:
    """The posterior, if it has a joint distribution for several rows; otherwise an error."""
    if isinstance(posterior, JointPosterior):
        return posterior
    raise ValueError(
        "this fit (method 'local', or a combination with it) predicts every row by its own "
        "Gaussian process among its neighbours, so there is no joint distribution of several rows: "
        "no covariances, samples or function draws. predict_latent(X) gives mean and variance of "
        "each row; method='sparse_kl' has a joint distribution."
    )


@refusing_overflow
def log_probabilities(
    likelihood: Likelihood,
    posterior: Posterior,
    standardiser: Standardiser,
    X: Float[np.ndarray, "N D"],
) -> tuple[Vector, ...]:
    """The log probability of each class, in the order of their codes, at each row."""
    mixture = isinstance(posterior, MixturePosterior)
    of_latent = _average_log_probabilities if mixture else _log_probabilities
    return _mapped(partial(of_latent, likelihood), posterior, standardiser, X)


def log_probabilities_of(
    likelihood: Likelihood, mean: EachLatent, variance: EachLatent
) -> tuple[Vector, ...]:
    """The log probability of each class, from the result of `marginals`."""

    def of_block(mean: Any, variance: Any) -> tuple[Any, ...]:
        return _log_probabilities(likelihood, mean.T, variance.T)

    with computing_in(np.dtype(np.float64)):
        return map_blocks(of_block, mean.T, variance.T, call=_CALL)


def moments_of(
    likelihood: Likelihood, mean: EachLatent, variance: EachLatent
) -> tuple[Vector, Vector]:
    """Mean and variance of y, from the result of `marginals`."""

    def of_block(mean: Any, variance: Any) -> tuple[Any, ...]:
        return _moments(likelihood, mean.T, variance.T)

    with computing_in(np.dtype(np.float64)):
        of_y, spread = map_blocks(of_block, mean.T, variance.T, call=_CALL)
    return of_y, spread


def quantiles_of(
    levels: Float[np.ndarray, " Q"], likelihood: Likelihood, mean: EachLatent, variance: EachLatent
) -> Float[np.ndarray, "Q N"]:
    """Quantiles of y, from the result of `marginals`."""

    def of_block(mean: Any, variance: Any) -> tuple[Any, ...]:
        return _quantiles(levels, likelihood, mean.T, variance.T)

    with computing_in(np.dtype(np.float64)):
        return map_blocks(of_block, mean.T, variance.T, call=_CALL)[0]


def log_density_of(
    likelihood: Likelihood, y: Vector, mean: EachLatent, variance: EachLatent
) -> Vector:
    """Log p(y) of numbers, from the result of `marginals`, in the fit's units."""

    def of_block(y: Any, mean: Any, variance: Any) -> tuple[Any, ...]:
        return (_log_density(likelihood, y, mean.T, variance.T),)

    with computing_in(np.dtype(np.float64)):
        return map_blocks(of_block, y, mean.T, variance.T, call=_CALL)[0]


def seen_in_numbers(
    likelihood: Likelihood, y: Vector, mean: EachLatent, variance: EachLatent
) -> Seen:
    """Predictions for numbers y, from the result of `marginals`, in the fit's units."""

    def of_block(y: Any, mean: Any, variance: Any) -> tuple[Any, ...]:
        return _seen(likelihood, y, mean.T, variance.T)

    with computing_in(np.dtype(np.float64)):
        return Seen(*map_blocks(of_block, y, mean.T, variance.T, call=_CALL))


@refusing_overflow
def conditional_entropy(
    likelihood: Likelihood,
    posterior: Posterior,
    standardiser: Standardiser,
    X: Float[np.ndarray, "N D"],
) -> Vector:
    """E H[y|f] at each row."""
    return _mapped(partial(_conditional_entropy, likelihood), posterior, standardiser, X)[0]


@refusing_overflow
def decision(
    likelihood: Bernoulli | Ordinal,
    posterior: Posterior,
    standardiser: Standardiser,
    X: Float[np.ndarray, "N D"],
) -> Vector:
    """The probability of the second of two classes on the link's scale."""
    if not isinstance(posterior, MixturePosterior):
        return _mapped(partial(_decision, likelihood), posterior, standardiser, X)[0]
    return decision_of(likelihood, *log_probabilities(likelihood, posterior, standardiser, X))


def decision_of(likelihood: Bernoulli | Ordinal, negative: Vector, positive: Vector) -> Vector:
    """The same from the log probabilities of -1 and +1."""
    if likelihood.link == "logit":
        return positive - negative
    # Computed from the smaller of the two, which is accurate far from zero.
    return np.where(positive < negative, ndtri_exp(positive), -ndtri_exp(negative))


@refusing_overflow
def moments(
    likelihood: Likelihood,
    posterior: Posterior,
    standardiser: Standardiser,
    X: Float[np.ndarray, "N D"],
) -> tuple[Vector, Vector]:
    """Mean and variance of y at each row."""
    mean, variance = _mapped(partial(_moments, likelihood), posterior, standardiser, X)
    return mean, variance


@refusing_overflow
def quantiles(
    levels: Float[np.ndarray, " Q"],
    likelihood: Likelihood,
    posterior: Posterior,
    standardiser: Standardiser,
    X: Float[np.ndarray, "N D"],
) -> Float[np.ndarray, "Q N"]:
    """Quantiles of y at each row."""
    return _mapped(partial(_quantiles, levels, likelihood), posterior, standardiser, X)[0]


def _mapped(
    of_latent: Then, posterior: Posterior, standardiser: Standardiser, X: Float[np.ndarray, "N D"]
) -> tuple[np.ndarray, ...]:
    """`of_latent`(mean, variance) in float64, at rows in the user's units."""

    def in_float64(mean: Any, variance: Any) -> tuple[Any, ...]:
        with computing_in(np.dtype(np.float64)):
            return of_latent(mean, variance)

    pieces = [
        posterior.mapped(in_float64, standardiser(X[rows]))
        for rows in row_slices(len(X), _slice_size(posterior))
    ]
    return _joined(pieces)


def _joined(pieces: Sequence[tuple[np.ndarray, ...]]) -> tuple[np.ndarray, ...]:
    """Join slices of rows along the last axis."""
    if len(pieces) == 1:
        return pieces[0]
    return tuple(np.concatenate(parts, axis=-1) for parts in zip(*pieces, strict=True))


def _slice_size(posterior: Posterior) -> int:
    return _MIXTURE_SLICE if isinstance(posterior, MixturePosterior) else _SLICE


# If a latent value overflowed, its probability could still be one half: such rows become NaN, so
# that `refusing_overflow` finds them.


@compiled
def _log_probabilities(likelihood, mean, variance):
    found = likelihood.log_probabilities(*_as_float64(mean, variance))
    return _where_finite(found, mean, variance)


@compiled
def _average_log_probabilities(likelihood, means, variance):
    """Log probabilities of the mixture: probabilities are averaged, not latent values."""
    means, variance = _as_float64(means, variance)
    n_components, n_latent, n_rows = means.shape
    flat = jnp.moveaxis(means, 0, 1).reshape(n_latent, -1)  # all components together as rows
    each = likelihood.log_probabilities(flat, jnp.tile(variance, n_components))
    found = tuple(
        logsumexp(log_p.reshape(n_components, n_rows), axis=0) - jnp.log(n_components)
        for log_p in each
    )
    return _where_finite(found, means.sum(axis=0), variance)


@compiled
def _conditional_entropy(likelihood, mean, variance):
    mean, variance = _as_float64(mean, variance)
    if mean.ndim == 2:
        found = likelihood.conditional_entropy(mean, variance)
    else:  # for a mixture, f includes the number of its component
        n_components, n_latent, n_rows = mean.shape
        flat = jnp.moveaxis(mean, 0, 1).reshape(n_latent, -1)
        each = likelihood.conditional_entropy(flat, jnp.tile(variance, n_components))
        found, mean = each.reshape(n_components, n_rows).mean(axis=0), mean.sum(axis=0)
    return _where_finite((found,), mean, variance)


@compiled
def _decision(likelihood, mean, variance):
    found = (likelihood.decision(*_as_float64(mean, variance)),)
    return _where_finite(found, mean, variance)


@compiled
def _log_density(likelihood, y, mean, variance):
    return likelihood.tilted(y, mean, variance).log_prob


@compiled
def _seen(likelihood, y, mean, variance):
    of_y, spread = likelihood.moments(mean, variance)
    log_density = likelihood.tilted(y, mean, variance).log_prob
    up_to = below = likelihood.predictive_cdf(y, mean, variance)
    if likelihood.support == "counts":
        before = likelihood.predictive_cdf(jnp.maximum(y - 1.0, 0.0), mean, variance)
        below = jnp.where(y > 0, before, 0.0)
    return of_y, jnp.sqrt(spread), log_density, below, up_to


@compiled
def _moments(likelihood, mean, variance):
    found = likelihood.moments(*_as_float64(mean, variance))
    return _where_finite(found, mean, variance)


@compiled
def _quantiles(levels, likelihood, mean, variance):
    found = (likelihood.quantiles(*_as_float64(mean, variance), levels),)
    return _where_finite(found, mean, variance)


def _where_finite(found, mean, variance):
    axes = tuple(range(variance.ndim - 1))  # one, or two of a covariance
    finite = jnp.isfinite(mean).all(axis=0) & jnp.isfinite(variance).all(axis=axes)
    return tuple(jnp.where(finite, column, jnp.nan) for column in found)


def _as_float64(*latent):
    return tuple(part.astype(np.float64) for part in latent)
