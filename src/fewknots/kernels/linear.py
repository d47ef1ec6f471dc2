"""Kernels that are not functions of a distance: constant, linear, polynomial."""

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..numerics.arrays import AnyArray
from ..numerics.fields import column_choice, positive, setting
from .base import Kernel, Moved, over_inputs

_LARGEST_TENSOR = 2**20  # numbers


def _one_over_squares(spread: Float[np.ndarray, " D"], each: bool) -> Any:
    return 1.0 / (len(spread) * spread**2) if each else 1.0 / np.sum(spread**2)


class Linear(Kernel):
    """k(a, b) = Σ_d variance_d a_d b_d: straight lines through the origin.

    variance : positive number, one per input, or None (from the data: 1/D divided by each input's
        own variance, so that k(a, a) is about 1).
    ard : one variance per input, or a single one for all.
    columns : names or numbers of the inputs that it uses, or None for all.

    Examples
    --------
    >>> import numpy as np
    >>> from fewknots.kernels import Linear
    >>> kernel = Linear(variance=2.0)
    >>> x = np.array([[0.0], [1.0], [3.0]], np.float32)
    >>> np.asarray(kernel(x, x)).round(2)
    array([[ 0.,  0.,  0.],
           [ 0.,  2.,  6.],
           [ 0.,  6., 18.]], dtype=float32)
    """

    variance: Any = positive(None, one_per_input="ard", start=_one_over_squares, unit=-2)
    ard: bool = setting(True)
    columns: Any = column_choice()

    def __call__(
        self, A: Float[AnyArray, "N D"], B: Float[AnyArray, "M D"]
    ) -> Float[AnyArray, "N M"]:
        A, B = self.chosen(A), self.chosen(B)
        return (A * self._weights(A)) @ B.T

    def diagonal(self, A: Float[AnyArray, "N D"]) -> Float[AnyArray, " N"]:
        A = self.chosen(A)
        return jnp.sum(jnp.square(A) * self._weights(A), axis=1)

    def n_functions(self, n_inputs: int, n_features: int) -> int:
        return 1

    def randomness(self, random: np.random.RandomState, n_inputs: int, size: int) -> Any:
        """A slope for each input."""
        n_chosen = n_inputs if self.columns is None else len(self.columns)
        return random.standard_normal((n_chosen, size))

    def random_functions(
        self, X: Float[AnyArray, "N D"], randomness: Any
    ) -> Float[AnyArray, "N F"]:
        X = self.chosen(X)
        return (X * jnp.sqrt(self._weights(X))) @ randomness

    def _weights(self, A):
        return 1.0 / A.shape[1] if self.variance is None else self.variance

    def moved(self, step: Float[np.ndarray, " D"], mean: Float[np.ndarray, " D"]) -> Moved:
        """Uses E x_d² = s_d² + m_d², the mean over the rows, not the value at the mean row."""
        variance = over_inputs(self, np.asarray(self.variance, np.float64), len(step), 0.0)
        still = np.sum(variance * (np.square(step) + np.square(mean))) * np.ones(len(step))
        lean = variance * step * mean
        return Moved(still, still + lean, still + 2.0 * lean + variance * np.square(step))

    def onnx_covariance(self, inputs: Any) -> Any:
        inputs = inputs.chosen(self.columns)
        weighted, points = inputs.X * inputs.per_input(self.variance), inputs.points().transposed()
        # With one input the variance is a single factor. onnxruntime would move it into the matrix
        # product and round it to float32 there.
        return weighted * points if inputs.shape[1] == 1 else weighted @ points

    def onnx_diagonal(self, inputs: Any) -> Any:
        inputs = inputs.chosen(self.columns)
        return (inputs.X * inputs.X * inputs.per_input(self.variance)).sum(axis=1)


class Polynomial(Linear):
    """k(a, b) = (Σ_d variance_d a_d b_d + offset)^degree: polynomials up to that degree.

    offset : positive number; the smaller it is, the more the highest power dominates.
    degree : whole number, not learned. With 1 it is a Linear kernel plus a Constant.

    Examples
    --------
    >>> import numpy as np
    >>> from fewknots.kernels import Polynomial
    >>> kernel = Polynomial(variance=1.0, degree=2)
    >>> x = np.array([[0.0], [1.0], [3.0]], np.float32)
    >>> np.asarray(kernel(x, x)).round(2)
    array([[  1.,   1.,   1.],
           [  1.,   4.,  16.],
           [  1.,  16., 100.]], dtype=float32)
    """

    offset: Any = positive(1.0)
    degree: int = setting(2)

    def __call__(
        self, A: Float[AnyArray, "N D"], B: Float[AnyArray, "M D"]
    ) -> Float[AnyArray, "N M"]:
        return (super().__call__(A, B) + self.offset) ** self.degree

    def diagonal(self, A: Float[AnyArray, "N D"]) -> Float[AnyArray, " N"]:
        return (super().diagonal(A) + self.offset) ** self.degree

    # With x̃ = (√variance x, √offset) the kernel is (x̃·x̃')^degree. A random function is a tensor
    # of independent normal numbers contracted with x̃ in all its `degree` indices: this is
    # Gaussian. If the tensor would be too large, it is a product of linear functions of x̃, which
    # is not Gaussian.

    def n_functions(self, n_inputs: int, n_features: int) -> int:
        return 1 if self._has_tensor(n_inputs, 1) else n_features

    def randomness(self, random: np.random.RandomState, n_inputs: int, size: int) -> Any:
        n_chosen = n_inputs if self.columns is None else len(self.columns)
        if self._has_tensor(n_inputs, size):
            return random.standard_normal((*(n_chosen + 1,) * self.degree, size))
        return tuple(random.standard_normal((n_chosen + 1, size)) for _ in range(self.degree))

    def random_functions(
        self, X: Float[AnyArray, "N D"], randomness: Any
    ) -> Float[AnyArray, "N F"]:
        X = self.chosen(X)
        level = jnp.sqrt(jnp.asarray(self.offset, X.dtype)) * jnp.ones((len(X), 1), X.dtype)
        extended = jnp.concatenate([X * jnp.sqrt(self._weights(X)), level], axis=1)
        if isinstance(randomness, tuple):
            return math.prod(extended @ slopes for slopes in randomness)
        found = jnp.tensordot(extended, randomness, 1)
        for _ in range(self.degree - 1):
            found = jnp.einsum("nd,nd...->n...", extended, found)
        return found

    def _has_tensor(self, n_inputs: int, size: int) -> bool:
        n_chosen = n_inputs if self.columns is None else len(self.columns)
        return size * (n_chosen + 1) ** self.degree <= _LARGEST_TENSOR

    def moved(self, step: Float[np.ndarray, " D"], mean: Float[np.ndarray, " D"]) -> Moved:
        """Approximates E(l + c)^degree by (E l + c)^degree, where l is the linear kernel."""
        return Moved(
            *((part + float(self.offset)) ** self.degree for part in super().moved(step, mean))
        )

    def onnx_covariance(self, inputs: Any) -> Any:
        return _power(super().onnx_covariance(inputs) + float(self.offset), self.degree)

    def onnx_diagonal(self, inputs: Any) -> Any:
        return _power(super().onnx_diagonal(inputs) + float(self.offset), self.degree)


def _power(x: Any, degree: int) -> Any:
    """x^degree by products: ONNX does not define powers of negative numbers."""
    result = x
    for _ in range(degree - 1):
        result = result * x
    return result


class Constant(Kernel):
    """k(a, b) = variance: an unknown constant, the same for all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from fewknots.kernels import Constant
    >>> kernel = Constant(2.0)
    >>> x = np.array([[0.0], [1.0], [3.0]], np.float32)
    >>> np.asarray(kernel(x, x)).round(2)
    array([[2., 2., 2.],
           [2., 2., 2.],
           [2., 2., 2.]], dtype=float32)
    """

    variance: Any = positive(1.0)

    def __call__(
        self, A: Float[AnyArray, "N D"], B: Float[AnyArray, "M D"]
    ) -> Float[AnyArray, "N M"]:
        return self.variance * jnp.ones((A.shape[0], B.shape[0]), A.dtype)

    def diagonal(self, A: Float[AnyArray, "N D"]) -> Float[AnyArray, " N"]:
        return self.variance * jnp.ones(A.shape[0], A.dtype)

    def n_functions(self, n_inputs: int, n_features: int) -> int:
        return 1

    def randomness(self, random: np.random.RandomState, n_inputs: int, size: int) -> Any:
        return random.standard_normal(size)

    def random_functions(
        self, X: Float[AnyArray, "N D"], randomness: Any
    ) -> Float[AnyArray, "N F"]:
        level = jnp.sqrt(jnp.asarray(self.variance, X.dtype)) * randomness
        return jnp.broadcast_to(level, (len(X), level.shape[0]))

    def onnx_covariance(self, inputs: Any) -> Any:
        return inputs.ones() @ np.full((1, inputs.shape[0]), self.variance)

    def onnx_diagonal(self, inputs: Any) -> Any:
        return inputs.number(self.variance)
