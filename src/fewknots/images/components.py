r"""Principal components of rows that are read in blocks, and partial whitening.

    S = Σ_n (z_n - m)(z_n - m)ᵀ / (N - 1) = V Λ Vᵀ,      λ_1 ≥ λ_2 ≥ ...

A row becomes x = s Λ^{-w/2} Vᵀ (z - m), with the first K columns of V. With w = 0 these are plain
principal components, with w = 1 each has variance one; values between these give directions of low
variance more weight than in pixels, but less than directions of high variance. s makes the mean
variance one, so that distances do not depend on the units of the image.

The covariance is a sum over blocks. Products of a block are in the dtype of its numbers, sums of
blocks in float64, both relative to a pivot, the first block's mean, so that nothing cancels.
"""

from collections.abc import Iterable
from itertools import chain
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.linalg import eigh
from scipy.sparse.linalg import eigsh

from ..exceptions import DataError
from ..numerics.precision import one_lapack_thread

# Directions that vary less than this, relative to the first, are rounding.
_ROUNDING = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-12}
_MOST = 16_384  # most coefficients; their covariance takes 2 GiB
_FEW = 4  # if there are this many times fewer components, Lanczos' iteration is faster


class Components(NamedTuple):
    """The components learned from the rows.

    axes : s Λ^{-w/2} Vᵀ, a row for each component
    variances : Λ
    """

    mean: Float[np.ndarray, " D"]
    axes: Float[np.ndarray, "K D"]
    variances: Float[np.ndarray, " K"]


def principal_components(
    blocks: Iterable[Float[np.ndarray, "_ D"]], most: int, whitening: float
) -> Components:
    """The first components: at most `most`, and only those with a variance above rounding
    errors.
    """
    mean, covariance, dtype = _moments(blocks)
    same = (4.0 * np.finfo(dtype).eps) ** 2 * np.square(mean, dtype=np.float64).sum()
    if not np.trace(covariance) > same:
        raise DataError("all images are the same: they cannot be distinguished.")
    variances, axes = _largest(covariance, min(most, len(mean)))
    kept = variances > max(same, _ROUNDING[dtype] * variances[0])
    variances, axes = variances[kept], axes[kept]
    largest = np.argmax(np.abs(axes), axis=1)
    signs = np.sign(axes[np.arange(len(axes)), largest])  # beyond this they are only rounding noise
    scales = signs * variances ** (-0.5 * whitening)
    scales /= np.sqrt(np.mean(variances ** (1.0 - whitening)))
    return Components(mean.astype(dtype), (scales[:, None] * axes).astype(dtype), variances)


def _largest(
    covariance: Float[np.ndarray, "D D"], most: int
) -> tuple[Float[np.ndarray, " K"], Float[np.ndarray, "K D"]]:
    """The largest eigenvalues, in order, and a row for each with its eigenvector."""
    D = len(covariance)
    with one_lapack_thread():
        if _FEW * most < D:
            start = np.sqrt(np.diag(covariance))  # the same in every run
            variances, axes = eigsh(covariance, most, v0=start)
        else:
            variances, axes = eigh(covariance, subset_by_index=(D - most, D - 1))
    order = np.argsort(variances)[::-1]
    return variances[order], axes.T[order]


def _moments(
    blocks: Iterable[Float[np.ndarray, "_ D"]],
) -> tuple[Float[np.ndarray, " D"], Float[np.ndarray, "D D"], np.dtype]:
    """Mean and covariance of all rows."""
    each = iter(blocks)
    first = next(each)
    D = first.shape[1]
    if D > _MOST:
        raise DataError(
            f"images have {D:,} coefficients, but components can be learned from {_MOST:,} at "
            "most. Use a larger J or stride, or n_components=None."
        )
    pivot = first.mean(axis=0)
    total, sums, count = np.zeros(D), np.zeros((D, D)), 0
    for block in chain([first], each):
        centred = block - pivot
        count += len(block)
        total += centred.sum(axis=0, dtype=np.float64)
        sums += centred.T @ centred
    if count < 2:
        raise DataError(f"learning components needs at least two images, got {count}.")
    shift = total / count
    sums -= np.outer(shift, count * shift)
    return pivot + shift, sums / (count - 1), pivot.dtype
