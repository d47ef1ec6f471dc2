"""Kernels as ONNX operations in float64: k(x, z) for all rows x and points z, and k(x, x).

onnxruntime runs one operation after the other over all N×M numbers, so there should be few of them.
A kernel of distance is a function of q, the squared distance times a constant, in which the
variance is part of the exponent.

Squared distances must not be differences of large numbers. Up to 32 inputs they are, where all
digits are wanted, sums of squared differences, as in `kernels/stationary.py`. Otherwise they are
|x|² + |z|² - 2xz of centred inputs, as one matrix product in float64, which leaves far more digits
than float32 has.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ..kernels import RBF, Constant, Kernel, Linear, Matern12, Matern32, Matern52, Product, Sum
from ..kernels.stationary import MOST_INPUTS_FOR_DIFFERENCES, Stationary
from .graph import Tensor, exp, side_by_side, sqrt, square


class Inputs(NamedTuple):
    """Rows and points, standardised, in float64."""

    X: Tensor  # N×D
    Z: Tensor  # M×D, less their mean: so stored, they lose nothing by being far from zero
    centre: Float[np.ndarray, "1 D"]  # their mean
    shape: tuple[int, int]  # of Z
    exact: bool  # whether squared distances shall have all digits


def covariance(kernel: Kernel, inputs: Inputs) -> Tensor:
    """The N×M matrix of k(x_n, z_m)."""
    if isinstance(kernel, Sum):
        return covariance(kernel.k1, inputs) + covariance(kernel.k2, inputs)
    if isinstance(kernel, Product):
        return covariance(kernel.k1, inputs) * covariance(kernel.k2, inputs)
    if isinstance(kernel, Stationary):
        factor, value = _OF_DISTANCE[type(kernel)]
        scale = _per_input(kernel.lengthscale, inputs) / math.sqrt(factor)
        return value(_squared_distance(inputs, scale), math.log(kernel.variance))
    if isinstance(kernel, Linear):
        points = (inputs.Z + inputs.centre).transposed()
        return (inputs.X * _per_input(kernel.variance, inputs)) @ points
    if isinstance(kernel, Constant):
        return _ones(inputs.X) @ np.full((1, inputs.shape[0]), kernel.variance)
    raise TypeError(f"ONNX export does not know the kernel {type(kernel).__name__}.")


def diagonal(kernel: Kernel, inputs: Inputs) -> Tensor:
    """k(x_n, x_n) as a column, or a single number if it is the same for all rows."""
    if isinstance(kernel, Sum):
        return diagonal(kernel.k1, inputs) + diagonal(kernel.k2, inputs)
    if isinstance(kernel, Product):
        return diagonal(kernel.k1, inputs) * diagonal(kernel.k2, inputs)
    if isinstance(kernel, Linear):
        return (square(inputs.X) * _per_input(kernel.variance, inputs)).sum(axis=1)
    if isinstance(kernel, Stationary | Constant):
        return inputs.X.graph.number(float(kernel.variance), inputs.X.dtype)
    raise TypeError(f"ONNX export does not know the kernel {type(kernel).__name__}.")


def _squared_distance(inputs: Inputs, scale: Float[np.ndarray, "1 D"]) -> Tensor:
    n_inputs = inputs.shape[1]
    x, z = (inputs.X - inputs.centre) / scale, inputs.Z / scale
    if inputs.exact and n_inputs <= MOST_INPUTS_FOR_DIFFERENCES:
        rows, points = x.columns(n_inputs), z.columns(n_inputs)
        total = square(rows[0] - points[0].transposed())
        for row, point in zip(rows[1:], points[1:], strict=True):
            total = total + square(row - point.transposed())  # two N×M arrays at a time, not D
        return total
    of_rows = side_by_side(x, square(x).sum(axis=1), _ones(x))
    of_points = side_by_side(-2.0 * z, _ones(z), square(z).sum(axis=1))
    return (of_rows @ of_points.transposed()).maximum(0.0)  # rounding alone can go below zero


def _per_input(parameter, inputs: Inputs) -> Float[np.ndarray, "1 D"]:
    """A parameter of the kernel as a row, one value for each input."""
    value = np.asarray(parameter, np.float64)
    return np.broadcast_to(value, (inputs.shape[1],))[None, :]


def _ones(x: Tensor) -> Tensor:
    """A column of ones, one for each row of x."""
    return x.sum(axis=1) * 0.0 + 1.0


# --- kernels of distance, from q = factor · r² and the logarithm of the variance ------------------


def _rbf(q: Tensor, log_variance: float) -> Tensor:
    return exp(log_variance - q)


def _matern12(q: Tensor, log_variance: float) -> Tensor:
    return exp(log_variance - sqrt(q))


def _matern32(q: Tensor, log_variance: float) -> Tensor:
    s = sqrt(q)
    return (1.0 + s) * exp(log_variance - s)


def _matern52(q: Tensor, log_variance: float) -> Tensor:
    s = sqrt(q)
    return (1.0 + s + q / 3.0) * exp(log_variance - s)


_OF_DISTANCE: dict[type[Kernel], tuple[float, Callable[[Tensor, float], Tensor]]] = {
    RBF: (0.5, _rbf),
    Matern12: (1.0, _matern12),
    Matern32: (3.0, _matern32),
    Matern52: (5.0, _matern52),
}
