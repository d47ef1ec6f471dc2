r"""The full prior with sites of precision zero or below, for log p(y|f) that is not concave.

priors.py takes square roots of the precisions b, and divides by them. Here some b are below zero,
or zero though the row pulls: the Laplace distribution far from y is a straight line. What has to be
positive definite is K⁻¹ + diag b as a whole. So take more than there is, and give the surplus back:

    c = √(b² + δ²) ≥ b,          B = I + √c K √c = R Rᵀ,     T = R⁻¹ √c,
    e = √(1 - b/c) ∈ [0, √2],    H Hᵀ = I - e² + e B⁻¹ e,    F = H⁻¹ e R⁻ᵀ.

With all sites c the covariance is K - (T K)ᵀ T K. Taking c - b = c e² away widens it (Woodbury):

    Σ = (K⁻¹ + diag b)⁻¹ = K - (T K)ᵀ T K + (F T K)ᵀ F T K,
    (K + diag b⁻¹)⁻¹ = TᵀT - (F T)ᵀ F T = Tᵀ (I - FᵀF) T,
    log|I + K diag b| = log|R|² + log|H|².

H exists just where Σ does. Else it is NaN, and so is the objective: the solver refuses such a step
(natural_gradient.py). In posterior.py `shrink` are the eigenvalues of I - FᵀF: below zero where the
posterior is wider than the prior.

δ is the precision of the prior, 1 / (tr K / N). It keeps c away from zero where b passes through
zero, since the linear term g need not be small there, and the mean has g / √c:

    μ(x) = k(x, X) Tᵀ m,   m = u + Fᵀ w,   u = R⁻¹ g / √c,   w = H⁻¹ (e √c μ_c),   μ_c = (T K)ᵀ u.

With b > 0 everywhere F is not zero, but the result is that of priors.py. Rows without a site (of
weight zero) have c = e = 0.

| symbol | name here  | shape |
|--------|------------|-------|
| T      | projection | L×N×N |
| F      | widening   | L×N×N |
| m      | mean       | L×N   |

Cost: O(N³) a pass, about three times that of log-concave likelihoods.
"""

import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float

from ..numerics.elementary import not_below_zero
from ..numerics.linalg import with_each
from .priors import FullPrior
from .sites import Belief, SignedGaussian, Sites


class SignedPrior(FullPrior):
    """f ~ N(0, K), for sites of any sign."""

    def belief(self, sites: Sites) -> Belief:
        mean, variance, log_det, gaussian = with_each(_of_one, self.covariance, sites)
        return Belief(mean, variance, variance, jnp.sum(log_det), gaussian)

    def posterior_covariance(self, belief: Belief) -> Float[Array, "L N N"]:
        """Σ."""
        V = belief.gaussian.projection @ self.covariance
        W = belief.gaussian.widening @ V
        return self.covariance - V.mT @ V + W.mT @ W

    def cotangent(self, belief: Belief, sites: Sites) -> Float[Array, "*L N N"]:
        """½ R of (R) in priors.py."""
        slope = sites.linear - sites.precision * belief.mean
        T = belief.gaussian.projection
        FT = belief.gaussian.widening @ T
        each = 0.5 * (slope[:, :, None] * slope[:, None, :] - T.mT @ T + FT.mT @ FT)
        return each if self.covariance.ndim > 2 else jnp.sum(each, axis=0)


def _of_one(K: Float[Array, "N N"], sites: Sites) -> tuple[Array, Array, Array, SignedGaussian]:
    """Mean, variance, log|I + K diag b| and the Gaussian, of one latent function."""
    b, g = sites.precision, sites.linear
    identity = jnp.eye(K.shape[0], dtype=K.dtype)
    has_site = (b != 0) | (g != 0)
    c = jnp.where(has_site, jnp.hypot(b, 1.0 / jnp.mean(jnp.diagonal(K))), 0.0)
    root, safe = jnp.sqrt(c), jnp.where(has_site, c, 1.0)
    surplus = jnp.where(has_site, 1.0 - b / safe, 0.0)  # e²
    e = jnp.sqrt(surplus)
    R = jnp.linalg.cholesky(identity + root[:, None] * K * root)
    R_inverse = solve_triangular(R, identity, lower=True)
    Q = R_inverse * e
    H = jnp.linalg.cholesky(Q.T @ Q + jnp.diag(1.0 - surplus))
    T, F = R_inverse * root, solve_triangular(H, Q.T, lower=True)
    V = T @ K
    W = F @ V
    # Above zero in exact arithmetic; only rounding at a well-known row can pass below.
    spread = jnp.diagonal(K) - jnp.sum(jnp.square(V), axis=0) + jnp.sum(jnp.square(W), axis=0)
    u = R_inverse @ jnp.where(has_site, g / jnp.sqrt(safe), 0.0)
    mean = V.T @ u
    w = solve_triangular(H, e * root * mean, lower=True)
    log_det = 2.0 * jnp.sum(jnp.log(jnp.diagonal(R)) + jnp.log(jnp.diagonal(H)))
    gaussian = SignedGaussian(T, u + F.T @ w, F)
    return mean + W.T @ w, not_below_zero(spread), log_det, gaussian
