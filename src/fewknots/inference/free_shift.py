r"""A prior for likelihoods that depend only on differences of functions: the softmax, all classes
at once.

With π = softmax(f), a row of weight w couples its classes (Rasmussen & Williams, eq. 3.38):

    W = -∇∇ w log p(y|f) = D - D 1 (1ᵀ D 1)⁻¹ 1ᵀ D,      D = w diag(π).

This is the result of integrating out a shift u, the same for all functions of the row and with a
flat prior, from independent sites with precisions D. And with such a shift a softmax is a product:

    log p(y|f) = max_u Σ_c ([y = c] g_c - e^{g_c}) + 1,      g_c = f_c - u,

where e^{g_c} = π_c. So g has one site for each class and row, as in every other method, and only
the prior differs. The rest is algorithm 3.3 of Rasmussen & Williams, with the same sums over
classes:

    E_c = (K + D_c⁻¹)⁻¹ = T_cᵀ T_c,   T_c = R_c⁻¹ √D_c,   R_c R_cᵀ = I + √D_c K √D_c
    (Σ_c E_c)⁻¹ = Uᵀ U                                                  the covariance of u
    α_c = K⁻¹ f_c = T_cᵀ v_c,   v_c = R_c⁻¹ D_c^{-½} b_c - T_c Uᵀ U Σ_j T_jᵀ R_j⁻¹ D_j^{-½} b_j
    log|I + K W| = Σ_c log|R_c R_cᵀ| + log|Σ_c E_c| - Σ_n log Σ_c D_cn
    cov(f_c, f_j) = [c = j] (K - K E_c K) + K E_c Uᵀ U E_j K                                 (3.47)

for sites exp(b g - ½ D g²). The shift makes Σ_c α_c zero. For U both
sides of Σ E are divided by the square roots of Σ_c D_c; then it is as well conditioned as R_c R_cᵀ.

| symbol  | name here           | shape |
|---------|---------------------|-------|
| D, b    | sites               | C×N   |
| T       | gaussian.projection | C×N×N |
| v       | gaussian.mean       | C×N   |
| U       | gaussian.shift      | N×N   |
| U E_c   | through_shift       | C×N×N |

Cost: O(C N³).
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..kernels import Kernel
from ..numerics.linalg import one_by_one, precision_factor, sum_of_each, times
from ..posterior import CoupledPosterior
from .sites import Belief, Rows, Sites


class ShiftedGaussian(NamedTuple):
    """The posterior of all functions, in the coordinates of `CoupledPosterior`."""

    projection: Float[Array, "C N N"]  # T
    mean: Float[Array, "C N"]  # v
    shift: Float[Array, "N N"]  # U

    def posterior(self, kernel: Kernel, rows: Rows) -> CoupledPosterior:
        """The posterior without padded rows."""
        real = np.flatnonzero(rows.weights)
        T, v, U = map(np.asarray, self)
        block = real[:, None], real
        return CoupledPosterior(
            kernel, np.asarray(rows.X)[real], T[:, *block], v[:, real], U[block]
        )


class FreeShiftPrior(NamedTuple):
    """f_c ~ N(0, K) for each c; the belief is about g = f - u."""

    covariance: Float[Array, "N N"]

    def belief(self, sites: Sites) -> Belief:
        """The mean of g. Its variances are not needed in steps; see `spread`."""
        K, root = self.covariance, jnp.sqrt(sites.precision)
        identity = jnp.eye(len(K), dtype=K.dtype)
        inverse, log_det = precision_factor(identity + root[..., None] * K * root[:, None])
        T = inverse * root[:, None]
        per_root, empty = _per_root(jnp.sum(sites.precision, axis=0))
        pooled = sum_of_each(lambda T: T.T @ T, T)
        inverse_shift, log_det_shift = precision_factor(
            per_root[:, None] * pooled * per_root + jnp.diag(empty.astype(K.dtype))
        )
        U = inverse_shift * per_root
        alone = times(inverse, _per_root(sites.precision)[0] * sites.linear)
        u = -(U.T @ (U @ jnp.sum(times(T.mT, alone), axis=0)))
        v = alone + T @ u
        unknown = jnp.full_like(v, jnp.nan)
        gaussian = ShiftedGaussian(T, v, U)
        mean = times(T.mT, v) @ K - u
        return Belief(mean, unknown, unknown, log_det + log_det_shift, gaussian)

    def common_shift(self) -> None:
        """Not needed: all functions share K."""

    def response(self, belief: Belief, change: Float[Array, "C N"]) -> Float[Array, "C N"]:
        """Zero: at a mode the curvature does not depend on the variance."""
        return jnp.zeros_like(change)

    def spread(
        self, belief: Belief, sites: Sites
    ) -> tuple[Float[Array, "C N"], Float[Array, "N N"]]:
        """Variances of f_c - Σ_j D_j f_j / Σ_j D_j, and ½ R, the gradient with respect to K
        (priors.py).
        """
        K, (T, v, U) = self.covariance, belief.gaussian
        per_root, _ = _per_root(jnp.sum(sites.precision, axis=0))

        def of_one(T):
            reached, through_shift = T @ K, (U @ T.T) @ T
            left = U - through_shift @ K
            variance = jnp.sum(jnp.square(left), axis=0) - jnp.sum(jnp.square(reached), axis=0)
            return variance, through_shift

        variance, through_shift = one_by_one(of_one, T)
        slope, n_rows = times(T.mT, v), len(K)
        T, through_shift = T.reshape(-1, n_rows), through_shift.reshape(-1, n_rows)
        R = slope.T @ slope - T.T @ T + through_shift.T @ through_shift
        return jnp.diagonal(K) + variance - jnp.square(per_root), 0.5 * R

    def covariance_times(self, belief: Belief, vector: Float[Array, "C N"]) -> Float[Array, "C N"]:
        """The posterior covariance of g times a vector whose sum over c is zero."""
        K, (T, _, U) = self.covariance, belief.gaussian

        def through(x: Array) -> Array:
            return times(T.mT, times(T, x))  # E x

        left = vector - through(vector @ K)
        pooled = U.T @ (U @ jnp.sum(left, axis=0))
        return (left - through(jnp.broadcast_to(pooled, left.shape))) @ K + pooled

    def gradient_for_f(self, change: Float[Array, "C N"], sites: Sites) -> Float[Array, "C N"]:
        """Gradient with respect to f from that with respect to g: df_c moves the shift by D_c /
        Σ_j D_j.
        """
        per_root, _ = _per_root(jnp.sum(sites.precision, axis=0))
        return change - sites.precision * jnp.square(per_root) * jnp.sum(change, axis=0)


def _per_root(precision: Float[Array, "*C N"]) -> tuple[Array, Array]:
    """1/√b, or 0 if b is 0 (rows of weight 0), and where b is 0."""
    empty = precision <= 0
    return jnp.where(empty, 0.0, 1.0 / jnp.sqrt(jnp.where(empty, 1.0, precision))), empty
