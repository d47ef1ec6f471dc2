r"""The derivative of a prediction with respect to its prior, through the converged sites.

A change dK of the prior, and dm of its mean, changes the marginals by (symbols of neighbourhood.py)

    df  = P dK α + Σ p,                        p = dg - f db,
    dσ² = diag(P dK Pᵀ) - (Σ∘Σ) db,

and these change the sites, by their sensitivity (site_solution.py) with A = ∂a/∂μ + b:

    p  = A df + (∂a/∂σ²) dσ² + (A - b) dm,     db = (∂b/∂μ)(df + dm) + (∂b/∂σ²) dσ².

The prediction itself changes by, with v = P k,

    dmean = dm + αᵀdk + vᵀp - uᵀdK α,
    dvariance = dk(x, x) - 2uᵀdk + uᵀdK u - Σ_i v_i² db_i.

So its cotangents p̄, b̄ for the sites solve a linear system of 2K equations, with p̄₀ = v and
b̄₀ = -v² times the prediction's own,

    p̄ = p̄₀ + Σ f̄,            f̄ = A p̄ + (∂b/∂μ) b̄,
    b̄ = b̄₀ - (Σ∘Σ) σ̄²,       σ̄² = (∂a/∂σ²) p̄ + (∂b/∂σ²) b̄;

then K̄ is a matrix of low rank and Pᵀ diag(σ̄²) P. It is solved directly: an
iteration needs no factor, but may not converge if the kernel's variance is large. For Laplace,
where nothing depends on σ² and A = 0, there is nothing to solve and Σ is not needed.

A parameter of the likelihood changes the sites by da and db at fixed marginals, and so the
prediction by p̄ᵀda + b̄ᵀdb.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..numerics.linalg import times
from .neighbourhood import Covariances, LocalPrediction, shrunk
from .site_solution import Matrix, SiteSolution


class PriorCotangents(NamedTuple):
    """Gradient with respect to the prior, and with respect to the sites: p̄, b̄."""

    covariances: Covariances
    mean: Float[Array, ""]
    site_slope: Matrix
    site_precision: Matrix


def pulled_back(
    prior: Covariances,
    found: SiteSolution,
    prediction: LocalPrediction,
    mean_cotangent: Float[Array, " Q"],
    variance_cotangent: Float[Array, " Q"],
) -> PriorCotangents:
    """From the gradient with respect to each query's mean and variance to that of its prior."""
    d_mean, d_variance = mean_cotangent[:, None], variance_cotangent[:, None]
    slope, u = found.slope, prediction.reach
    v = prior.cross - times(prior.covariance, u)
    d_pull, d_precision = d_mean * v, -d_variance * jnp.square(v)
    through_variance = None
    if found.posterior_covariance is None:
        d_f = found.sensitivity.precision_to_mean * d_precision
    else:
        d_pull, d_precision = _settled_cotangents(found, d_pull, d_precision)
        d_f, d_marginal_variance = _row_cotangents(found, d_pull, d_precision)
        identity = jnp.eye(u.shape[1], dtype=u.dtype)
        P = identity - found.posterior_covariance * found.precision[:, None, :]
        through_variance = jnp.einsum("qki,qk,qkj->qij", P, d_marginal_variance, P)
    response = times(prior.covariance, d_f)
    lost = shrunk(found.factor, found.precision, response)  # Pᵀ f̄ = f̄ - lost, Σ f̄ = K Pᵀ f̄
    d_covariance = _outer(d_f - lost - d_mean * u, slope) + _outer(d_variance * u, u)
    if through_variance is None:
        d_pull = d_pull + response - times(prior.covariance, lost)
    else:
        d_covariance = d_covariance + through_variance
    s = found.sensitivity
    return PriorCotangents(
        Covariances(d_covariance, d_mean * slope - 2.0 * d_variance * u, variance_cotangent),
        jnp.sum(mean_cotangent)
        + jnp.sum(s.slope_to_mean * d_pull + s.precision_to_mean * d_precision),
        d_pull,
        d_precision,
    )


def _row_cotangents(
    found: SiteSolution, d_pull: Matrix, d_precision: Matrix
) -> tuple[Matrix, Matrix]:
    """Gradient with respect to f and σ² at the rows, from that with respect to the sites."""
    s = found.sensitivity
    d_f = (s.slope_to_mean + found.precision) * d_pull + s.precision_to_mean * d_precision
    return d_f, s.slope_to_variance * d_pull + s.precision_to_variance * d_precision


def _settled_cotangents(
    found: SiteSolution, direct_pull: Matrix, direct_precision: Matrix
) -> tuple[Matrix, Matrix]:
    """Gradient with respect to the sites, including their effect on each other."""
    assert found.posterior_covariance is not None
    covariance, s = found.posterior_covariance, found.sensitivity
    squared, identity = jnp.square(covariance), jnp.eye(covariance.shape[1], dtype=covariance.dtype)
    system = jnp.block(
        [
            [
                identity - covariance * (s.slope_to_mean + found.precision)[:, None, :],
                -covariance * s.precision_to_mean[:, None, :],
            ],
            [
                squared * s.slope_to_variance[:, None, :],
                identity + squared * s.precision_to_variance[:, None, :],
            ],
        ]
    )
    direct = jnp.concatenate([direct_pull, direct_precision], axis=1)
    both = jnp.linalg.solve(system, direct[..., None])[..., 0]
    d_pull, d_precision = jnp.split(both, 2, axis=1)
    return d_pull, d_precision


def _outer(a: Matrix, b: Matrix) -> Float[Array, "Q K K"]:
    return a[:, :, None] * b[:, None, :]
