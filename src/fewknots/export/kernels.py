"""The inputs from which a kernel computes its covariances as ONNX operations in float64.

`kernel.onnx_covariance(inputs)` is k(x, z) for all rows x and points z, `kernel.onnx_diagonal` is
k(x, x). Both are arithmetic on the tensors of `Inputs`, so a kernel does not import ONNX.

Squared distances must not be differences of large numbers. With up to 32 inputs, if all digits are
needed, they are sums of squared differences, as in `kernels/stationary.py`. Otherwise they are
|x|² + |z|² - 2xz of centred inputs, as one matrix product in float64, which keeps far more digits
than float32 has.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import onnx
from jaxtyping import Float
from onnx.reference import ReferenceEvaluator

from ..kernels import Kernel
from ..kernels.stationary import MOST_INPUTS_FOR_DIFFERENCES
from ..numerics.precision import computing_in
from .graph import Graph, Tensor, side_by_side, square

_CHECKED_POINTS = 5


class Inputs(NamedTuple):
    """Rows and points, standardised, in float64."""

    X: Tensor  # N×D
    Z: Tensor  # M×D, minus their mean, so that float32 is accurate far from zero
    centre: Float[np.ndarray, "1 D"]  # their mean
    shape: tuple[int, int]  # of Z
    exact: bool  # whether squared distances need full accuracy

    def points(self) -> Tensor:
        """The points, not centred."""
        return self.Z + self.centre

    def chosen(self, columns: tuple[int, ...] | None) -> "Inputs":
        """These columns; None means all."""
        if columns is None:
            return self
        X, Z = (tensor.take_columns(columns) for tensor in (self.X, self.Z))
        shape = (self.shape[0], len(columns))
        return self._replace(X=X, Z=Z, centre=self.centre[:, list(columns)], shape=shape)

    def mapped(self, function: Callable[[Tensor], Tensor], n_inputs: int) -> "Inputs":
        """The inputs replaced by a function of them with `n_inputs` columns."""
        X, Z = function(self.X), function(self.points())
        centre = np.zeros((1, n_inputs))
        return self._replace(X=X, Z=Z, centre=centre, shape=(self.shape[0], n_inputs))

    def squared_distance(self, scale: Float[np.ndarray, "..."]) -> Tensor:
        """The N×M matrix of Σ_d (x_nd - z_md)² / scale_d²."""
        n_inputs = self.shape[1]
        scale = self.per_input(scale)
        x, z = (self.X - self.centre) / scale, self.Z / scale
        if self.exact and n_inputs <= MOST_INPUTS_FOR_DIFFERENCES:
            rows, points = x.columns(n_inputs), z.columns(n_inputs)
            total = square(rows[0] - points[0].transposed())
            for row, point in zip(rows[1:], points[1:], strict=True):
                total = total + square(row - point.transposed())  # two N×M arrays in memory, not D
            return total
        of_rows = side_by_side(x, square(x).sum(axis=1), _ones(x))
        of_points = side_by_side(-2.0 * z, _ones(z), square(z).sum(axis=1))
        return (of_rows @ of_points.transposed()).maximum(0.0)  # rounding can make it negative

    def per_input(self, parameter: Any) -> Float[np.ndarray, "1 D"]:
        """A parameter of the kernel as a row, one value for each input."""
        value = np.asarray(parameter, np.float64)
        return np.broadcast_to(value, (self.shape[1],))[None, :]

    def number(self, value: Any) -> Tensor:
        """A number that is the same for all rows."""
        return self.X.graph.number(float(value), self.X.dtype)

    def ones(self) -> Tensor:
        """A column of ones, one for each row."""
        return _ones(self.X)


def _ones(x: Tensor) -> Tensor:
    return x.sum(axis=1) * 0.0 + 1.0


def check_hooks(kernel: Kernel, points: Float[np.ndarray, "M D"]) -> None:
    """Raise an error if the ONNX hooks compute another kernel, as inherited hooks may do."""
    some = points[:_CHECKED_POINTS].astype(np.float64)
    with computing_in(np.dtype(np.float64)):
        wanted = [np.asarray(kernel(some, some)), np.asarray(kernel.diagonal(some))[:, None]]
    graph = Graph()
    X = graph.input("X", np.float64, *some.shape)
    inputs = Inputs(X, graph.array(some), np.zeros((1, some.shape[1])), some.shape, exact=True)
    graph.output("k", kernel.onnx_covariance(inputs), len(some), len(some))
    graph.output("d", kernel.onnx_diagonal(inputs) * inputs.ones(), len(some), 1)
    model = onnx.load_model_from_string(graph.content("check", ("fewknots", ""), {}))
    found = ReferenceEvaluator(model).run(None, {"X": some})
    for got, want in zip(found, wanted, strict=True):
        if not np.allclose(got, want, rtol=1e-6, atol=1e-6 * np.abs(want).max()):
            raise TypeError(
                f"the ONNX operations of the kernel {kernel!r} compute other numbers than the "
                "kernel. A class that changes the formula of the one it is made from must change "
                "`onnx_covariance` and `onnx_diagonal`, too."
            )
