r"""Sites: Gaussian factors in place of the rows' likelihoods, with two numbers for each row.

(Two numbers for each latent function. A likelihood may have several: they are independent under the
prior and under q, share kernel and inducing points, and their axis L comes first.)

Every method except mean field represents its posterior as

    q(f) ∝ p(f) Π_n exp(g_n f_n - ½ b_n f_n²),

a *prior* (priors.py) times N sites. The methods differ in the *rule* that defines the sites
(rules.py, ep.py). Sites remain meaningful when the kernel or Z change: after a small change the
old sites are an excellent start for the new ones.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..numerics.arrays import AnyArray


class Rows(NamedTuple):
    """The data of one block of rows; weight 0 marks padding."""

    X: Float[AnyArray, "N D"]
    y: Float[AnyArray, " N"]
    weights: Float[AnyArray, " N"]


class Sites(NamedTuple):
    """One-dimensional Gaussian factors exp(g_n f_n - ½ b_n f_n²), N for each latent function."""

    precision: Float[AnyArray, "L N"]
    linear: Float[AnyArray, "L N"]


class Belief(NamedTuple):
    """The posterior that follows from a prior and sites, at the rows.

    | field    | symbol                           | meaning                                     |
    |----------|----------------------------------|---------------------------------------------|
    | mean     | μ_n                              | of f_n                                      |
    | variance | σ²_n                             | of f_n                                      |
    | reached  | σ²_n, or σ²_n - κ_n              | variance of what sites act on           |
    | log_det  | log det prior - log det posterior| ≥ 0, summed over latent functions           |
    | gaussian |                                  | the posterior in the prior's own coordinates|
    """

    mean: Float[Array, "L N"]
    variance: Float[Array, "L N"]
    reached: Float[Array, "L N"]
    log_det: Float[Array, ""]
    gaussian: Any  # WhitenedGaussian, RowGaussian or SignedGaussian


class WhitenedGaussian(NamedTuple):
    """q(v) = N(mean, factorᵀ factor), with the log determinant of its covariance (their sum).

    shrink : factor of the variance that v does not explain, if it is not 1 (tight.py): one for all
        rows, K = 1, or one for each
    """

    mean: Float[Array, "L M"]
    factor: Float[Array, "L M M"]
    log_det: Float[Array, ""]
    shrink: Float[Array, "L K"] | None = None

    @property
    def shrinks_by_row(self) -> bool:
        """Whether each row has its own factor."""
        return self.shrink is not None and self.shrink.shape[1] > 1


class RowGaussian(NamedTuple):
    """The full posterior, by the factor R of B = I + √b K √b = R Rᵀ."""

    lower: Float[Array, "L N N"]  # R
    root: Float[Array, "L N"]  # √b
    whitened_linear: Float[Array, "L N"]  # R⁻¹ g / √b


class SignedGaussian(NamedTuple):
    """The full posterior of sites of any sign (signed_sites.py)."""

    projection: Float[Array, "L N N"]  # T
    mean: Float[Array, "L N"]  # m
    widening: Float[Array, "L N N"]  # F


class Running(NamedTuple):
    """The posterior during a sequential sweep: mean and covariance of v, or of f itself.

    For one latent function, like everything below.
    """

    mean: Array
    covariance: Array


class Direction(NamedTuple):
    """How f_n depends on the running posterior: f_n = aᵀv + ε."""

    column: Array  # covariance · a
    mean: Float[Array, ""]  # of aᵀv
    variance: Float[Array, ""]  # of aᵀv
    unexplained: Float[Array, ""]  # κ, the variance of ε


# The map from a common slope to the shift of each function's means.
CommonShift: TypeAlias = Callable[[Float[Array, " N"]], Float[Array, "L N"]]


def prior_sites(n_rows: int, dtype, n_latent: int = 1) -> Sites:
    """Sites of zero precision: q is the prior."""
    return Sites(np.zeros((n_latent, n_rows), dtype), np.zeros((n_latent, n_rows), dtype))


def divergence(belief: Belief, sites: Sites) -> Float[Array, ""]:
    """KL[q ‖ p] for the q that follows from `sites`.

    With Σ⁻¹ = K⁻¹ + diag b:  tr(K⁻¹Σ) = N - Σ_n b_n Σ_nn  and  K⁻¹μ = g - bμ.
    """
    b, g, mean = sites.precision, sites.linear, belief.mean
    return 0.5 * (belief.log_det - jnp.vdot(b, belief.reached) + jnp.vdot(mean, g - b * mean))


def log_partition(belief: Belief, sites: Sites) -> Float[Array, ""]:
    """Log ∫ p(f) Π_n exp(g_n f_n - ½ b_n f_n²) df."""
    return 0.5 * (jnp.vdot(sites.linear, belief.mean) - belief.log_det)
