r"""Scattering coefficients of order zero, one and two (Bruna & Mallat 2013, eq. 8).

    S₀ = x ⋆ φ,    S₁ = |x ⋆ ψ_{j,θ}| ⋆ φ,    S₂ = ||x ⋆ ψ_{j,θ}| ⋆ ψ_{j',θ'}| ⋆ φ,  j' > j.

The modulus of a wavelet's response is the strength of this wave near a pixel, without its exact
position: an image shifted by less than 2ᴶ has nearly the same coefficients. The second wavelets
recover the information that φ removes.

Convolutions are products of Fourier transforms. The image is continued by its mirror image, so that
opposite edges do not affect each other. The response to a wavelet of scale 2ʲ is kept at every
2ʲ-th pixel, which folds frequencies (`_thinned`). φ is a product of functions of row and column
and is needed at few places, so x ⋆ φ there is A x Bᵀ with two small matrices. These places are
`stride` pixels apart, symmetric about the centre of the image.

| symbol | name                                         | shape                       |
|--------|----------------------------------------------|-----------------------------|
| x      | image                                        | N × H × W                   |
| ψ̂      | first[j], second[j][j' - j - 1]              | L × P/2ʲ × Q/2ʲ             |
| A, B   | rows[j], columns[j]                          | h × P/2ʲ, w × Q/2ʲ          |
| S      | coefficients                                 | N × paths × h × w           |
"""

from functools import lru_cache
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float, Int

from .wavelets import coarser, wavelets, window_width

_PERIODS = np.arange(-3, 4)


class Filters(NamedTuple):
    """Everything that depends only on the size of the images; a pytree."""

    first: tuple[Float[np.ndarray, "L P Q"], ...]
    second: tuple[tuple[Float[np.ndarray, "L p q"], ...], ...]
    rows: tuple[Float[np.ndarray, "h p"], ...]
    columns: tuple[Float[np.ndarray, "w q"], ...]


@lru_cache(maxsize=8)
def filters_for(
    size: tuple[int, int], J: int, L: int, stride: int, dtype: type | np.dtype = np.float64
) -> Filters:
    """The filters for images of H × W pixels."""
    grid = padded_size(size[0], J), padded_size(size[1], J)
    waves = wavelets(grid, J, L)
    second = [
        [coarser(waves[later], 2**j).astype(dtype) for later in range(j + 1, J)] for j in range(J)
    ]
    rows, columns = (
        [averages(n, places(n, stride), J, j).astype(dtype) for j in range(J)] for n in size
    )
    return Filters(
        tuple(wave.astype(dtype) for wave in waves),
        tuple(map(tuple, second)),
        tuple(rows),
        tuple(columns),
    )


def padded_size(n: int, J: int) -> int:
    """A multiple of 2ᴶ, at least 2ᴶ/2 pixels more on each side."""
    return (n // 2**J + 2) * 2**J


def mirrored(n: int, J: int) -> Int[np.ndarray, " P"]:
    """The pixel at each place of an image that is continued by its mirror image."""
    missing = padded_size(n, J) - n
    return np.pad(np.arange(n), (missing // 2, missing - missing // 2), mode="reflect")


def places(n: int, stride: int) -> Float[np.ndarray, " h"]:
    """The positions of coefficients among n pixels: `stride` apart, symmetric about the centre."""
    count = -(-n // stride)
    return 0.5 * (n - 1) + stride * (np.arange(count) - 0.5 * (count - 1))


def averages(n: int, where: Float[np.ndarray, " h"], J: int, j: int) -> Float[np.ndarray, "h p"]:
    """φ along one axis, from every 2ʲ-th pixel of the continued image to places in it."""
    size = padded_size(n, J)
    start = (size - n) // 2

    def gaussian(distance):
        distance = distance[..., None] + size * _PERIODS
        return np.exp(-0.5 * (distance / window_width(J)) ** 2).sum(axis=-1)

    pixels = np.arange(0, size, 2**j)
    total = gaussian(np.arange(size)).sum()
    return 2**j * gaussian(where[:, None] + start - pixels) / total


def path_names(J: int, L: int) -> list[str]:
    """Names of the coefficients, in their order."""
    first = [[f"j{j}a{t}" for t in range(L)] for j in range(J)]
    second = [
        f"{one}_{other}"
        for j in range(J)
        for later in range(j + 1, J)
        for one in first[j]
        for other in first[later]
    ]
    return ["mean", *(name for names in first for name in names), *second]


def coefficients(images: Float[Array, "N H W"], filters: Filters) -> Float[Array, "N paths h w"]:
    """All coefficients of all images."""
    J = len(filters.first)
    N, height, width = images.shape
    x = images[:, mirrored(height, J)][:, :, mirrored(width, J)]
    frequencies = jnp.fft.fft2(x)[:, None]
    found, second = [_averaged(x[:, None], filters, 0)], []
    for j in range(J):
        waves = jnp.abs(jnp.fft.ifft2(_thinned(frequencies * filters.first[j], 2**j)))
        found.append(_averaged(waves, filters, j))
        if not filters.second[j]:
            continue
        again = jnp.fft.fft2(waves)[:, :, None]
        for step, wavelet in enumerate(filters.second[j], start=1):
            both = jnp.abs(jnp.fft.ifft2(_thinned(again * wavelet, 2**step)))
            kept = _averaged(both, filters, j + step)
            second.append(kept.reshape(N, -1, *kept.shape[-2:]))
    return jnp.concatenate(found + second, axis=1)


def _averaged(u: Float[Array, "... p q"], filters: Filters, j: int) -> Float[Array, "... h w"]:
    return filters.rows[j] @ u @ filters.columns[j].T


def _thinned(frequencies: Complex[Array, "... P Q"], factor: int) -> Complex[Array, "... p q"]:
    """The Fourier transform of every `factor`-th pixel."""
    if factor == 1:
        return frequencies
    *leading, P, Q = frequencies.shape
    folded = frequencies.reshape(*leading, factor, P // factor, factor, Q // factor)
    return folded.mean(axis=(-4, -2))
