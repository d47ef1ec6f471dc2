r"""Several latent functions, one for each class, seen as the log odds of a single class.

    g = f_c - log Σ_{j≠c} exp f_j,     p(c|f) = 1 / (1 + exp(-g)),

    E g ≈ μ_c - log Σ_{j≠c} exp μ_j,   Var g ≈ σ_c² + Σ_{j≠c} w_j² σ_j²,

linear in f around the means, where w is the softmax of the others' means. For two classes g is
f_1 - f_0, and this is exact.
"""

import numpy as np
from jaxtyping import Float, Int
from scipy.special import expit, logsumexp

_NODES = 20


def log_odds(
    mean: Float[np.ndarray, "N C"],
    variance: Float[np.ndarray, "N C"],
    number: Int[np.ndarray, " N"],
) -> tuple[Float[np.ndarray, " N"], Float[np.ndarray, " N"]]:
    """Mean and variance of the log odds of one class for each row, against all others."""
    own = np.arange(mean.shape[1]) == number[:, None]
    others = np.where(own, -np.inf, mean)
    rest = logsumexp(others, axis=1)
    weight = np.where(own, 1.0, np.exp(others - rest[:, None]))
    return mean[own] - rest, np.sum(np.square(weight) * variance, axis=1)


def deviation_of_probability(
    mean: Float[np.ndarray, "N C"],
    variance: Float[np.ndarray, "N C"],
    number: Int[np.ndarray, " N"],
) -> Float[np.ndarray, " N"]:
    """Standard deviation of p(c|f) under the model's belief about f, for one class of each row.

    This is doubt that more rows could remove. The variance of f is no measure of it: where a class
    is certain, f may be any large number.
    """
    g, spread = log_odds(mean, variance, number)
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    weights = weights / weights.sum()
    p = expit(g[:, None] + np.sqrt(spread)[:, None] * nodes)
    return np.sqrt(np.maximum(np.square(p) @ weights - np.square(p @ weights), 0.0))
