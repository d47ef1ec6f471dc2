r"""Small dense matrices: Cholesky factors that cannot fail silently, and their derivative.

Where NumPy's Cholesky raises an error, JAX's returns NaN. `cholesky_with_ladder` checks for NaN,
increases the jitter until the factor is finite, and returns the jitter that it used. The caller
warns if the jitter grew, and raises an error if even the largest one failed.
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
_LARGEST_BLOCK = 128  # larger matrices are inverted in blocks of at most this size

# On a CPU JAX distributes a batch of triangular solves or of Cholesky factors over its threads, and
# one more thread waits for them: on two cores, two such batches at the same time can wait for each
# other forever, or for another device of the same CPU. Few large matrices are factorised in
# sequence there (`cholesky_of_each`). Where there are many small ones, callers hold this lock while
# the program runs. (It uses all cores: two at the same time would not be faster.) Within one
# program, see `after`.
one_batch_of_solves = threading.RLock()


def after(first: Float[Array, "*S"], then: Float[Array, "*S"]) -> Float[Array, "*S"]:
    """`then`, but computed after `first`, so that solves of `then` and `first` run in sequence.

    The compiler may not remove 0·x, since it is NaN where x is NaN.
    """
    return then + 0.0 * first


class Factor(NamedTuple):
    """K + jitter·scale·I = L Lᵀ, and the jitter that was needed."""

    lower: Float[Array, "*L M M"]
    inverse: Float[Array, "*L M M"]  # L⁻¹
    jitter: Float[Array, ""]  # relative to scale
    ok: Bool[Array, ""]


def cholesky_with_ladder(
    matrix: Float[Array, "*L M M"], scale: Float[Array, "*L"], jitter: Any
) -> Factor:
    """Factorise K + jitter·scale·I, with a ten times larger jitter after each failure.

    Of several matrices each has its scale, and all have the jitter that the worst one needs.

    The inverse factor is returned too. On a CPU a triangular solve with a wide right-hand side
    costs about five times as much as a matrix product: so invert M×M once, then only multiply.
    """
    lower, jitter = lower_with_ladder(matrix, scale, jitter)
    inverse = lower_inverse(lower)
    return Factor(lower, inverse, jitter, jnp.all(jnp.isfinite(inverse)))


def lower_with_ladder(
    matrix: Float[Array, "*L M M"], scale: Float[Array, "*L"], jitter: Any
) -> tuple[Float[Array, "*L M M"], Float[Array, ""]]:
    """The factor alone, NaN if even the largest jitter failed; and the jitter."""
    identity = jnp.eye(matrix.shape[-1], dtype=matrix.dtype)

    def failed(state):
        _, lower, rung = state
        return ~jnp.all(jnp.isfinite(lower)) & (rung <= LADDER_RUNGS)

    def climb(state):
        jitter, _, rung = state
        jitter = jnp.where(rung == 0, jitter, jitter * LADDER_STEP)
        shifted = matrix + jitter * scale[..., None, None] * identity
        return jitter, cholesky_of_each(shifted), rung + 1

    unknown = jnp.full_like(matrix, jnp.nan)
    jitter, lower, _ = lax.while_loop(failed, climb, (jitter, unknown, 0))
    return lower, jitter


def precision_factor(precision: Float[Array, "*L M M"]) -> tuple[Array, Array]:
    """(R⁻¹, log|P|) of P = R Rᵀ for P ≥ I: no jitter is ever needed, and P⁻¹ = R⁻ᵀ R⁻¹.

    Of several matrices: the inverse of each, and the sum of their logarithms.
    """
    lower = cholesky_of_each(precision)
    diagonal = jnp.diagonal(lower, axis1=-2, axis2=-1)
    return lower_inverse(lower), 2.0 * jnp.sum(jnp.log(diagonal))


def cholesky_of_each(matrices: Float[Array, "*L M M"]) -> Float[Array, "*L M M"]:
    """Cholesky factors; on a CPU in sequence, so that `one_batch_of_solves` is not needed."""
    if matrices.ndim > 2 and current_platform() == "cpu":
        return one_by_one(jnp.linalg.cholesky, matrices)
    return jnp.linalg.cholesky(matrices)


def times(
    matrices: Float[AnyArray, "*L M N"], vectors: Float[AnyArray, "*L N"]
) -> Float[Array, "*L M"]:
    """Each matrix times its vector."""
    return jnp.einsum("...ij,...j->...i", matrices, vectors)


def one_by_one(function: Callable[[Any], Any], tree: Any) -> Any:
    """Apply `function` to each entry along the first axis of all leaves, and stack the results.

    For operations that must not become a batch: solves (see `one_batch_of_solves`), and large
    arrays with a single entry, which then need no loop: on a CPU XLA computes a batch of one up to
    40 % slower.
    """
    if len(jax.tree.leaves(tree)[0]) > 1:
        return lax.map(function, tree)
    found = function(jax.tree.map(lambda leaf: leaf[0], tree))
    return jax.tree.map(lambda leaf: leaf[None], found)


def with_each(
    function: Callable[[Array, Any], Any], matrix: Float[Array, "*L N M"], tree: Any
) -> Any:
    """`function(matrix, entry)` for each entry, like `one_by_one`; each may have its own matrix."""
    if matrix.ndim == 2:
        return one_by_one(lambda entry: function(matrix, entry), tree)
    return one_by_one(lambda both: function(*both), (matrix, tree))


def rows_times(
    values: Float[AnyArray, "L N"], matrix: Float[AnyArray, "*L N M"]
) -> Float[Array, "L M"]:
    """Σ_n values_n matrix_n, for one shared matrix or one for each."""
    return values @ matrix if matrix.ndim == 2 else times(matrix.mT, values)


def sum_of_each(function: Callable[[Any], Array], tree: Any) -> Array:
    """The sum of the results of `one_by_one`."""
    if len(jax.tree.leaves(tree)[0]) > 1:
        first = jax.eval_shape(function, jax.tree.map(lambda leaf: leaf[0], tree))
        zero = jnp.zeros(first.shape, first.dtype)
        return lax.scan(lambda total, entry: (total + function(entry), None), zero, tree)[0]
    return function(jax.tree.map(lambda leaf: leaf[0], tree))


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
    """L⁻¹ of each block; on a CPU in sequence, so that `one_batch_of_solves` is not needed."""
    identity = jnp.eye(blocks.shape[1], dtype=blocks.dtype)
    if current_platform() == "cpu":
        return lax.map(lambda block: solve_triangular(block, identity, lower=True), blocks)
    return solve_triangular(blocks, jnp.broadcast_to(identity, blocks.shape), lower=True)


def _diagonal_blocks(matrices: Float[Array, "L M M"], count: int) -> Float[Array, "L C B B"]:
    size = matrices.shape[-1] // count
    blocks = jnp.diagonal(matrices.reshape(-1, count, size, count, size), axis1=1, axis2=3)
    return jnp.moveaxis(blocks, -1, 1)


def cholesky_pullback(
    inverse: Float[Array, "*L M M"], lower_t_cotangent: Float[Array, "*L M M"]
) -> Float[Array, "*L M M"]:
    """K̄ from Lᵀ L̄, where K = L Lᵀ and `inverse` is L⁻¹ (Murray 2016, eq. 8).

    K̄ = ½(X + Xᵀ) with X = L⁻ᵀ Φ(Lᵀ L̄) L⁻¹, Φ keeping the lower triangle and half the diagonal.
    """
    lower = jnp.tril(lower_t_cotangent)
    lower = lower - 0.5 * lower * jnp.eye(lower.shape[-1], dtype=lower.dtype)
    full = inverse.mT @ lower @ inverse
    return 0.5 * (full + full.mT)


def inverse_of_each(matrices: Float[Array, "C C N"]) -> Float[Array, "C C N"]:
    """The inverse of each of N small positive definite matrices, by sweeping one pivot at a time.

    All rows at once, without LAPACK and its batches (see `one_batch_of_solves`).
    """

    def sweep(k: Array, left: Array) -> Array:
        pivot, column = left[k, k], left[k]
        share = column / pivot
        swept = left - column[:, None] * share
        return swept.at[k].set(share).at[:, k].set(share).at[k, k].set(-1.0 / pivot)

    return -lax.fori_loop(0, len(matrices), sweep, matrices)
