r"""The narrow waist: what inference produces and everything after it consumes.

A consumer may ask two things of a posterior: the marginals of f at new inputs, or what a function
makes of them on the device, and its arrays, for saving. `GaussianPosterior` is the dense kind: a
Gaussian belief about f at M points. Its coordinates are chosen so that one M×M product per row
gives mean and variance together:

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

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Protocol, TypeAlias, runtime_checkable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .data.blocks import map_blocks
from .kernels import Kernel
from .numerics.arrays import AnyArray
from .numerics.device_copy import KeepsDeviceCopy
from .numerics.elementary import not_below_zero
from .numerics.precision import compiled, computing_in, for_platform

# What it costs to call a compiled function, in rows: a GPU does thousands in that time.
_CALL = {"cpu": 32, "gpu": 8192}

Then: TypeAlias = Callable[[Any, Any], tuple[Any, ...]]


@runtime_checkable
class Posterior(Protocol):
    """What prediction, saving, plots and export may use of any posterior."""

    @property
    def points(self) -> Float[np.ndarray, "M D"]:
        """The inputs at which the belief is held: inducing points, or rows."""
        ...

    def marginals(
        self, X: Float[np.ndarray, "N D"]
    ) -> tuple[Float[np.ndarray, " N"], Float[np.ndarray, " N"]]:
        """Mean and variance of f at each row of X."""
        ...

    def mapped(self, then: Then, X: Float[np.ndarray, "N D"]) -> tuple[np.ndarray, ...]:
        """What `then` makes of mean and variance at each row, which never leave the device.

        `then` takes and returns JAX's arrays, of a block of rows.
        """
        ...

    def arrays(self) -> dict[str, np.ndarray]:
        """The numbers that, with the kernel, rebuild this posterior."""
        ...


def as_they_are(mean: Any, variance: Any) -> tuple[Any, Any]:
    """Mean and variance themselves, as something for `mapped`."""
    return mean, variance


class _HeldByPoints(KeepsDeviceCopy):
    """A kernel and arrays; `mapped` evaluates `_marginals` with them."""

    kernel: Kernel
    points: Float[np.ndarray, "M D"]

    def arrays(self) -> dict[str, np.ndarray]:
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]
        return {name: getattr(self, name) for name in names if name != "kernel"}

    def mapped(self, then: Then, X: Float[np.ndarray, "N D"]) -> tuple[np.ndarray, ...]:
        """A block of rows at a time: memory is O(block·M)."""
        dtype = self.points.dtype
        with computing_in(dtype):
            state = self.device_copy(lambda: (self.kernel, *self.arrays().values()))
            return map_blocks(
                lambda block: then(*_marginals(state, block)),
                X.astype(dtype, copy=False),
                call=for_platform(_CALL),
            )


@dataclass(frozen=True)
class GaussianPosterior(_HeldByPoints):
    """A Gaussian belief about f at M points, extended to every x by the kernel."""

    kernel: Kernel
    points: Float[np.ndarray, "M D"]
    projection: Float[np.ndarray, "M M"]
    mean: Float[np.ndarray, " M"]
    shrink: Float[np.ndarray, " M"]

    def marginals(
        self, X: Float[np.ndarray, "N D"]
    ) -> tuple[Float[np.ndarray, " N"], Float[np.ndarray, " N"]]:
        """Mean and variance of f at each row."""
        mean, variance = self.mapped(as_they_are, X)
        return mean, variance


@dataclass(frozen=True)
class MixturePosterior(_HeldByPoints):
    """S equally likely Gaussians with a mean of their own each and all else in common.

    What mean field's Monte Carlo predictor makes (section 3.1): one component per sample of g.
    """

    kernel: Kernel
    points: Float[np.ndarray, "M D"]
    projection: Float[np.ndarray, "M M"]
    means: Float[np.ndarray, "S M"]
    shrink: Float[np.ndarray, " M"]

    def components(
        self, X: Float[np.ndarray, "N D"]
    ) -> tuple[Float[np.ndarray, "N S"], Float[np.ndarray, " N"]]:
        """Each component's mean of f at each row, and the variance they share."""
        means, variance = self.mapped(as_they_are, X)
        return means, variance

    def marginals(
        self, X: Float[np.ndarray, "N D"]
    ) -> tuple[Float[np.ndarray, " N"], Float[np.ndarray, " N"]]:
        """Mean and variance of the mixture at each row."""
        means, variance = self.components(X)
        return means.mean(axis=1), variance + means.var(axis=1)


def held_by_points(
    kernel: Kernel,
    points: Float[AnyArray, "M D"],
    projection: Float[AnyArray, "M M"],
    mean: Float[AnyArray, "*S M"],
    shrink: Float[AnyArray, " M"],
) -> GaussianPosterior | MixturePosterior:
    """One Gaussian, or for several means their mixture."""
    kind = GaussianPosterior if mean.ndim == 1 else MixturePosterior
    return kind(kernel, *map(np.asarray, (points, projection, mean, shrink)))


def from_whitened(
    kernel: Kernel,
    points: Float[AnyArray, "M D"],
    whitener: Float[AnyArray, "M M"],
    mean: Float[AnyArray, "*S M"],
    factor: Float[AnyArray, "M M"],
) -> GaussianPosterior | MixturePosterior:
    """From q(v) = N(mean, factorᵀ factor) and the whitener L⁻¹."""
    whitener, mean, factor = map(np.asarray, (whitener, mean, factor))
    variances, U = np.linalg.eigh(factor.T @ factor)
    return held_by_points(kernel, points, U.T @ whitener, mean @ U, 1.0 - variances)


@compiled
def _marginals(state, X: Float[Array, "B D"]):
    kernel, points, projection, mean, shrink = state
    a = kernel(X, points) @ projection.T
    # Above zero in exact arithmetic; only rounding at a well-known point can pass below.
    variance = not_below_zero(kernel.diagonal(X) - jnp.square(a) @ shrink)
    return a @ mean.T, variance  # a column for each mean, if there are several
