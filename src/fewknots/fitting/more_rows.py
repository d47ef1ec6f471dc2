r"""Updating q(u) with more rows; kernel and inducing points stay fixed.

A posterior (posterior.py) holds each latent function in coordinates w with prior N(0, I) and
q(w) = N(m₀, diag s₀), and a row sees aᵀw with a = T k(Z, x). With that q as the prior, the best q
for the new rows is the fixed point of

    S⁻¹ = diag(1/s₀) + Aᵀ diag(wβ) A,     S⁻¹m = m₀/s₀ + Aᵀ(wα + wβμ),                    (1)

α, β and μ being those of the new rows under q itself (inference/sparse_kl.py). Steps half of the
way to it are natural-gradient steps: some tens of small factorisations on the host, until no
number changes by more than 1e-8 of itself. Only one program, for the likelihood, is compiled.
"""

from collections.abc import Callable

import jax
import numpy as np
from jaxtyping import Float

from .. import prediction
from ..data.blocks import padded, rounded_up, row_slices
from ..inference.sites import Rows
from ..likelihoods import Expectations
from ..numerics.precision import compiled, computing_in, one_lapack_thread
from ..posterior import GaussianPosterior
from .job import FittedModel

_MOST_STEPS, _RATE, _TOLERANCE = 60, 0.5, 1e-8
_WIDE = np.dtype(np.float64)
Latent = tuple[Float[np.ndarray, "L N"], Float[np.ndarray, "L N"]]
Terms = Callable[[Rows, Latent], Expectations]


def informed(known: FittedModel, more: Rows, every: Rows) -> tuple[GaussianPosterior, float]:
    """The posterior updated with more rows, and its bound for all rows.

    Rows are in the user's units, their targets encoded.
    """
    before, size = known.posterior, rounded_up(len(more.y))  # one program for both
    assert isinstance(before, GaussianPosterior)

    def terms(rows: Rows, latent: Latent) -> Expectations:
        y, found = rows.y.astype(_WIDE), []
        with computing_in(_WIDE):
            for some in row_slices(len(y), size):
                block = (padded(part[..., some].T, size).T for part in (y, *latent))
                of_block = _expectations(known.likelihood, *block)
                count = some.stop - some.start
                found.append(jax.tree.map(lambda a, n=count: np.asarray(a)[..., :n], of_block))
        return jax.tree.map(lambda *parts: rows.weights * np.concatenate(parts, axis=-1), *found)

    with one_lapack_thread():
        more = more._replace(X=known.standardiser(more.X))
        posterior, divergence = _fixed_point(before, more, terms)
    latent = prediction.marginals(posterior, known.standardiser, every.X)
    return posterior, float(np.sum(terms(every, latent).log_prob)) - divergence


def _fixed_point(
    before: GaussianPosterior, rows: Rows, terms: Terms
) -> tuple[GaussianPosterior, float]:
    """Eq. (1), and KL[q ‖ N(0, I)] = ½(tr S + mᵀm - M - log|S|)."""
    dtype, X = before.points.dtype, rows.X.astype(before.points.dtype)
    with computing_in(dtype):
        size = rounded_up(len(X))
        found = _covariances(before.kernel, padded(X, size), before.points)
    covariance, own = (np.asarray(part, _WIDE)[: len(X)] for part in found)
    T = before.projection.astype(_WIDE)
    A = covariance @ T.mT  # L×N×M
    unexplained = np.maximum(own - np.sum(A**2, axis=-1), 0.0)
    # 1 - shrink is stored rounded: if rows determine nearly everything, s is known to that
    s = np.maximum(1.0 - before.shrink.astype(_WIDE), float(np.finfo(dtype).eps))
    known, pull = np.eye(s.shape[1]) / s[..., None], before.mean.astype(_WIDE) / s
    precision, linear = known, pull
    for _ in range(_MOST_STEPS):
        S = np.linalg.inv(precision)
        m = _times(S, linear)
        mean = _times(A, m)
        at_rows = terms(rows, (mean, unexplained + np.sum((A @ S) * A, axis=-1)))
        slope, curvature = np.asarray(at_rows.slope), np.asarray(at_rows.curvature)
        moved_precision = known + (A.mT * curvature[:, None, :]) @ A - precision
        moved_linear = pull + _times(A.mT, slope + curvature * mean) - linear
        precision = precision + _RATE * moved_precision
        linear = linear + _RATE * moved_linear
        if _small(moved_precision, precision) and _small(moved_linear, linear):
            break
    eigenvalues, U = np.linalg.eigh(precision)
    m = _times(U.mT, linear) / eigenvalues
    divergence = 0.5 * np.sum(1.0 / eigenvalues + m**2 - 1.0 + np.log(eigenvalues))
    arrays = U.mT @ T, m, 1.0 - 1.0 / eigenvalues
    after = (array.astype(dtype) for array in arrays)
    return GaussianPosterior(before.kernel, before.points, *after), float(divergence)


def _small(change: np.ndarray, whole: np.ndarray) -> bool:
    return bool(np.max(np.abs(change)) <= _TOLERANCE * np.max(np.abs(whole)))


def _times(matrices: Float[np.ndarray, "L M N"], vectors: Float[np.ndarray, "L N"]) -> np.ndarray:
    return (matrices @ vectors[..., None])[..., 0]


@compiled
def _expectations(likelihood, y, mean, variance):
    return likelihood.expectations(y, mean, variance)


@compiled
def _covariances(kernel, X, Z):
    return kernel(X, Z), kernel.diagonal(X)
