"""Sums and products of kernels, by `+` and `*`, and kernels by name."""

from collections.abc import Iterable
from functools import reduce
from typing import Any

import numpy as np
from jaxtyping import Float

from ..numerics.arrays import AnyArray
from .base import Kernel, Moved
from .linear import Constant, Linear, Polynomial
from .periodic import Periodic
from .stationary import RBF, Hyperbolic, Matern12, Matern32, Matern52, RationalQuadratic

KERNELS: dict[str, type[Kernel]] = {
    "rbf": RBF,
    "matern12": Matern12,
    "matern32": Matern32,
    "matern52": Matern52,
    "rational_quadratic": RationalQuadratic,
    "hyperbolic": Hyperbolic,
    "periodic": Periodic,
    "linear": Linear,
    "polynomial": Polynomial,
    "constant": Constant,
}


class Pair(Kernel):
    """Two kernels and a way to combine them; their parameters are `k1__...`, `k2__...`."""

    k1: Any
    k2: Any

    def joined(self, one: Any, other: Any) -> Any:
        """Combine the values of the two kernels."""
        raise NotImplementedError

    def __call__(
        self, A: Float[AnyArray, "N D"], B: Float[AnyArray, "M D"]
    ) -> Float[AnyArray, "*C N M"]:
        return self.joined(self.k1(A, B), self.k2(A, B))

    def diagonal(self, A: Float[AnyArray, "N D"]) -> Float[AnyArray, "*C N"]:
        return self.joined(self.k1.diagonal(A), self.k2.diagonal(A))

    def moved(self, step: Float[np.ndarray, " D"], mean: Float[np.ndarray, " D"]) -> Moved:
        """For a product this assumes independent factors."""
        both = zip(self.k1.moved(step, mean), self.k2.moved(step, mean), strict=True)
        return Moved(*(self.joined(one, other) for one, other in both))

    @property
    def of_all(self) -> Kernel:
        return type(self)(self.k1.of_all, self.k2.of_all)

    def of_latent(self, number: int) -> Kernel:
        return type(self)(self.k1.of_latent(number), self.k2.of_latent(number))

    def randomness(self, random: np.random.RandomState, n_inputs: int, size: int) -> Any:
        return tuple(k.randomness(random, n_inputs, size) for k in (self.k1, self.k2))

    def random_functions(
        self, X: Float[AnyArray, "N D"], randomness: Any
    ) -> Float[AnyArray, "N F"]:
        """Sums and products of independent functions have the sum and product of covariances."""
        one, other = randomness
        return self.joined(self.k1.random_functions(X, one), self.k2.random_functions(X, other))

    def onnx_covariance(self, inputs: Any) -> Any:
        return self.joined(self.k1.onnx_covariance(inputs), self.k2.onnx_covariance(inputs))

    def onnx_diagonal(self, inputs: Any) -> Any:
        return self.joined(self.k1.onnx_diagonal(inputs), self.k2.onnx_diagonal(inputs))


class Sum(Pair):
    """k(a, b) = k1(a, b) + k2(a, b): a function that is the sum of two independent ones.

    Examples
    --------
    >>> import numpy as np
    >>> from fewknots.kernels import RBF, Linear
    >>> kernel = RBF(lengthscale=2.0) + Linear(variance=1.0)
    >>> x = np.array([[0.0], [1.0], [3.0]], np.float32)
    >>> np.asarray(kernel(x, x)).round(2)
    array([[ 1.  ,  0.88,  0.32],
           [ 0.88,  2.  ,  3.61],
           [ 0.32,  3.61, 10.  ]], dtype=float32)
    """

    def joined(self, one: Any, other: Any) -> Any:
        return one + other

    def __repr__(self) -> str:
        return f"{self.k1!r} + {self.k2!r}"


class Product(Pair):
    """k(a, b) = k1(a, b) · k2(a, b).

    Examples
    --------
    >>> import numpy as np
    >>> from fewknots.kernels import RBF, Linear
    >>> kernel = RBF(lengthscale=2.0) * Linear(variance=1.0)
    >>> x = np.array([[0.0], [1.0], [3.0]], np.float32)
    >>> np.asarray(kernel(x, x)).round(2)
    array([[0.  , 0.  , 0.  ],
           [0.  , 1.  , 1.82],
           [0.  , 1.82, 9.  ]], dtype=float32)
    """

    def joined(self, one: Any, other: Any) -> Any:
        return one * other

    def __repr__(self) -> str:
        return " * ".join(f"({k!r})" if isinstance(k, Sum) else repr(k) for k in (self.k1, self.k2))


def as_kernel(value: Any, names: Iterable[str] | None = None) -> Kernel:
    """Convert a kernel, a number (a constant) or a text such as "rbf + linear" to a kernel.

    names : column names, needed if a kernel chooses its columns by name.

    Examples
    --------
    >>> from fewknots.kernels import as_kernel
    >>> as_kernel("matern32 + linear")
    Matern32() + Linear()
    """
    if isinstance(value, Kernel):
        return value if names is None else value.numbered(list(names))
    if isinstance(value, str):
        return _parse(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Constant(float(value))
    raise TypeError(
        f"a kernel must be a fewknots kernel, a name ({', '.join(KERNELS)}) "
        f"or a sum or product of names, got {value!r}."
    )


def _parse(text: str) -> Kernel:
    def named(factor: str) -> Kernel:
        name = factor.strip().lower()
        if name not in KERNELS:
            raise ValueError(
                f"unknown kernel {name!r} in {text!r}; the names are {', '.join(KERNELS)}, "
                "joined by + and *."
            )
        return KERNELS[name]()

    products = [reduce(Product, map(named, term.split("*"))) for term in text.split("+")]
    return reduce(Sum, products)
