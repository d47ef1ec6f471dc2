r"""`images.Scattering` as ONNX operations: Fourier transforms as products with small matrices.

The formulas are those of images/coefficients.py. A convolution is a transform, a product and an
inverse transform. Along one axis a transform is a matrix F_kn = e^{-2πikn/P}, and

    x̂ = (F R_H) x (F R_W)ᵀ,      (x ⋆ ψ)(2ʲm) = Σ_k G_mk x̂_k ψ̂_k,   G_mk = e^{2πik 2ʲm/P} / P,

where R continues an image by its mirror image. So dropped pixels are never computed, and the
results agree with those of a fast transform up to rounding. A complex number is a pair of real
ones. Arithmetic is in float64; only the components are stored in the requested dtype.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Complex, Float

from ..images.coefficients import mirrored
from ..images.scattering import Scattering
from .graph import Graph, Tensor, absolute, joined, log, sign, sqrt, square


class Pair(NamedTuple):
    """Real and imaginary parts of N × C × ... × P × Q numbers."""

    real: Tensor
    imaginary: Tensor


def scattered(scattering: Scattering, graph: Graph, rows: str, dtype: np.dtype) -> Tensor:
    """The input "X", images as flat rows, and the transformer's output for them, in float64."""
    height, width, channels = scattering.image_shape_
    X = graph.input("X", dtype, rows, scattering.n_features_in_).cast(np.float64)
    images = _reshaped(X, -1, height, width, channels)
    images = graph.apply("Transpose", images, perm=[0, 3, 1, 2])
    found = _coefficients(scattering, images.unsqueezed(2))
    if scattering.floor_ is not None:
        floor = scattering.floor_.astype(np.float64).reshape(1, channels, -1, 1, 1)
        relative = absolute(found) / floor
        bent = (
            log(1.0 + relative) if scattering.nonlinearity == "log" else sqrt(1.0 + relative) - 1.0
        )
        found = sign(found) * bent
    flat = graph.apply("Flatten", found, axis=1)
    if scattering.components_ is None or scattering.mean_ is None:
        return flat
    axes = graph.array(scattering.components_.T, dtype).cast(np.float64)
    return (flat - scattering.mean_[None, :].astype(np.float64)) @ axes


def _coefficients(scattering: Scattering, images: Tensor) -> Tensor:
    """N × C × paths × h × w from N × C × 1 × H × W."""
    filters = scattering._filters()
    J, sizes = int(scattering.J), scattering.image_shape_[:2]
    continued = [np.eye(n)[mirrored(n, J)] for n in sizes]
    P, Q = (len(part) for part in continued)

    def averaged(u: Tensor, j: int) -> Tensor:
        A, B = (part[j].astype(np.float64) for part in (filters.rows, filters.columns))
        kept = _product(A, u) @ B.T
        return _reshaped(kept, 0, 0, -1, len(A), len(B))

    x = _product(continued[0], images) @ continued[1].T
    frequencies = _transformed(images, *(_forward(len(part)) @ part for part in continued))
    found, second = [averaged(x, 0)], []
    for j in range(J):
        back = _backward(P, 2**j), _backward(Q, 2**j)
        waves = _modulus(frequencies, filters.first[j], back)
        found.append(averaged(waves, j))
        if not filters.second[j]:
            continue
        p, q = P // 2**j, Q // 2**j
        again = _transformed(waves.unsqueezed(3), _forward(p), _forward(q))
        for step, wavelet in enumerate(filters.second[j], start=1):
            back = _backward(p, 2**step), _backward(q, 2**step)
            second.append(averaged(_modulus(again, wavelet, back), j + step))
    return joined(*found, *second, axis=2)


def _modulus(
    frequencies: Pair,
    wavelet: Float[np.ndarray, "L p q"],
    back: tuple[Complex[np.ndarray, "_ p"], Complex[np.ndarray, "_ q"]],
) -> Tensor:
    """|x ⋆ ψ| of all angles."""
    shaped = wavelet.astype(np.float64)
    real, imaginary = (part * shaped for part in frequencies)
    rows, columns = back
    upper = _product(rows.real, real) - _product(rows.imag, imaginary)
    lower = _product(rows.real, imaginary) + _product(rows.imag, real)
    real = upper @ columns.real.T - lower @ columns.imag.T
    imaginary = upper @ columns.imag.T + lower @ columns.real.T
    return sqrt(square(real) + square(imaginary))


def _transformed(
    x: Tensor, rows: Complex[np.ndarray, "P p"], columns: Complex[np.ndarray, "Q q"]
) -> Pair:
    """The Fourier transform of real numbers."""
    upper, lower = _product(rows.real, x), _product(rows.imag, x)
    return Pair(
        upper @ columns.real.T - lower @ columns.imag.T,
        upper @ columns.imag.T + lower @ columns.real.T,
    )


def _forward(P: int) -> Complex[np.ndarray, "P P"]:
    return np.fft.fft(np.eye(P))


def _backward(P: int, step: int) -> Complex[np.ndarray, "_ P"]:
    return np.fft.ifft(np.eye(P))[::step]


def _product(matrix: Float[np.ndarray, "p q"], x: Tensor) -> Tensor:
    """A stored matrix times the last two axes."""
    return x.graph.array(matrix, x.dtype) @ x


def _reshaped(x: Tensor, *shape: int) -> Tensor:
    """Reshape; 0 keeps an axis, -1 is the rest."""
    return x.graph.apply("Reshape", x, x.graph.array(shape, np.int64))
