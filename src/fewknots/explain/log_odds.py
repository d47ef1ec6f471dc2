r"""Several latent functions, one for each class, seen as the log odds of a single class.

    g = f_c - log Σ_{j≠c} exp f_j,     p(c|f) = 1 / (1 + exp(-g)),

    E g ≈ μ_c - log Σ_{j≠c} exp μ_j,   Var g ≈ σ_c² + Σ_{j≠c} w_j² σ_j²,

linear in f around the means, where w is the softmax of the others' means. For two classes g is
f_1 - f_0, and this is exact.

Of the multinomial probit g is the same function of p(c|f), an integral (numerics/largest.py), whose
derivative for f is that of log p(c|f) over 1 - p(c|f).
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import expit, logsumexp

from ..numerics.largest import in_cone, log_largest
from ..numerics.precision import computing_in

_NODES = 20


def log_odds(
    mean: Float[np.ndarray, "N C"],
    variance: Float[np.ndarray, "N C"],
    number: Int[np.ndarray, " N"],
    probit: bool = False,
) -> tuple[Float[np.ndarray, " N"], Float[np.ndarray, " N"]]:
    """Mean and variance of the log odds of one class for each row, against all others.

    probit : of the multinomial probit, not of the softmax.
    """
    own = np.arange(mean.shape[1]) == number[:, None]
    if probit:
        return _of_largest(mean, variance, own)
    others = np.where(own, -np.inf, mean)
    rest = logsumexp(others, axis=1)
    weight = np.where(own, 1.0, np.exp(others - rest[:, None]))
    return mean[own] - rest, np.sum(np.square(weight) * variance, axis=1)


def deviation_of_probability(
    mean: Float[np.ndarray, "N C"],
    variance: Float[np.ndarray, "N C"],
    number: Int[np.ndarray, " N"],
    probit: bool = False,
) -> Float[np.ndarray, " N"]:
    """Standard deviation of p(c|f) under the model's belief about f, for one class of each row.

    This is doubt that more rows could remove. The variance of f is no measure of it: where a class
    is certain, f may be any large number.
    """
    g, spread = log_odds(mean, variance, number, probit)
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    weights = weights / weights.sum()
    p = expit(g[:, None] + np.sqrt(spread)[:, None] * nodes)
    return np.sqrt(np.maximum(np.square(p) @ weights - np.square(p @ weights), 0.0))


def _of_largest(
    mean: Float[np.ndarray, "N C"], variance: Float[np.ndarray, "N C"], own: Bool[np.ndarray, "N C"]
) -> tuple[Float[np.ndarray, " N"], Float[np.ndarray, " N"]]:
    with computing_in(np.dtype(np.float64)):
        f = jnp.asarray(mean.T)
        log_p = np.asarray(log_largest(f, jnp.ones_like(f))).T
        slope = np.asarray(in_cone(jnp.asarray(own.T), f).shift).T
    rest = logsumexp(np.where(own, -np.inf, log_p), axis=1)
    # the slopes add up to zero; where p is almost one the others have more digits
    slope = np.where(own, -np.sum(np.where(own, 0.0, slope), axis=1, keepdims=True), slope)
    weight = slope / np.exp(rest)[:, None]
    return log_p[own] - rest, np.sum(np.square(weight) * variance, axis=1)
