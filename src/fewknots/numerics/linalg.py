r"""The small dense matrices: factors that cannot fail silently, and their derivative.

JAX's Cholesky returns NaN where NumPy's raises. `cholesky_with_ladder` looks, climbs a ladder
of jitters until the factor is finite, and says which rung it stood on; the caller turns that
into a warning, or into an error where the ladder ended.
"""

import math
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Bool, Float

from .arrays import AnyArray
from .precision import current_platform

LADDER_STEP = 10.0
LADDER_RUNGS = 5
_LARGEST_BLOCK = 128  # that is inverted by a triangular solve

# On a CPU JAX spreads a batch of triangular solves over its threads and holds a thread while it
# waits for them: on two cores two such batches at a time wait for each other forever. Whoever runs
# a program with a batch of solves holds this until its results are there. (The program uses all
# cores: two of them at a time would not be done sooner.) Within a program, see `after`.
one_batch_of_solves = threading.RLock()


def after(first: Float[Array, "*S"], then: Float[Array, "*S"]) -> Float[Array, "*S"]:
    """`then`, but not known before `first` is: solves that follow do not run beside those before.

    The compiler must not drop 0·x, which is no number where x is none.
    """
    return then + 0.0 * first


class Factor(NamedTuple):
    """K + jitter·scale·I = L Lᵀ, with what it took to get there."""

    lower: Float[Array, "M M"]
    inverse: Float[Array, "M M"]  # L⁻¹
    jitter: Float[Array, ""]  # relative to scale
    ok: Bool[Array, ""]


def cholesky_with_ladder(
    matrix: Float[Array, "M M"], scale: Float[Array, ""], jitter: Any
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
    inverse = lower_inverse(lower)
    return Factor(lower, inverse, jitter, jnp.all(jnp.isfinite(inverse)))


def precision_factor(precision: Float[Array, "*L M M"]) -> tuple[Array, Array]:
    """(R⁻¹, log|P|) of P = R Rᵀ for P ≥ I: no jitter is ever needed, and P⁻¹ = R⁻ᵀ R⁻¹.

    Of several matrices: the inverse of each, and the sum of their logarithms.
    """
    lower = jnp.linalg.cholesky(precision)
    diagonal = jnp.diagonal(lower, axis1=-2, axis2=-1)
    return lower_inverse(lower), 2.0 * jnp.sum(jnp.log(diagonal))


def times(
    matrices: Float[AnyArray, "*L M N"], vectors: Float[AnyArray, "*L N"]
) -> Float[Array, "*L M"]:
    """Each matrix times its vector."""
    return jnp.einsum("...ij,...j->...i", matrices, vectors)


def one_by_one(function: Callable[[Any], Any], tree: Any) -> Any:
    """What `function` makes of each entry along the first axis of all leaves, stacked again.

    For what must not become a batch: solves (see `one_batch_of_solves`). One entry alone costs no
    loop.
    """
    if len(jax.tree.leaves(tree)[0]) > 1:
        return lax.map(function, tree)
    found = function(jax.tree.map(lambda leaf: leaf[0], tree))
    return jax.tree.map(lambda leaf: leaf[None], found)


def lower_inverse(lower: Float[Array, "*L M M"]) -> Float[Array, "*L M M"]:
    """L⁻¹ from products: blocks on the diagonal are inverted, then pairs of them joined by

        [[P, 0], [Q, R]]⁻¹ = [[P⁻¹, 0], [-R⁻¹ Q P⁻¹, R⁻¹]],

    twice as large each time. A CPU's triangular solve takes several times as long from M = 200.
    """
    size = lower.shape[-1]
    doublings = max(0, math.ceil(math.log2(size / _LARGEST_BLOCK)))
    count = 2**doublings
    block = -(-size // count)
    each = lower.reshape(-1, size, size)
    identity = jnp.eye(count * block, dtype=lower.dtype)
    padded = jnp.tile(identity, (len(each), 1, 1)).at[:, :size, :size].set(each)
    small = _diagonal_blocks(padded, count)
    inverses = _small_inverses(small.reshape(-1, block, block)).reshape(small.shape)
    for _ in range(doublings):
        count //= 2
        half = inverses.shape[-1]
        below = _diagonal_blocks(padded, count)[..., half:, :half]
        first, second = inverses[:, 0::2], inverses[:, 1::2]
        joined = -second @ (below @ first)
        inverses = jnp.block([[first, jnp.zeros_like(joined)], [joined, second]])
    return inverses[:, 0, :size, :size].reshape(lower.shape)


def _small_inverses(blocks: Float[Array, "C B B"]) -> Float[Array, "C B B"]:
    """L⁻¹ of each.

    On a CPU one after the other, so that no lock is needed (`one_batch_of_solves` tells why).
    """
    identity = jnp.eye(blocks.shape[1], dtype=blocks.dtype)
    if current_platform() == "cpu":
        return lax.map(lambda block: solve_triangular(block, identity, lower=True), blocks)
    return solve_triangular(blocks, jnp.broadcast_to(identity, blocks.shape), lower=True)


def _diagonal_blocks(matrices: Float[Array, "L M M"], count: int) -> Float[Array, "L C B B"]:
    size = matrices.shape[-1] // count
    blocks = jnp.diagonal(matrices.reshape(-1, count, size, count, size), axis1=1, axis2=3)
    return jnp.moveaxis(blocks, -1, 1)


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
