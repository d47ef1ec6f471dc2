r"""Several classes in every neighbourhood: Laplace's approximation with coupled classes.

Rasmussen & Williams, section 3.5, for many small problems at once. Every class c has a function
f_c with the prior N(m_c, K). At the mode α_c = K⁻¹(f̂_c - m_c) = [y = c] - π_c, π = softmax(f̂).
The curvature of -log p in a row, W = diag π - ππᵀ, couples the classes. R&W's algorithm 3.3
factorises one matrix for each class; conjugate gradients only need products with K:

    W = S Sᵀ,    S = diag(√π) (I - ssᵀ),    s = √π,    (I + WK)⁻¹ = I - S (I + SᵀKS)⁻¹ SᵀK.

**Few classes.** With many classes, a neighbourhood has rows of only a few, and the others differ
only in m_c. So there are P slots: one for each of the P - 1 classes with the most neighbours, and
the last for the n others together, which share one function. If P = C every class has its own
slot; otherwise the mode is exact if the others have no neighbour and the same m_c, and their
variances are close. n equal functions u act as one, û = √n u, with the same prior; with π the
probability of the whole slot, S = diag(√(π/n)) (I - ssᵀ).

**At the query.** f ~ N(μ, Σ) with μ_c = m_c + kᵀα_c and Σ = k(x, x) I - Q, where

    Q_cd = (k ⊗ e_c)ᵀ r_d,    r_d = (W⁻¹ + K)⁻¹ (k ⊗ e_d) = S (I + SᵀKS)⁻¹ Sᵀ (k ⊗ e_d).

The softmax depends only on differences of functions, so (a_i + a_j) may be added to any Σ_ij. The
a that minimises Σ_{i≠j} (Q_ij + a_i + a_j)² gives independent or nearly independent functions
(exactly so up to C = 3). Since Q 1 = 0, it needs only Q's diagonal: with A = Σ_i Q_ii / (2C - 2)
their variances are

    k(x, x) - Q_ii - 2 (Q_ii - A)/(C - 2),    k(x, x) - 2Q_ii if C = 2.

**Derivatives.** With v_c = (k ⊗ e_c) - K r_c, and λ the derivative with respect to m + Kα,

    dQ_cc = 2 r_ccᵀ dk - r_cᵀ dK r_c + v_cᵀ dW v_c,      λ = (I + WK)⁻¹ (f̄ - W(k ⊗ μ̄)),

where f̄ is the derivative through W; K̄ is λαᵀ plus the terms of dQ.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.nn import log_softmax, one_hot
from jaxtyping import Array, Float, Int

from .laplace import climb
from .neighbourhood import Covariances, Labelled

_ACCURACY = 1e-3, 1e-8  # tolerance of conjugate gradients, in float32 and float64
_MOST_CONJUGATE_STEPS = 200
_SERVED = 0.99  # share of neighbourhoods with a slot for each of their classes

PerSlot = Float[Array, "Q P"]
Functions = Float[Array, "Q P K"]  # a number for each slot and neighbour
Columns = Float[Array, "Q R P K"]  # several right-hand sides


class Root(NamedTuple):
    """S in every row: diag(scale) (I - unit unitᵀ)."""

    scale: Float[Array, "Q 1 P K"]
    unit: Float[Array, "Q 1 P K"]

    def times(self, columns: Columns) -> Columns:
        """S times each column."""
        return self.scale * self._off_unit(columns)

    def transposed_times(self, columns: Columns) -> Columns:
        """Sᵀ times each column."""
        return self._off_unit(self.scale * columns)

    def _off_unit(self, columns: Columns) -> Columns:
        # explicit sum over the few slots: ten times faster on a CPU than over a short axis
        n_slots = self.unit.shape[2]
        along = sum(self.unit[:, :, p] * columns[:, :, p] for p in range(n_slots))
        return columns - self.unit * jnp.expand_dims(jnp.asarray(along), 2)


class Slots(NamedTuple):
    """The assignment of classes to slots."""

    of_class: Int[Array, "Q C"]
    label: Functions  # 1 at the slot of the neighbour's own class
    sizes: np.ndarray  # the number of classes in each slot, (P,)

    @property
    def width(self) -> np.ndarray:
        """√n of each slot, (P, 1)."""
        return np.sqrt(self.sizes).astype(self.label.dtype)[:, None]

    def each(self, values: PerSlot) -> Float[Array, "C Q"]:
        """For every class the value of its slot."""
        return jnp.take_along_axis(values, self.of_class, axis=1).T

    def means(self, mean: Float[Array, " C"]) -> PerSlot:
        """The mean of each slot; for classes that share one, the logarithm of the mean of exp
        m_c.
        """
        top = lax.stop_gradient(jnp.max(mean))
        total = jnp.zeros((len(self.of_class), len(self.sizes)), mean.dtype)
        total = total.at[jnp.arange(len(total))[:, None], self.of_class].add(jnp.exp(mean - top))
        return top + jnp.log(total / self.sizes.astype(mean.dtype))

    def log_shares(self, means: PerSlot, centred: Functions) -> Functions:
        """The log probability of each slot in every row."""
        members = np.log(self.sizes).astype(self.label.dtype)
        return log_softmax((means + members)[:, :, None] + centred / self.width, axis=1)

    def root(self, log_share: Functions, weights: Float[Array, "Q 1 K"]) -> Root:
        """S of every row, times the square root of its weight."""
        unit = jnp.exp(0.5 * log_share)
        return Root((jnp.sqrt(weights) * unit / self.width)[:, None], unit[:, None])


def slots(labels: Labelled, n_classes: int, n_slots: int) -> Slots:
    """Give a slot to each of the classes with the most neighbours, or to all classes if there are
    enough.
    """
    codes, sizes = labels.y.astype(jnp.int32), np.ones(n_slots)
    if n_slots == n_classes:
        of_class = jnp.broadcast_to(jnp.arange(n_classes), (len(codes), n_classes))
    else:
        sizes[-1] = n_classes - n_slots + 1
        queries = jnp.arange(len(codes))[:, None]
        held = jnp.zeros((len(codes), n_classes), jnp.int32)
        _, own = lax.top_k(held.at[queries, codes].add(labels.weights > 0), n_slots - 1)
        of_class = jnp.full(held.shape, n_slots - 1)
        of_class = of_class.at[queries, own].set(jnp.arange(n_slots - 1))
    own_slot = jnp.take_along_axis(of_class, codes, axis=1)
    label = one_hot(own_slot, n_slots, dtype=labels.y.dtype, axis=1)
    return Slots(of_class, label, sizes)


def slots_for(codes: Int[np.ndarray, "Q K"], n_classes: int) -> int:
    """How many slots are enough for all classes of nearly every one of these neighbourhoods."""
    ordered = np.sort(codes, axis=1)
    held = 1 + np.count_nonzero(np.diff(ordered, axis=1), axis=1)
    return min(n_classes, 1 + int(np.quantile(held, _SERVED, method="higher")))


class Solution(NamedTuple):
    """The mode of every neighbourhood, and its effect on the query."""

    slots: Slots
    slope: Functions  # α
    centred: Functions  # Kα
    root: Root
    reach: Columns  # r
    mean: PerSlot  # kᵀα
    explained: PerSlot  # Q's diagonal


def solve(
    prior: Covariances, labels: Labelled, mean: Float[Array, " C"], n_slots: int, tolerance: float
) -> Solution:
    """Newton's method for the mode, then the query."""
    K, kinds = prior.covariance, slots(labels, len(mean), n_slots)
    weights, means = labels.weights[:, None], kinds.means(mean)

    def seen(slope: Functions, centred: Functions) -> tuple[Float[Array, " Q"], Functions]:
        log_share = kinds.log_shares(means, centred)
        log_prob = jnp.sum(weights * kinds.label * log_share, axis=(1, 2))
        return log_prob - 0.5 * jnp.sum(slope * centred, axis=(1, 2)), log_share

    def newton(log_share: Functions, slope: Functions, centred: Functions) -> Functions:
        missing = weights * (kinds.label - jnp.exp(log_share)) / kinds.width - slope
        return _uncoupled(K, kinds.root(log_share, weights), missing[:, None])[:, 0]

    slope, centred = climb(K, seen, newton, jnp.zeros_like(kinds.label), tolerance)
    root = kinds.root(seen(slope, centred)[1], weights)
    right = root.transposed_times(_at_query(prior, n_slots))
    reach = root.times(_conjugate_gradients(K, root, right))
    return Solution(
        kinds,
        slope,
        centred,
        root,
        reach,
        jnp.einsum("qk,qpk->qp", prior.cross, slope),
        jnp.einsum("qk,qppk->qp", prior.cross, reach),
    )


def latent(
    kinds: Slots, own: Float[Array, " Q"], mean: Float[Array, " C"], slope: PerSlot, known: PerSlot
) -> tuple[Float[Array, "C Q"], Float[Array, "C Q"]]:
    """Mean and variance of every class's function at the queries, from `Solution`'s last two."""
    n_classes, sizes = len(mean), kinds.sizes.astype(own.dtype)
    if n_classes == 2:
        shift = known
    else:
        total = jnp.sum(sizes * known, axis=1, keepdims=True) / (2.0 * n_classes - 2.0)
        shift = 2.0 * (known - total) / (n_classes - 2.0)
    # The variance of the nearest independent functions may be slightly negative.
    variance = jnp.maximum(own[:, None] - known - shift, 0.0)
    return mean[:, None] + kinds.each(slope / kinds.width[:, 0]), kinds.each(variance)


def pulled_back(
    prior: Covariances,
    labels: Labelled,
    mean: Float[Array, " C"],
    found: Solution,
    mean_cotangent: Float[Array, "C Q"],
    variance_cotangent: Float[Array, "C Q"],
) -> tuple[Covariances, Float[Array, " C"]]:
    """From the gradient with respect to each query's functions to that of its prior and the means
    m_c.
    """
    K, kinds, (_, n_slots, _) = prior.covariance, found.slots, found.slope.shape
    _, of_query = jax.vjp(
        lambda *parts: latent(kinds, *parts), prior.own, mean, found.mean, found.explained
    )
    d_own, d_mean, d_slope, d_known = of_query((mean_cotangent, variance_cotangent))
    means, of_means = jax.vjp(kinds.means, mean)
    v = _at_query(prior, n_slots) - _product(K, found.reach)

    def through_curvature(centred: Functions) -> Float[Array, ""]:
        root = kinds.root(kinds.log_shares(means, centred), labels.weights[:, None])
        return jnp.sum(d_known[:, :, None, None] * jnp.square(root.transposed_times(v)))

    d_f = _uncoupled(K, found.root, jax.grad(through_curvature)(found.centred)[:, None])
    d_f = d_f[:, 0] - jnp.einsum("qr,qrpk->qpk", d_slope, found.reach)
    d_covariance = jnp.einsum("qpi,qpj->qij", d_f, found.slope) - jnp.einsum(
        "qr,qrpi,qrpj->qij", d_known, found.reach, found.reach
    )
    d_cross = jnp.einsum("qp,qpk->qk", d_slope, found.slope)
    d_cross = d_cross + 2.0 * jnp.einsum("qp,qppk->qk", d_known, found.reach)
    (through_mode,) = of_means(kinds.width[:, 0] * jnp.sum(d_f, axis=2))
    return Covariances(d_covariance, d_cross, d_own), d_mean + through_mode


def _at_query(prior: Covariances, n_slots: int) -> Columns:
    """The vectors k ⊗ e_c, a column for each slot."""
    identity = jnp.eye(n_slots, dtype=prior.cross.dtype)
    return identity[:, :, None] * prior.cross[:, None, None]


def _product(K: Float[Array, "Q K K"], columns: Any) -> Any:
    """K times every column."""
    flat = columns.reshape(len(K), -1, K.shape[-1])
    return jnp.matmul(flat, K).reshape(columns.shape)


def _uncoupled(K: Float[Array, "Q K K"], root: Root, right: Columns) -> Columns:
    """(I + WK)⁻¹ times the columns."""
    response = root.transposed_times(_product(K, right))
    return right - root.times(_conjugate_gradients(K, root, response))


def _conjugate_gradients(K: Float[Array, "Q K K"], root: Root, right: Columns) -> Columns:
    """(I + SᵀKS)⁻¹ times the columns: until all are accurate."""
    tiny = float(jnp.finfo(K.dtype).tiny)
    accuracy = _ACCURACY[K.dtype == jnp.float64]

    def dot(a: Columns, b: Columns) -> Float[Array, "Q R 1 1"]:
        return jnp.sum(a * b, axis=(2, 3), keepdims=True)

    enough = accuracy**2 * dot(right, right)

    def unfinished(state):
        *_, size, steps = state
        return jnp.any(size > enough) & (steps < _MOST_CONJUGATE_STEPS)

    def advance(state):
        z, residual, direction, size, steps = state
        image = direction + root.transposed_times(_product(K, root.times(direction)))
        length = size / jnp.maximum(dot(direction, image), tiny)
        residual = residual - length * image
        new_size = dot(residual, residual)
        onward = residual + new_size / jnp.maximum(size, tiny) * direction
        return z + length * direction, residual, onward, new_size, steps + 1

    start = (jnp.zeros_like(right), right, right, dot(right, right), jnp.asarray(0))
    return lax.while_loop(unfinished, advance, start)[0]
