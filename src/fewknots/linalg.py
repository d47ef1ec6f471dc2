r"""The small dense matrices: factors that cannot fail silently, and their derivative.

JAX's Cholesky returns NaN where NumPy's raises. `cholesky_with_ladder` looks, climbs a ladder
of jitters until the factor is finite, and says which rung it stood on; the caller turns that
into a warning, or into an error where the ladder ended.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Bool, Float

LADDER_STEP = 10.0
LADDER_RUNGS = 5


class Factor(NamedTuple):
    """K + jitter·scale·I = L Lᵀ, with what it took to get there."""

    lower: Float[Array, "M M"]
    inverse: Float[Array, "M M"]  # L⁻¹
    jitter: Float[Array, ""]  # relative to scale
    ok: Bool[Array, ""]


def cholesky_with_ladder(
    matrix: Float[Array, "M M"], scale: Float[Array, ""], jitter: Float[Array, ""]
) -> Factor:
    """Factorise K + jitter·scale·I, the jitter ten times larger after each failure.

    The inverse factor is returned because on a CPU a triangular solve against a wide right-hand
    side costs about five times a product: one M×M inverse, then only products.
    """
    identity = jnp.eye(matrix.shape[0], dtype=matrix.dtype)

    def failed(state):
        _, lower, rung = state
        return ~jnp.all(jnp.isfinite(lower)) & (rung <= LADDER_RUNGS)

    def climb(state):
        jitter, _, rung = state
        jitter = jnp.where(rung == 0, jitter, jitter * LADDER_STEP)
        return jitter, jnp.linalg.cholesky(matrix + jitter * scale * identity), rung + 1

    unknown = jnp.full_like(matrix, jnp.nan)
    jitter, lower, _ = lax.while_loop(failed, climb, (jitter, unknown, 0))
    inverse = solve_triangular(lower, identity, lower=True)
    return Factor(lower, inverse, jitter, jnp.all(jnp.isfinite(inverse)))


def precision_factor(precision: Float[Array, "M M"]) -> tuple[Array, Array]:
    """(R⁻¹, log|P|) of P = R Rᵀ for P ≥ I: no jitter is ever needed, and P⁻¹ = R⁻ᵀ R⁻¹."""
    lower = jnp.linalg.cholesky(precision)
    inverse = solve_triangular(lower, jnp.eye(lower.shape[0], dtype=lower.dtype), lower=True)
    return inverse, 2.0 * jnp.sum(jnp.log(jnp.diagonal(lower)))


def cholesky_pullback(
    inverse: Float[Array, "M M"], lower_t_cotangent: Float[Array, "M M"]
) -> Float[Array, "M M"]:
    """K̄ from Lᵀ L̄, where K = L Lᵀ and `inverse` is L⁻¹ (Murray 2016, eq. 8).

    K̄ = ½(X + Xᵀ) with X = L⁻ᵀ Φ(Lᵀ L̄) L⁻¹, Φ keeping the lower triangle and half the diagonal.
    """
    lower = jnp.tril(lower_t_cotangent)
    lower = lower - 0.5 * jnp.diag(jnp.diagonal(lower))
    full = inverse.T @ lower @ inverse
    return 0.5 * (full + full.T)
