r"""Morlet wavelets and a Gaussian window, as functions of frequency on a periodic grid.

A wavelet of scale 2ʲ and angle θ is a Gaussian times a wave, minus a multiple of the Gaussian that
makes its mean zero. The Gaussian is longer across the direction of the wave than along it. With ω∥
and ω⊥ the parts of a frequency ω along θ and across it, s = 0.8 · 2ʲ and ξ = (3π/4) 2⁻ʲ,

    ψ̂(ω) = c [ ĝ(ω∥ - ξ, ω⊥) - β ĝ(ω∥, ω⊥) ],   ĝ(a, b) = exp(-½ s² (a² + (L b / 4)²)),

with β such that ψ̂(0) = 0. The window is φ̂(ω) = exp(-½ s² |ω|²), s = 0.8 · 2ᴶ⁻¹. On a grid of
pixels frequencies repeat every 2π, so each function is summed over its repetitions.

Bruna & Mallat, "Invariant scattering convolution networks", 2013, section 2, has these wavelets. c
is the largest number for which the Littlewood-Paley sum is nowhere above one (their eq. 3):

    |φ̂(ω)|² + ½ Σ_{j,θ} ( |ψ̂(ω)|² + |ψ̂(-ω)|² ) ≤ 1,

so that a transform never adds energy, and never increases the distance of two images.

| symbol | name     | shape           |
|--------|----------|-----------------|
| ψ̂      | wavelets | J × L × P × Q   |
| φ̂      | window   | P × Q           |
"""

import numpy as np
from jaxtyping import Float

_FINEST = 0.8  # standard deviation of the finest wavelet along its waves, in pixels
_REPEATS = range(-2, 3)
_NOTHING = 1e-9  # below this no wavelet covers a frequency


def wavelets(grid: tuple[int, int], J: int, L: int) -> Float[np.ndarray, "J L P Q"]:
    """ψ̂ for scales 1, 2, 4, ... and the angles 0, π/L, ..., scaled by c."""
    each = np.stack([[_morlet(grid, j, np.pi * t / L, L) for t in range(L)] for j in range(J)])
    sums = _energy(each)
    seen = sums > _NOTHING
    return each * np.sqrt(np.min((1.0 - window(grid, J)[seen] ** 2) / sums[seen]))


def window(grid: tuple[int, int], J: int) -> Float[np.ndarray, "P Q"]:
    """φ̂."""
    gaussian = _repeated(grid, 0.0, 0.0, window_width(J), 1.0)
    return gaussian / gaussian[0, 0]


def window_width(J: int) -> float:
    """The standard deviation of φ, in pixels."""
    return _FINEST * 2 ** (J - 1)


def littlewood_paley(grid: tuple[int, int], J: int, L: int) -> Float[np.ndarray, "P Q"]:
    """The sum over all filters; see above."""
    return window(grid, J) ** 2 + _energy(wavelets(grid, J, L))


def coarser(filters: Float[np.ndarray, "... P Q"], factor: int) -> Float[np.ndarray, "... p q"]:
    """The filters on a grid with fewer pixels: the frequencies that are left there."""
    for axis in (-2, -1):
        n = filters.shape[axis]
        left = np.fft.fftfreq(n // factor, factor / n).astype(int) % n
        filters = np.take(filters, left, axis)
    return filters


def _morlet(grid: tuple[int, int], j: int, angle: float, L: int) -> Float[np.ndarray, "P Q"]:
    width, frequency = _FINEST * 2**j, 0.75 * np.pi / 2**j
    wave = _repeated(grid, angle, frequency, width, L / 4)
    gaussian = _repeated(grid, angle, 0.0, width, L / 4)
    return wave - wave[0, 0] / gaussian[0, 0] * gaussian


def _repeated(
    grid: tuple[int, int], angle: float, frequency: float, width: float, slenderness: float
) -> Float[np.ndarray, "P Q"]:
    """ĝ around a frequency, summed over its repetitions."""
    total = np.zeros(grid)
    rows, columns = (2.0 * np.pi * np.fft.fftfreq(n) for n in grid)
    for up in _REPEATS:
        for right in _REPEATS:
            y, x = rows[:, None] + 2.0 * np.pi * up, columns[None, :] + 2.0 * np.pi * right
            along = y * np.cos(angle) + x * np.sin(angle) - frequency
            across = x * np.cos(angle) - y * np.sin(angle)
            total += np.exp(-0.5 * width**2 * (along**2 + (slenderness * across) ** 2))
    return total


def _energy(wavelets: Float[np.ndarray, "J L P Q"]) -> Float[np.ndarray, "P Q"]:
    """½ Σ (|ψ̂(ω)|² + |ψ̂(-ω)|²)."""
    each = np.square(wavelets).sum(axis=(0, 1))
    opposite = np.roll(each[::-1, ::-1], 1, axis=(0, 1))
    return 0.5 * (each + opposite)
