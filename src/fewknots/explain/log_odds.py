r"""Several latent functions, one for each class, seen as one function: a single class or another.

    g = f_c - log Σ_{j≠c} exp f_j,     p(c|f) = 1 / (1 + exp(-g)),

    E g ≈ μ_c - log Σ_{j≠c} exp μ_j,   Var g ≈ σ_c² + Σ_{j≠c} w_j² σ_j²,

linear in f around the means, where w is the softmax of the others' means. For two classes g is
f_1 - f_0, and this is exact.

Of the multinomial probit p(c|f) is an integral (numerics/largest.py), and z = Φ⁻¹(p(c|f)) is nearly
linear in f: dz/df = p/φ(z) ∇ log p. For two classes z is (f_1 - f_0)/√2, and this is exact.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int
from scipy.special import expit, logsumexp, ndtr, ndtri_exp

from ..numerics.largest import in_cone, log_largest
from ..numerics.precision import computing_in

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
    probit: bool = False,
) -> Float[np.ndarray, " N"]:
    """Standard deviation of p(c|f) under the model's belief about f, for one class of each row.

    This is doubt that more rows could remove. The variance of f is no measure of it: where a class
    is certain, f may be any large number.
    """
    g, spread = (probits if probit else log_odds)(mean, variance, number)
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    weights = weights / weights.sum()
    p = (ndtr if probit else expit)(g[:, None] + np.sqrt(spread)[:, None] * nodes)
    return np.sqrt(np.maximum(np.square(p) @ weights - np.square(p @ weights), 0.0))


def probits(
    mean: Float[np.ndarray, "N C"],
    variance: Float[np.ndarray, "N C"],
    number: Int[np.ndarray, " N"],
) -> tuple[Float[np.ndarray, " N"], Float[np.ndarray, " N"]]:
    """The same of the multinomial probit: mean and variance of z."""
    own = np.arange(mean.shape[1]) == number[:, None]
    with computing_in(np.dtype(np.float64)):
        f = jnp.asarray(mean.T)
        log_p = np.asarray(log_largest(f, jnp.ones_like(f))).T
        slope = np.asarray(in_cone(jnp.asarray(own.T), f).shift).T
    rest = logsumexp(np.where(own, -np.inf, log_p), axis=1)
    # the slopes add up to zero; where p is almost one the others have more digits
    slope = np.where(own, -np.sum(np.where(own, 0.0, slope), axis=1, keepdims=True), slope)
    # from the smaller of the two, which alone is exact far from zero
    z = np.where(log_p[own] < rest, ndtri_exp(log_p[own]), -ndtri_exp(rest))
    per_slope = np.exp(log_p[own] + 0.5 * np.square(z)) * np.sqrt(2.0 * np.pi)
    return z, np.sum(np.square(per_slope[:, None] * slope) * variance, axis=1)
