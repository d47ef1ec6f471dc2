"""Kernels without distance: linear functions, and a constant."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..numerics.arrays import AnyArray
from .base import Kernel, one_per_input, positive_parameter


class Linear(Kernel):
    """k(a, b) = Σ_d variance_d a_d b_d: straight lines through the origin.

    variance : positive number, one per input, or None (from the data: 1/D over each input's
        own variance, so that k(a, a) is about 1).
    ard : one variance per input, or a single one for all.
    """

    variance: Any = None
    ard: bool = True

    def __call__(
        self, A: Float[AnyArray, "N D"], B: Float[AnyArray, "M D"]
    ) -> Float[AnyArray, "N M"]:
        return (A * self._weights(A)) @ B.T

    def diagonal(self, A: Float[AnyArray, "N D"]) -> Float[AnyArray, " N"]:
        return jnp.sum(jnp.square(A) * self._weights(A), axis=1)

    def _weights(self, A):
        return 1.0 / A.shape[1] if self.variance is None else self.variance

    def prepared(self, spread: Float[np.ndarray, " D"], ard: bool = True) -> "Kernel":
        per_input = one_per_input(self, ard)
        size = len(spread)
        default = 1.0 / (size * spread**2) if per_input else 1.0 / np.sum(spread**2)
        variance = positive_parameter(self, "variance", default, size if per_input else None)
        return type(self)(variance=variance, ard=per_input)


class Constant(Kernel):
    """k(a, b) = variance: an unknown level, shared by all points."""

    variance: Any = 1.0

    def __call__(
        self, A: Float[AnyArray, "N D"], B: Float[AnyArray, "M D"]
    ) -> Float[AnyArray, "N M"]:
        return self.variance * jnp.ones((A.shape[0], B.shape[0]), A.dtype)

    def diagonal(self, A: Float[AnyArray, "N D"]) -> Float[AnyArray, " N"]:
        return self.variance * jnp.ones(A.shape[0], A.dtype)

    def prepared(self, spread: Float[np.ndarray, " D"], ard: bool = True) -> "Kernel":
        return type(self)(variance=positive_parameter(self, "variance", 1.0, None))
