r"""The posterior: the only product of inference, and the only input of everything after it.

A posterior offers two things: the marginals of f at new inputs (or the result of a function of
them, on the device), and its arrays, for saving. A posterior at points (all but the local one)
also offers the joint distribution of f at several rows (joint.py) and draws of functions
(pathwise.py). `GaussianPosterior` is the dense kind: a Gaussian distribution of f at M points. In
its coordinates one M×M product per row gives both mean and variance:

    a(x) = T k(Z, x),     μ(x) = a(x)ᵀ mean,     σ²(x) = k(x, x) - Σ_i shrink_i a_i(x)².

For q(v) = N(m, S) in whitened coordinates v = L⁻¹u (features.py) and S = U diag(s) Uᵀ:

    T = Uᵀ L⁻¹,   mean = Uᵀ m,   shrink = 1 - s,

and similarly the covariance of f(x) and f(x'). This is section 4's predictive distribution,
rearranged: s_i = 1 where the data contain no information (the prior variance remains) and s_i → 0
where they determine f. Each latent function of a likelihood has its own q(v), hence its own T, all
with the same points and kernel, or each with its own kernel (kernels/per_class.py).

| symbol | name here  | shape |
|--------|------------|-------|
| Z      | points     | M×D   |
| T      | projection | L×M×M |
| Uᵀm    | mean       | L×M   |
| 1 - s  | shrink     | L×M   |
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Protocol, TypeAlias, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .data.blocks import BLOCK_SIZES, map_blocks, padded, rounded_up
from .joint import Joint, coupled_joint, gaussian_joint
from .kernels import Kernel
from .numerics.arrays import AnyArray
from .numerics.elementary import not_below_zero
from .numerics.linalg import one_by_one, with_each
from .numerics.precision import KeepsDeviceCopy, compiled, computing_in, for_platform
from .pathwise import Path, drawn_path

# Cost of calling a compiled function, in rows: a GPU does thousands in that time.
_CALL = {"cpu": 32, "gpu": 8192}

Then: TypeAlias = Callable[[Any, Any], tuple[Any, ...]]


@runtime_checkable
class Posterior(Protocol):
    """The interface of all posteriors for prediction, saving, plots and export."""

    @property
    def kernel(self) -> Kernel:
        """The learned kernel."""
        ...

    @property
    def points(self) -> Float[np.ndarray, "M D"]:
        """The points of the posterior: inducing points, or rows."""
        ...

    def marginals(
        self, X: Float[np.ndarray, "N D"]
    ) -> tuple[Float[np.ndarray, "L N"], Float[np.ndarray, "L N"]]:
        """Mean and variance of each latent function at each row of X."""
        ...

    def mapped(self, then: Then, X: Float[np.ndarray, "N D"]) -> tuple[np.ndarray, ...]:
        """`then`(mean, variance) for each row, computed on the device.

        `then` takes and returns JAX arrays for a block of rows, their last axis.
        """
        ...

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays from which, with the kernel, this posterior can be restored."""
        ...


def as_they_are(mean: Any, variance: Any) -> tuple[Any, Any]:
    """Return mean and variance unchanged: a function for `mapped`."""
    return mean, variance


class JointPosterior(KeepsDeviceCopy):
    """A posterior over functions, given by a kernel and arrays."""

    kernel: Kernel
    points: Float[np.ndarray, "M D"]
    projection: Float[np.ndarray, "L M M"]

    def arrays(self) -> dict[str, np.ndarray]:
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]
        return {name: getattr(self, name) for name in names if name != "kernel"}

    def mapped(self, then: Then, X: Float[np.ndarray, "N D"]) -> tuple[np.ndarray, ...]:
        """Computed in blocks of rows: memory is O(block·M)."""
        dtype = self.points.dtype
        coupled = isinstance(self, CoupledPosterior)
        of_latent = _coupled_marginals if coupled else _marginals
        with computing_in(dtype):
            state = self.device_copy(self._state)
            return map_blocks(
                lambda block: then(*of_latent(state, block)),
                X.astype(dtype, copy=False),
                call=for_platform(_CALL),
                sizes=BLOCK_SIZES[:-1] if coupled else BLOCK_SIZES,
            )

    def joint(self, X: Float[np.ndarray, "N D"]) -> Joint:
        """The latent functions at all rows together: O(N²) memory."""
        n_rows, wide = len(X), np.dtype(np.float64)
        X = padded(X.astype(wide), rounded_up(n_rows))
        of_latent = coupled_joint if isinstance(self, CoupledPosterior) else gaussian_joint
        with computing_in(wide):
            state = jax.tree.map(lambda leaf: np.asarray(leaf, wide), self._state())
            means, covariance, scale = map(np.asarray, of_latent(state, X))
        within = covariance[..., :n_rows, :n_rows]
        return Joint(means[..., :n_rows], within, float(scale), self.points.dtype)

    def functions(self, n: int, n_features: int, random: np.random.RandomState) -> list[Path]:
        """`n` draws of each latent function."""
        wide = np.dtype(np.float64)
        points, projection = (array.astype(wide) for array in (self.points, self.projection))
        wanted = self._drawn(n, random)
        return [
            drawn_path(
                jax.tree.map(lambda leaf: np.asarray(leaf, wide), self.kernel.of_latent(number)),
                points,
                projection[number],
                wanted[:, number],
                n_features,
                random,
            )
            for number in range(len(projection))
        ]

    def _drawn(self, n: int, random: np.random.RandomState) -> Float[np.ndarray, "n L M"]:
        """Draws of w in pathwise.py."""
        raise NotImplementedError

    def _state(self) -> tuple[Any, ...]:
        return self.kernel, *self.arrays().values()


@dataclass(frozen=True)
class GaussianPosterior(JointPosterior):
    """A Gaussian distribution of f at M points, extended to every x by the kernel."""

    kernel: Kernel
    points: Float[np.ndarray, "M D"]
    projection: Float[np.ndarray, "L M M"]
    mean: Float[np.ndarray, "L M"]
    shrink: Float[np.ndarray, "L M"]

    def marginals(
        self, X: Float[np.ndarray, "N D"]
    ) -> tuple[Float[np.ndarray, "L N"], Float[np.ndarray, "L N"]]:
        """Mean and variance of each latent function at each row."""
        mean, variance = self.mapped(as_they_are, X)
        return mean, variance

    def _drawn(self, n: int, random: np.random.RandomState) -> Float[np.ndarray, "n L M"]:
        return self.mean + _spread(self.shrink) * random.standard_normal((n, *self.mean.shape))


@dataclass(frozen=True)
class MixturePosterior(JointPosterior):
    """S equally likely Gaussians that differ only in their means.

    The result of mean field's Monte Carlo predictor (section 3.1): one component per sample of g.
    `mapped` passes the means of all components, (S, L, B).
    """

    kernel: Kernel
    points: Float[np.ndarray, "M D"]
    projection: Float[np.ndarray, "L M M"]
    means: Float[np.ndarray, "S L M"]
    shrink: Float[np.ndarray, "L M"]

    def marginals(
        self, X: Float[np.ndarray, "N D"]
    ) -> tuple[Float[np.ndarray, "L N"], Float[np.ndarray, "L N"]]:
        """Mean and variance of the mixture at each row."""
        means, variance = self.mapped(as_they_are, X)
        return means.mean(axis=0), variance + means.var(axis=0)

    def _drawn(self, n: int, random: np.random.RandomState) -> Float[np.ndarray, "n L M"]:
        means = self.means[random.randint(len(self.means), size=n)]
        return means + _spread(self.shrink) * random.standard_normal(means.shape)


@dataclass(frozen=True)
class CoupledPosterior(JointPosterior):
    """Functions that are correlated in the posterior (inference/free_shift.py).

    With a_l(x) = T_l k(Z, x) as above, μ_l(x) = a_lᵀ mean_l and

        cov(f_l, f_j) = [l = j] (k(x, x) - a_lᵀ a_l) + h_lᵀ h_j,     h_l(x) = U T_lᵀ a_l(x).

    `mapped` passes this covariance, (L, L, B), instead of variances.
    """

    kernel: Kernel
    points: Float[np.ndarray, "M D"]
    projection: Float[np.ndarray, "L M M"]
    mean: Float[np.ndarray, "L M"]
    shift: Float[np.ndarray, "M M"]  # U

    def marginals(
        self, X: Float[np.ndarray, "N D"]
    ) -> tuple[Float[np.ndarray, "L N"], Float[np.ndarray, "L N"]]:
        """Mean and variance of each latent function at each row."""
        mean, variance = self.mapped(_without_covariance, X)
        return mean, variance

    def _drawn(self, n: int, random: np.random.RandomState) -> Float[np.ndarray, "n L M"]:
        """The shift of all functions is drawn once: T_l Uᵀ ξ has the covariance of h_l."""
        shift = random.standard_normal((n, len(self.shift))) @ self.shift
        return self.mean + np.stack([shift @ T.T for T in self.projection], axis=1)


Held: TypeAlias = GaussianPosterior | MixturePosterior


def from_whitened(
    kernel: Kernel,
    points: Float[AnyArray, "M D"],
    whitener: Float[AnyArray, "*L M M"],
    mean: Float[AnyArray, "*S L M"],
    factor: Float[AnyArray, "L M M"],
    kind: type[Held] = GaussianPosterior,
) -> Held:
    """From q(v) = N(mean, factorᵀ factor) and the whitener L⁻¹; a mixture has several means."""
    points, whitener, mean, factor = map(np.asarray, (points, whitener, mean, factor))
    variances, U = np.linalg.eigh(factor.mT @ factor)
    rotated = (mean[..., None, :] @ U)[..., 0, :]
    return kind(kernel, points, U.mT @ whitener, rotated, 1.0 - variances)


@compiled
def _marginals(state, X: Float[Array, "B D"]):
    """Mean and variance of each latent function, (L, B); for a mixture S means, (S, L, B)."""
    kernel, points, projection, mean, shrink = state
    covariance = kernel(X, points)

    def one_function(covariance, held):
        projection, mean, shrink = held
        a = covariance @ projection.T
        return (a @ mean.T).T, jnp.square(a) @ shrink

    held = projection, jnp.moveaxis(mean, -2, 0), shrink
    mean, learned = with_each(one_function, covariance, held)
    # Positive in exact arithmetic; rounding can make it negative where f is well known.
    return jnp.moveaxis(mean, 0, -2), not_below_zero(kernel.diagonal(X) - learned)


def _spread(shrink: Float[np.ndarray, "L M"]) -> Float[np.ndarray, "L M"]:
    """Standard deviations √s; the eigenvalue s can be negative only by rounding."""
    return np.sqrt(np.maximum(1.0 - shrink.astype(np.float64), 0.0))


@compiled
def _coupled_marginals(state, X: Float[Array, "B D"]):
    """Mean of each latent function, (L, B), and their covariance, (L, L, B)."""
    kernel, points, projection, mean, shift = state
    k = kernel(X, points)

    def one_function(held):
        projection, mean = held
        a = k @ projection.T
        alone = not_below_zero(kernel.diagonal(X) - jnp.sum(jnp.square(a), axis=1))
        return a @ mean, alone, (a @ projection) @ shift.T

    mean, alone, h = one_by_one(one_function, (projection, mean))
    own = jnp.eye(len(mean), dtype=k.dtype)[..., None] * alone
    return mean, own + jnp.einsum("lbm,jbm->ljb", h, h)


@compiled
def _without_covariance(mean, covariance):
    return mean, jnp.diagonal(covariance).T
