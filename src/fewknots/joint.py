r"""Function values at several rows together: their mean and covariance, and exact samples of them.

A posterior is one Gaussian over function values, or S equally likely Gaussians that differ only in
their means (posterior.MixturePosterior). With N rows, f = (f_l(x_n)) has

    E f = 1/S Σ_s m_s,     cov f = C + 1/S Σ_s (m_s - E f)(m_s - E f)ᵀ,

and a sample is m_s + R z, where s is drawn first, C = R Rᵀ and z ~ N(0, I). At many close rows C
is singular up to rounding, so R is a Cholesky factor of C + jitter · variance · I (linalg.py).

| symbol | name here  | shape                                                    |
|--------|------------|----------------------------------------------------------|
| m_s    | means      | S×L×N                                                    |
| C      | covariance | L×N×N; L×L×N×N if the functions are correlated           |
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .exceptions import NumericalError, NumericalWarning, warn
from .numerics.linalg import lower_with_ladder, one_by_one, with_each
from .numerics.precision import compiled, computing_in

# Relative to the prior's variance. A posterior learned in float32 has about five accurate digits.
_JITTER = {np.dtype(np.float64): 1e-10, np.dtype(np.float32): 1e-5}


class Joint(NamedTuple):
    """The belief about L functions at N rows, in float64."""

    means: Float[np.ndarray, "S L N"]
    covariance: Float[np.ndarray, "L N N"] | Float[np.ndarray, "L L N N"]
    scale: float  # the prior's variance
    dtype: np.dtype  # dtype in which the posterior was learned

    def mean(self) -> Float[np.ndarray, "L N"]:
        """E f."""
        return self.means.mean(axis=0)

    def whole_covariance(self) -> Float[np.ndarray, "L N N"] | Float[np.ndarray, "L L N N"]:
        """Cov f; for a mixture with L > 1 of shape (L, L, N, N), since its component couples all
        functions.
        """
        if len(self.means) == 1:
            return self.covariance
        apart = self.means - self.mean()
        if apart.shape[1] == 1:
            return self.covariance + np.einsum("sln,slm->lnm", apart, apart) / len(apart)
        between = np.einsum("sln,sjm->ljnm", apart, apart) / len(apart)
        own = np.arange(apart.shape[1])
        between[own, own] += self.covariance
        return between

    def sampled(self, n: int, random: np.random.RandomState) -> Float[np.ndarray, "n L N"]:
        """`n` independent samples."""
        _, L, N = self.means.shape
        coupled = self.covariance.ndim == 4
        blocks = self.covariance
        if coupled:
            blocks = blocks.transpose(0, 2, 1, 3).reshape(1, L * N, L * N)
        with computing_in(np.dtype(np.float64)):
            lower, jitter = map(np.asarray, _factor(blocks, self.scale, _JITTER[self.dtype]))
        if not np.all(np.isfinite(lower)):
            raise NumericalError(
                f"the covariance of f at these {N} rows is not positive semidefinite, even with a "
                f"jitter of {float(jitter):.0e}. Fit with dtype='float64', or use fewer rows that "
                "are not so close to each other."
            )
        if jitter > 1.5 * _JITTER[self.dtype]:
            warn(
                f"samples at these {N} rows needed a jitter of {float(jitter):.0e} of the prior's "
                f"variance instead of {_JITTER[self.dtype]:.0e}: they contain noise of this size.",
                NumericalWarning,
            )
        component = random.randint(len(self.means), size=n)
        z = random.standard_normal((n, *lower.shape[:2]))
        departure = np.stack([z[:, k] @ factor.T for k, factor in enumerate(lower)], axis=1)
        return self.means[component] + departure.reshape(n, L, N)


@compiled
def _factor(blocks: Any, scale: Any, jitter: Any) -> tuple[Any, Any]:
    return lower_with_ladder(blocks, jnp.full(len(blocks), scale), jnp.asarray(jitter))


@compiled
def gaussian_joint(state, X: Float[Array, "N D"]):
    """Means, (S, L, N), covariance, (L, N, N), and the prior's mean variance.

    state : kernel and arrays of a GaussianPosterior or MixturePosterior.
    """
    kernel, points, projection, mean, shrink = state
    both = jnp.concatenate([kernel(X, points), kernel(X, X)], axis=-1)

    def one_function(both, held):
        projection, mean, shrink = held
        a = both[:, : len(points)] @ projection.T
        return (a @ mean.T).T, both[:, len(points) :] - (a * shrink) @ a.T

    held = projection, jnp.moveaxis(mean, -2, 0), shrink
    mean, covariance = with_each(one_function, both, held)
    means = jnp.moveaxis(mean, 0, -2)
    means = means if means.ndim == 3 else means[None]
    return means, covariance, jnp.mean(kernel.diagonal(X))


@compiled
def coupled_joint(state, X: Float[Array, "N D"]):
    """The same of a CoupledPosterior; covariance (L, L, N, N)."""
    kernel, points, projection, mean, shift = state
    k, prior = kernel(X, points), kernel(X, X)

    def one_function(held):
        projection, mean = held
        a = k @ projection.T
        return a @ mean, prior - a @ a.T, (a @ projection) @ shift.T

    mean, alone, h = one_by_one(one_function, (projection, mean))
    own = jnp.eye(len(mean), dtype=k.dtype)[..., None, None] * alone
    return mean[None], own + jnp.einsum("lnm,jkm->ljnk", h, h), jnp.mean(kernel.diagonal(X))
