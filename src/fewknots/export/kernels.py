"""Kernels as ONNX operations: k(x, z) for every row x of a batch and every point z, and k(x, x).

Squared distances must not be differences of large numbers. In float64, up to 32 inputs, they are
sums of squared differences, as in `kernels/stationary.py`. Otherwise they are |x|² + |z|² - 2xz of
centred inputs, always computed in float64: in float32 this form would leave three digits of a small
distance, and none of a very small one.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ..kernels import RBF, Constant, Kernel, Linear, Matern12, Matern32, Matern52, Product, Sum
from ..kernels.stationary import MOST_INPUTS_FOR_DIFFERENCES, Stationary
from .graph import Tensor, exp, sqrt, square


class Inputs(NamedTuple):
    """Rows and points, standardised, in float64; what is computed from them is in `dtype`."""

    X: Tensor  # N×D
    Z: Tensor  # M×D
    shape: tuple[int, int]  # of Z
    dtype: np.dtype


def covariance(kernel: Kernel, inputs: Inputs) -> Tensor:
    """The N×M matrix of k(x_n, z_m)."""
    if isinstance(kernel, Sum):
        return covariance(kernel.k1, inputs) + covariance(kernel.k2, inputs)
    if isinstance(kernel, Product):
        return covariance(kernel.k1, inputs) * covariance(kernel.k2, inputs)
    if isinstance(kernel, Stationary):
        r2 = _squared_distance(inputs, _per_input(kernel.lengthscale, inputs))
        return float(kernel.variance) * _CORRELATIONS[type(kernel)](r2)
    if isinstance(kernel, Linear):
        weighed = inputs.X * _per_input(kernel.variance, inputs)
        return (weighed @ inputs.Z.transposed()).cast(inputs.dtype)
    if isinstance(kernel, Constant):
        ones = (inputs.X.columns(inputs.shape[1])[0] * 0.0 + 1.0).cast(inputs.dtype)
        return ones @ np.full((1, inputs.shape[0]), float(kernel.variance))
    raise TypeError(f"ONNX export does not know the kernel {type(kernel).__name__}.")


def diagonal(kernel: Kernel, inputs: Inputs) -> Tensor:
    """k(x_n, x_n) as a column, or a single number if it is the same for all rows."""
    if isinstance(kernel, Sum):
        return diagonal(kernel.k1, inputs) + diagonal(kernel.k2, inputs)
    if isinstance(kernel, Product):
        return diagonal(kernel.k1, inputs) * diagonal(kernel.k2, inputs)
    if isinstance(kernel, Linear):
        weighed = square(inputs.X) * _per_input(kernel.variance, inputs)
        return weighed.sum(axis=1).cast(inputs.dtype)
    if isinstance(kernel, Stationary | Constant):
        return inputs.X.graph.number(float(kernel.variance), inputs.dtype)
    raise TypeError(f"ONNX export does not know the kernel {type(kernel).__name__}.")


def _squared_distance(inputs: Inputs, scale: Float[np.ndarray, "1 D"]) -> Tensor:
    n_inputs = inputs.shape[1]
    centre = inputs.Z.mean(axis=0)
    x, z = (inputs.X - centre) / scale, (inputs.Z - centre) / scale
    if inputs.dtype == np.float64 and n_inputs <= MOST_INPUTS_FOR_DIFFERENCES:
        rows, points = x.columns(n_inputs), z.columns(n_inputs)
        total = square(rows[0] - points[0].transposed())
        for row, point in zip(rows[1:], points[1:], strict=True):
            total = total + square(row - point.transposed())  # two N×M arrays at a time, not D
        return total
    squares = square(x).sum(axis=1) + square(z).sum(axis=1).transposed()
    return (squares - 2.0 * (x @ z.transposed())).maximum(0.0).cast(inputs.dtype)


def _per_input(parameter, inputs: Inputs) -> Float[np.ndarray, "1 D"]:
    """A parameter of the kernel as a row, one value for each input."""
    value = np.asarray(parameter, np.float64)
    return np.broadcast_to(value, (inputs.shape[1],))[None, :]


def _matern32(r2: Tensor) -> Tensor:
    s = 3.0**0.5 * sqrt(r2)
    return (1.0 + s) * exp(-s)


def _matern52(r2: Tensor) -> Tensor:
    s = 5.0**0.5 * sqrt(r2)
    return (1.0 + s + square(s) / 3.0) * exp(-s)


_CORRELATIONS: dict[type[Kernel], Callable[[Tensor], Tensor]] = {
    RBF: lambda r2: exp(-0.5 * r2),
    Matern12: lambda r2: exp(-sqrt(r2)),
    Matern32: _matern32,
    Matern52: _matern52,
}
