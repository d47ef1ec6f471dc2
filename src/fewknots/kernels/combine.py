"""Sums and products of kernels, by `+` and `*`, and kernels by name."""

from functools import reduce
from typing import Any

import numpy as np
from jaxtyping import Float

from ..numerics.arrays import AnyArray
from .base import Kernel
from .linear import Constant, Linear
from .stationary import RBF, Matern12, Matern32, Matern52

KERNELS: dict[str, type[Kernel]] = {
    "rbf": RBF,
    "matern12": Matern12,
    "matern32": Matern32,
    "matern52": Matern52,
    "linear": Linear,
    "constant": Constant,
}


class Pair(Kernel):
    """Two kernels and a way to join them; parameters are reached as `k1__...`, `k2__...`."""

    k1: Any
    k2: Any

    def prepared(self, spread: Float[np.ndarray, " D"], ard: bool = True) -> "Kernel":
        return type(self)(self.k1.prepared(spread, ard), self.k2.prepared(spread, ard))

    def input_scale(self) -> Float[AnyArray, "..."] | None:
        scale = self.k1.input_scale()
        return self.k2.input_scale() if scale is None else scale


class Sum(Pair):
    """k(a, b) = k1(a, b) + k2(a, b): a function that is the sum of two independent ones."""

    def __call__(
        self, A: Float[AnyArray, "N D"], B: Float[AnyArray, "M D"]
    ) -> Float[AnyArray, "N M"]:
        return self.k1(A, B) + self.k2(A, B)

    def diagonal(self, A: Float[AnyArray, "N D"]) -> Float[AnyArray, " N"]:
        return self.k1.diagonal(A) + self.k2.diagonal(A)

    def __repr__(self) -> str:
        return f"{self.k1!r} + {self.k2!r}"


class Product(Pair):
    """k(a, b) = k1(a, b) · k2(a, b)."""

    def __call__(
        self, A: Float[AnyArray, "N D"], B: Float[AnyArray, "M D"]
    ) -> Float[AnyArray, "N M"]:
        return self.k1(A, B) * self.k2(A, B)

    def diagonal(self, A: Float[AnyArray, "N D"]) -> Float[AnyArray, " N"]:
        return self.k1.diagonal(A) * self.k2.diagonal(A)

    def __repr__(self) -> str:
        return " * ".join(f"({k!r})" if isinstance(k, Sum) else repr(k) for k in (self.k1, self.k2))


def as_kernel(value: Any) -> Kernel:
    """The kernel that a kernel, a number (a constant) or a text such as "rbf + linear" means."""
    if isinstance(value, Kernel):
        return value
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
