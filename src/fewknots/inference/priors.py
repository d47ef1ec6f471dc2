r"""Three priors for the rows' function values; each computes the posterior for given sites.

| prior  | f at the rows                         | a pass costs | used by                   |
|--------|---------------------------------------|--------------|---------------------------|
| full   | N(0, K)                               | O(N³)        | full KL, EP, Laplace, IVM |
| FITC   | N(0, A Aᵀ + diag κ)                   | O(NM²)       | Generalized FITC          |
| sparse | A v + ε; the sites act on A v alone   | O(NM²)       | sparse KL, two-stage      |

A, κ are the features of features.py, v ~ N(0, I). FITC and sparse differ in one point only: in
FITC the noise ε_n ~ N(0, κ_n) is part of the model and learns from the site, so the site acts on v
with the precision b/(1 + bκ); in the variational method ε_n keeps its prior.

For the gradient all three need two quantities at a row: the slope α = g - bμ, which is
K⁻¹μ, and for full and FITC the matrix (K + diag b⁻¹)⁻¹. With R = α αᵀ - (K + diag b⁻¹)⁻¹

    d log_partition = ½ tr(R dK)    at fixed sites,                                     (R)

and the same R is the derivative of the KL bound at fixed q. Several latent functions have the same
prior: beliefs have a first axis for them, derivatives are sums over them.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float, Int

from ..kernels import Kernel
from ..numerics.arrays import AnyArray
from ..numerics.elementary import not_below_zero
from ..numerics.linalg import (
    cholesky_of_each,
    lower_inverse,
    one_by_one,
    precision_factor,
    rows_times,
    times,
    with_each,
)
from .features import FeatureCotangents, Features
from .sites import Belief, CommonShift, Direction, RowGaussian, Running, Sites, WhitenedGaussian

_NUGGET = 1e-6  # jitter relative to the variance, if an inverse only affects a step's direction
Pullback = Callable[[Float[Array, "N N"]], Kernel]


def gaussian_from_sites(explained: Float[Array, "*L N M"], sites: Sites) -> WhitenedGaussian:
    """q(v) with S⁻¹ = I + Aᵀ diag(b) A and S⁻¹ m = Aᵀ g."""
    identity = jnp.eye(explained.shape[-1], dtype=explained.dtype)
    factor, log_det = precision_factor(identity + information(explained, sites.precision))
    mean = times(factor.mT, times(factor, rows_times(sites.linear, explained)))
    return WhitenedGaussian(mean, factor, -log_det)


def information(
    explained: Float[Array, "*L N M"], precision: Float[Array, "L N"]
) -> Float[Array, "L M M"]:
    """Aᵀ diag(b) A."""
    return with_each(lambda A, b: (A * b[:, None]).T @ A, explained, jnp.asarray(precision))


class SparsePrior(NamedTuple):
    """v ~ N(0, I) explains f up to a part that keeps its prior."""

    features: Features

    def belief(self, sites: Sites) -> Belief:
        """μ = A m, σ² = κ + diag(A S Aᵀ)."""
        q = gaussian_from_sites(self.features.explained, sites)
        mean, reached = explained_marginals(self.features.explained, q)
        return Belief(mean, self.features.unexplained + reached, reached, -q.log_det, q)

    def common_shift(self) -> CommonShift | None:
        """The map from a common slope s̄ to the shift of the functions' means.

        A change t of all f_c(Z) changes the rows' terms little or not at all; the divergence is
        least for

            t = (Σ_c K_c⁻¹)⁻¹ Σ_c K_c⁻¹ (effect of s̄ on f_c(Z)),    K_c⁻¹ = L_c⁻ᵀ L_c⁻¹.  (common)
        """
        if self.features.explained.ndim == 2:
            return None
        A, whitener = self.features.explained, self.features.whitener
        factor, _ = precision_factor(jnp.sum(whitener.mT @ whitener, axis=0))

        def shift(slope: Float[Array, " N"]) -> Float[Array, "L N"]:
            of_points = jnp.sum(times(whitener.mT, slope @ A), axis=0)
            t = factor.T @ (factor @ of_points)
            return times(A, whitener @ t)

        return shift

    def response(self, belief: Belief, change: Float[Array, "L N"]) -> Float[Array, "L N"]:
        """Σ_m (A S Aᵀ)²_nm change_m, as a_nᵀ (S Aᵀ diag(change) A S) a_n."""

        def one_function(A, held):
            factor, change = held
            S = factor.T @ factor
            middle = S @ ((A * change[:, None]).T @ A) @ S
            return jnp.sum((A @ middle) * A, axis=1)

        return with_each(one_function, self.features.explained, (belief.gaussian.factor, change))


class FitcPrior(NamedTuple):
    """f_n = a_nᵀ v + ε_n, the ε_n ~ N(0, κ_n) independent of each other."""

    features: Features

    def belief(self, sites: Sites) -> Belief:
        """Integrate out each ε_n, solve for v, and update ε_n with its site."""
        A, kappa = self.features.explained, self.features.unexplained
        b, g = sites.precision, sites.linear
        passed = 1.0 / (1.0 + b * kappa)  # the precision with which a site acts on v
        q = gaussian_from_sites(A, Sites(b * passed, g * passed))
        v_mean, v_variance = explained_marginals(A, q)
        mean = passed * (v_mean + kappa * g)
        variance = passed * (kappa + passed * v_variance)
        log_det = jnp.sum(jnp.log1p(b * kappa)) - q.log_det
        return Belief(mean, variance, variance, log_det, q)

    def start_sweep(self, belief: Belief) -> Running:
        """The posterior of v, as mean and covariance."""
        q = belief.gaussian
        return Running(q.mean[0], (q.factor.mT @ q.factor)[0])

    def direction(self, running: Running, n: Int[Array, ""]) -> Direction:
        """Row n depends on v through a_n."""
        a = self.features.explained[n]
        column = running.covariance @ a
        return Direction(column, a @ running.mean, a @ column, self.features.unexplained[n])

    def cotangents(self, belief: Belief, sites: Sites) -> FeatureCotangents:
        """(R) for A and κ: R A = α mᵀ - diag(b̃) A S, and ½ diag R, with b̃ = b/(1 + bκ)."""
        A, q = self.features.explained, belief.gaussian
        shared = sites.precision / (1.0 + sites.precision * self.features.unexplained)
        slope = sites.linear - sites.precision * belief.mean
        through_S = A @ (q.factor.mT @ q.factor)
        own = shared * (1.0 - shared * jnp.sum(through_S * A, axis=-1))
        return FeatureCotangents(
            slope.T @ q.mean - jnp.sum(shared[:, :, None] * through_S, axis=0),
            0.5 * jnp.sum(jnp.square(slope) - own, axis=0),
        )


class FullPrior(NamedTuple):
    """f ~ N(0, K). K itself is never factorised, so it may be singular: no jitter.

    With B = I + √b K √b = R Rᵀ:  Σ = K - VᵀV, V = R⁻¹ √b K,  μ = K √b B⁻¹ (g / √b).

    Each latent function may have a K of its own.
    """

    covariance: Float[Array, "*L N N"]

    @classmethod
    def over(cls, kernel: Kernel, X: Float[AnyArray, "N D"]) -> "tuple[FullPrior, Pullback]":
        """The prior at rows X, and the map from the gradient with respect to K to that of the
        kernel.
        """
        covariance, pullback = jax.vjp(lambda kernel: kernel(X, X), kernel)
        return cls(covariance), lambda cotangent: pullback(cotangent)[0]

    def belief(self, sites: Sites) -> Belief:
        mean, variance, log_det, gaussian = with_each(self._of_one, self.covariance, sites)
        return Belief(mean, variance, variance, jnp.sum(log_det), gaussian)

    @staticmethod
    def _of_one(K: Float[Array, "N N"], sites: Sites) -> tuple[Array, Array, Array, RowGaussian]:
        """Mean, variance, log|B| and factor for one latent function."""
        root = jnp.sqrt(sites.precision)
        # A site of zero precision has no linear term either; if it may have one: signed_sites.py.
        per_root = jnp.where(root > 0, sites.linear / jnp.where(root > 0, root, 1.0), 0.0)
        identity = jnp.eye(K.shape[0], dtype=K.dtype)
        lower = jnp.linalg.cholesky(identity + root[:, None] * K * root)
        both = jnp.concatenate([root[:, None] * K, per_root[:, None]], axis=1)
        solved = solve_triangular(lower, both, lower=True)
        V, whitened = solved[:, :-1], solved[:, -1]
        # Positive in exact arithmetic; rounding can make it negative where f is well known.
        variance = not_below_zero(jnp.diagonal(K) - jnp.sum(jnp.square(V), axis=0))
        log_det = 2.0 * jnp.sum(jnp.log(jnp.diagonal(lower)))
        return V.T @ whitened, variance, log_det, RowGaussian(lower, root, whitened)

    def common_shift(self) -> CommonShift | None:
        """(common) with the rows as points: L (Σ_c K_c⁻¹)⁻¹ s̄, the same for all."""
        if self.covariance.ndim == 2:
            return None
        K = self.covariance
        scale = _NUGGET * jnp.max(jnp.diagonal(K, axis1=1, axis2=2), axis=1)
        identity = jnp.eye(K.shape[-1], dtype=K.dtype)
        inverse = lower_inverse(cholesky_of_each(K + scale[:, None, None] * identity))
        factor, _ = precision_factor(jnp.sum(inverse.mT @ inverse, axis=0))

        def shift(slope: Float[Array, " N"]) -> Float[Array, "L N"]:
            common = len(K) * (factor.T @ (factor @ slope))
            return jnp.broadcast_to(common, K.shape[:2])

        return shift

    def response(self, belief: Belief, change: Float[Array, "L N"]) -> Float[Array, "L N"]:
        """Σ_m Σ²_nm change_m."""
        return times(jnp.square(self.posterior_covariance(belief)), change)

    def posterior_covariance(self, belief: Belief) -> Float[Array, "L N N"]:
        """Σ = K - VᵀV."""
        V = projection(belief.gaussian) @ self.covariance
        return self.covariance - V.mT @ V

    def spread(
        self, belief: Belief, sites: Sites
    ) -> tuple[Float[Array, "L N"], Float[Array, "N N"]]:
        """Variances at the rows and the gradient with respect to K."""
        return belief.variance, self.cotangent(belief, sites)

    def covariance_times(self, belief: Belief, vector: Float[Array, "L N"]) -> Float[Array, "L N"]:
        """Σ times the vector."""
        return times(self.posterior_covariance(belief), vector)

    def gradient_for_f(self, change: Float[Array, "L N"], sites: Sites) -> Float[Array, "L N"]:
        """Gradient with respect to f from that with respect to the values the sites act on: here
        the same.
        """
        return change

    def start_sweep(self, belief: Belief) -> Running:
        """The posterior of f, as mean and covariance."""
        return Running(belief.mean[0], self.posterior_covariance(belief)[0])

    def direction(self, running: Running, n: Int[Array, ""]) -> Direction:
        """Row n depends on f_n itself."""
        column = running.covariance[:, n]
        return Direction(column, running.mean[n], column[n], jnp.zeros_like(column[n]))

    def cotangent(self, belief: Belief, sites: Sites) -> Float[Array, "*L N N"]:
        """½ R of (R): the gradient with respect to K, or each K."""
        slope = sites.linear - sites.precision * belief.mean
        if self.covariance.ndim > 2:
            T = projection(belief.gaussian)
            return 0.5 * (slope[:, :, None] * slope[:, None, :] - T.mT @ T)
        T = projection(belief.gaussian).reshape(-1, slope.shape[1])  # Σ_l T_lᵀ T_l at once
        return 0.5 * (slope.T @ slope - T.T @ T)


def explained_marginals(
    explained: Float[Array, "*L N M"], q: WhitenedGaussian
) -> tuple[Float[Array, "L N"], Float[Array, "L N"]]:
    """Mean and variance of each a_nᵀ v."""
    reached = with_each(lambda A, C: jnp.sum(jnp.square(A @ C.T), axis=1), explained, q.factor)
    return rows_times(q.mean, explained.mT), reached


def projection(gaussian: RowGaussian) -> Float[Array, "L N N"]:
    """T = R⁻¹ √b: the posterior anywhere is k(x, x) - |T k(X, x)|² (posterior.py)."""
    identity = jnp.eye(gaussian.lower.shape[-1], dtype=gaussian.lower.dtype)

    def of_one(one: RowGaussian) -> Array:
        return solve_triangular(one.lower, identity, lower=True) * one.root

    return one_by_one(of_one, gaussian)
