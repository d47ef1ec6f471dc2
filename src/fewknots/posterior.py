r"""The narrow waist: what inference produces and everything after it consumes.

A consumer may ask two things of a posterior: the marginals of f at new inputs, and its arrays,
for saving. `GaussianPosterior` is the dense kind: a Gaussian belief about f at M points. Its
coordinates are chosen so that one M×M product per row gives mean and variance together:

    a(x) = T k(Z, x),     μ(x) = a(x)ᵀ mean,     σ²(x) = k(x, x) - Σ_i shrink_i a_i(x)².

For q(v) = N(m, S) in whitened coordinates v = L⁻¹u (features.py) and S = U diag(s) Uᵀ:

    T = Uᵀ L⁻¹,   mean = Uᵀ m,   shrink = 1 - s,

which is section 4's predictive distribution, rearranged: s_i = 1 where the data said nothing
(prior variance stays) and s_i → 0 where they said everything.

| symbol | name here  | shape |
|--------|------------|-------|
| Z      | points     | M×D   |
| T      | projection | M×M   |
| Uᵀm    | mean       | M     |
| 1 - s  | shrink     | M     |
"""

from dataclasses import dataclass
from functools import partial
from typing import Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .arrays import AnyArray
from .data.blocks import map_blocks
from .kernels import Kernel
from .precision import computing_in


@runtime_checkable
class Posterior(Protocol):
    """What prediction, saving, plots and export may use of any posterior."""

    def marginals(
        self, X: Float[np.ndarray, "N D"]
    ) -> tuple[Float[np.ndarray, " N"], Float[np.ndarray, " N"]]:
        """Mean and variance of f at each row of X."""
        ...

    def arrays(self) -> dict[str, np.ndarray]:
        """The numbers that, with the kernel, rebuild this posterior."""
        ...


@dataclass(frozen=True)
class GaussianPosterior:
    """A Gaussian belief about f at M points, extended to every x by the kernel."""

    kernel: Kernel
    points: Float[np.ndarray, "M D"]
    projection: Float[np.ndarray, "M M"]
    mean: Float[np.ndarray, " M"]
    shrink: Float[np.ndarray, " M"]

    @classmethod
    def from_whitened(
        cls,
        kernel: Kernel,
        points: Float[AnyArray, "M D"],
        whitener: Float[AnyArray, "M M"],
        mean: Float[AnyArray, " M"],
        factor: Float[AnyArray, "M M"],
    ) -> "GaussianPosterior":
        """From q(v) = N(mean, factorᵀ factor) and the whitener L⁻¹."""
        points, whitener, mean, factor = map(np.asarray, (points, whitener, mean, factor))
        variances, U = np.linalg.eigh(factor.T @ factor)
        return cls(kernel, points, U.T @ whitener, U.T @ mean, 1.0 - variances)

    def marginals(
        self, X: Float[np.ndarray, "N D"]
    ) -> tuple[Float[np.ndarray, " N"], Float[np.ndarray, " N"]]:
        """Mean and variance of f at each row, a block of rows at a time: memory is O(block·M)."""
        dtype = self.points.dtype
        with computing_in(dtype):
            state = jax.tree.map(jnp.asarray, (self.kernel, *self.arrays().values()))
            mean, variance = map_blocks(
                partial(_marginals, state), X.astype(dtype, copy=False), outputs=2
            )
        return mean, variance

    def arrays(self) -> dict[str, np.ndarray]:
        return {
            "points": self.points,
            "projection": self.projection,
            "mean": self.mean,
            "shrink": self.shrink,
        }


@jax.jit
def _marginals(state, X: Float[Array, "B D"]):
    kernel, points, projection, mean, shrink = state
    a = kernel(X, points) @ projection.T
    # Above zero in exact arithmetic; only rounding at a well-known point can pass below.
    variance = jnp.maximum(kernel.diagonal(X) - jnp.square(a) @ shrink, 0.0)
    return a @ mean, variance
