r"""Draws of functions: paths of the posterior that can be evaluated anywhere, again and again.

Pathwise conditioning (Wilson et al. 2020). Take a draw f of the prior, and correct its error at the
points Z of the posterior (T, mean and shrink are in posterior.py):

    f*(x) = f(x) + k(x, Z) c,     c = Tᵀ (w - T f(Z) - ζ),                                  (path)
    w ~ N(mean, diag(1 - shrink)),     ζ ~ N(0, I - T Kzz Tᵀ).

T f(Z) + ζ has covariance I for any T. So f* - k(x, Z) Tᵀ w has mean zero and covariance
k(x, x') - a(x)ᵀ a(x'), a(x) = T k(Z, x), and f* has the mean and covariance of the posterior. With
inducing points ζ is only the jitter of Kzz, and f*(Z) = u, the draw of q(u); in methods without
inducing points ζ is the noise of the rows' sites.

The correction is exact. Only f is not: for most kernels a Gaussian process has no finite
description, and f is a sum of F random functions of its kernel (`Kernel.random_functions`),
weighted by normal numbers,

    f(x) = Σ_i g_i φ_i(x) / √F,     g ~ N(0, I),     E φ(a) φ(b) = k(a, b).                 (prior)

Each draw has its own functions φ. So mean and covariance over all draws are exactly those of the
process, for any F; only the distribution of f is not exactly Gaussian: its fourth cumulants fall
as 1/F. Linear, polynomial and constant kernels are exact with F = 1. The terms of a sum of kernels
are drawn separately.

| symbol | name here         | shape                          |
|--------|-------------------|--------------------------------|
| φ      | prior[i][0]       | a tree of arrays, n draws each |
| g/√F   | prior[i][1]       | n×F                            |
| c      | coefficients      | n×M                            |
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from .data.blocks import map_blocks
from .data.row_checks import check_finite
from .kernels import Kernel, Sum
from .numerics.arrays import AnyArray
from .numerics.precision import compiled, computing_in, for_platform

_CALL = {"cpu": 32, "gpu": 8192}  # cost of calling a compiled function, in rows
_SIZES = 8, 128, 1024


class Path(NamedTuple):
    """N draws of one latent function."""

    kernel: Kernel
    points: Float[AnyArray, "M D"]
    prior: tuple[tuple[Any, Float[AnyArray, "n F"]], ...]  # for each summand of the kernel
    coefficients: Float[AnyArray, "n M"]


def drawn_path(
    kernel: Kernel,
    points: Float[np.ndarray, "M D"],
    projection: Float[np.ndarray, "M M"],
    wanted: Float[np.ndarray, "n M"],
    n_features: int,
    random: np.random.RandomState,
) -> Path:
    """Draws of one latent function, one for each row of `wanted` (w); in float64."""
    n, M = wanted.shape
    prior = draw_prior(kernel, points.shape[1], n, n_features, random)
    path = Path(kernel, points, prior, np.zeros((n, M)))
    with computing_in(np.dtype(np.float64)):
        at_points, covariance = map(np.asarray, _at_points(path))  # coefficients zero: f(Z)
    c = coefficients(projection, covariance, at_points, wanted, random)
    return path._replace(coefficients=c)


def draw_prior(
    kernel: Kernel, n_inputs: int, n: int, n_features: int, random: np.random.RandomState
) -> tuple[tuple[Any, Float[np.ndarray, "n F"]], ...]:
    """The random numbers of n draws of eq. (prior), for each summand of the kernel."""

    def of_summand(kernel: Kernel) -> tuple[Any, Float[np.ndarray, "n F"]]:
        F = kernel.n_functions(n_inputs, n_features)
        each = [kernel.randomness(random, n_inputs, F) for _ in range(n)]
        weights = random.standard_normal((n, F)) / np.sqrt(F) if F > 1 else np.ones((n, 1))
        return jax.tree.map(lambda *draws: np.stack(draws), *each), weights

    return tuple(of_summand(summand) for summand in _summands(kernel.of_coordinates))


def coefficients(
    projection: Float[np.ndarray, "M M"],
    covariance: Float[np.ndarray, "M M"],
    at_points: Float[np.ndarray, "n M"],
    wanted: Float[np.ndarray, "n M"],
    random: np.random.RandomState,
) -> Float[np.ndarray, "n M"]:
    """The c of eq. (path), from Kzz, f(Z) and w."""
    unexplained = np.eye(len(projection)) - projection @ covariance @ projection.T
    values, vectors = np.linalg.eigh(unexplained)
    root = vectors * np.sqrt(np.maximum(values, 0.0))  # below zero is rounding
    zeta = random.standard_normal(wanted.shape) @ root.T
    return (wanted - at_points @ projection.T - zeta) @ projection


def values(path: Path, X: Float[AnyArray, "N D"]) -> Float[Array, "n N"]:
    """Eq. (path) at rows in the kernel's units."""
    inner, W = path.kernel.of_coordinates, path.kernel.coordinates(X)
    summands = _summands(inner)

    def of_one(prior: Any) -> Float[Array, " N"]:
        parts = zip(summands, prior, strict=True)
        return sum(k.random_functions(W, numbers) @ weights for k, (numbers, weights) in parts)

    return lax.map(of_one, path.prior) + path.coefficients @ path.kernel(X, path.points).T


class FunctionDraws:
    """`n` draws of the latent function, each a function: `draws(X)` evaluates them at rows X.

    X : array of shape (N, D) in the user's units, or a table as `predict` takes it.
        A NumPy array: computed in float64, with a NumPy result. A JAX array (numeric features):
        computed in X's dtype, with a JAX result that can be differentiated, compiled and mapped. In
        float32, JAX's default, a draw may lose accuracy where points are close: use
        `with jax.enable_x64():`.

    Returns an array of shape (N, n), with several latent functions (N, L, n), as `sample_latent`.
    The same X always gives the same values, independent of other evaluations.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        standardised: Callable[[Any], Any],
        rows: Callable[[Any], Float[np.ndarray, "N D"]],
        level: Float[np.ndarray, " L"],
        scale: Float[np.ndarray, " L"],
    ) -> None:
        self._paths = tuple(paths)
        self._standardised, self._rows = standardised, rows
        self._level, self._scale = level, scale

    def __len__(self) -> int:
        return len(self._paths[0].coefficients)

    def __repr__(self) -> str:
        latent = f" of {len(self._paths)} latent functions each" if len(self._paths) > 1 else ""
        return f"<{len(self)} function draws{latent}>"

    def __call__(self, X: Any) -> Any:
        if isinstance(X, jax.Array):
            return self._in_jax(X)
        X = self._standardised(self._rows(X))
        with computing_in(np.dtype(np.float64)):
            found = [
                map_blocks(
                    lambda block, path=path: (_values(path, block),),
                    X,
                    call=for_platform(_CALL),
                    sizes=_SIZES,
                )[0]
                for path in self._paths
            ]
        check_finite(tuple(found), np.dtype(np.float64))
        return self._shaped(np.stack(found))

    def _in_jax(self, X: Any) -> Float[Array, "N ... n"]:
        n_inputs = self._paths[0].points.shape[1]
        if X.ndim != 2 or X.shape[1] != n_inputs:
            raise ValueError(
                f"X must have shape (rows, {n_inputs}), got {X.shape}. For a single row x: "
                "draws(x[None])."
            )
        dtype = X.dtype if jnp.issubdtype(X.dtype, jnp.floating) else jnp.result_type(float)
        X = self._standardised(X.astype(dtype)).astype(dtype)
        paths = jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype), self._paths)
        with jax.default_matmul_precision("highest"):
            return self._shaped(jnp.stack([values(path, X) for path in paths]))

    def _shaped(self, found: Any) -> Any:
        """From (L, n, N), into the units of y."""
        level, scale = (
            part[:, None, None].astype(found.dtype) for part in (self._level, self._scale)
        )
        found = found * scale + level
        return found[0].T if len(found) == 1 else found.transpose(2, 0, 1)


def _summands(kernel: Kernel) -> list[Kernel]:
    if not isinstance(kernel, Sum):
        return [kernel]
    return _summands(kernel.k1) + _summands(kernel.k2)


@compiled
def _values(path, X):
    return values(path, X)


@compiled
def _at_points(path):
    return values(path, path.points), path.kernel(path.points, path.points)
