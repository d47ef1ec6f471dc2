r"""KLSp: the sparse variational Gaussian of section 4, eq. (klsparse).

    log p(y) ≥ Σ_n w_n E_{q(f_n)}[log p(y_n|f_n)] - KL[q(u) ‖ p(u)]

in whitened coordinates (features.py): q(v) = N(m, S), v = L⁻¹u, so the marginals of q(f)
(eq. posterior_form) are

    μ_n = a_nᵀ m,    σ²_n = κ_n + a_nᵀ S a_n,    KL = ½(tr S + mᵀm - M - log|S|).

With α_n = E[(log p)'], β_n = -E[(log p)''] (the identities of section 4) the bound's
derivatives, for any q, are

    ∂/∂A = (wα) mᵀ - diag(wβ) A S,     ∂/∂κ = -½ wβ,
    ∂/∂m = Aᵀ(wα) - m,                 ∂/∂S = -½ Aᵀ diag(wβ) A - ½ I + ½ S⁻¹.

**Sites.** Setting the last two to zero, the best q has the form of N Gaussian sites, one per
row, with precision b_n = w_n β_n and linear term g_n = w_n (α_n + β_n μ_n):

    S⁻¹ = I + Aᵀ diag(b) A,     S⁻¹ m = Aᵀ g.

Two numbers a row hold q, and they keep their meaning when the kernel or Z moves: after a small
change of those, the old sites are an excellent start for the new q (solve.py).

| symbol | name here            | shape |                                    |
|--------|----------------------|-------|------------------------------------|
| A, κ   | features.*           | N×M, N|                                    |
| m      | q.mean               | M     |                                    |
| S      | Cᵀ C, q.factor = C   | M×M   | C = R⁻¹ for S⁻¹ = R Rᵀ, any C else |
| b, g   | sites.*              | N, N  |                                    |
| μ, σ²  | mean, variance       | N, N  | of q(f_n)                          |
| w      | weights              | N     | 0 for padded rows                  |

Cost of one look at all rows: two products of 2NM² flops, one M×M Cholesky, the quadrature.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..arrays import AnyArray
from ..likelihoods import Expectations, Likelihood
from ..linalg import precision_factor
from .features import FeatureCotangents, Features


class Rows(NamedTuple):
    """The data of one block of rows."""

    X: Float[AnyArray, "N D"]
    y: Float[AnyArray, " N"]
    weights: Float[AnyArray, " N"]


class WhitenedGaussian(NamedTuple):
    """q(v) = N(mean, factorᵀ factor), with the log determinant of its covariance."""

    mean: Float[Array, " M"]
    factor: Float[Array, "M M"]
    log_det: Float[Array, ""]


class Sites(NamedTuple):
    """N one-dimensional Gaussian factors exp(g_n f_n - ½ b_n f_n²)."""

    precision: Float[AnyArray, " N"]
    linear: Float[AnyArray, " N"]


class Look(NamedTuple):
    """q's mean at the rows and what the likelihood says there."""

    mean: Float[Array, " N"]
    expected: Expectations  # already multiplied by the weights


def prior_sites(n_rows: int, dtype) -> Sites:
    """Sites that say nothing: q is the prior."""
    return Sites(np.zeros(n_rows, dtype), np.zeros(n_rows, dtype))


def gaussian_from_sites(explained: Float[Array, "N M"], sites: Sites) -> WhitenedGaussian:
    """The q that the sites stand for."""
    identity = jnp.eye(explained.shape[1], dtype=explained.dtype)
    precision = identity + (explained * sites.precision[:, None]).T @ explained
    factor, log_det_precision = precision_factor(precision)
    mean = factor.T @ (factor @ (explained.T @ sites.linear))
    return WhitenedGaussian(mean, factor, -log_det_precision)


def look(features: Features, q: WhitenedGaussian, likelihood: Likelihood, rows: Rows) -> Look:
    """One visit to every row under q."""
    mean = features.explained @ q.mean
    spread = features.explained @ q.factor.T  # squared rows: a_nᵀ S a_n
    variance = features.unexplained + jnp.sum(jnp.square(spread), axis=1)
    expected = likelihood.expectations(jnp.asarray(rows.y), mean, variance)
    weighted = jax.tree.map(lambda per_row: rows.weights * per_row, expected)
    return Look(mean, weighted)


def divergence(q: WhitenedGaussian) -> Float[Array, ""]:
    """KL[q(v) ‖ N(0, I)]."""
    trace = jnp.sum(jnp.square(q.factor))
    return 0.5 * (trace + q.mean @ q.mean - q.mean.shape[0] - q.log_det)


def bound(q: WhitenedGaussian, seen: Look) -> Float[Array, ""]:
    """Eq. (klsparse)."""
    return jnp.sum(seen.expected.log_prob) - divergence(q)


def feature_cotangents(features: Features, q: WhitenedGaussian, seen: Look) -> FeatureCotangents:
    """The bound's derivatives for A and κ at fixed q(v)."""
    curvature = seen.expected.curvature
    through_S = features.explained @ (q.factor.T @ q.factor)  # A S
    return FeatureCotangents(
        seen.expected.slope[:, None] * q.mean - curvature[:, None] * through_S,
        -0.5 * curvature,
    )
