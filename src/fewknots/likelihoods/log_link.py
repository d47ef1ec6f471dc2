r"""The logarithmic link for targets of at least zero: E[y|f] = level · eᶠ.

The level is the mean of y at f = 0, the prior mean of f. It is learned, starting from the mean of
y. With f ~ N(μ, σ²), for any number p

    E[eᵖᶠ] = exp(pμ + ½p²σ²).
"""

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..numerics.elementary import exp
from ..numerics.fields import positive
from .base import Likelihood, refuse_rows
from .one_function import OneFunction

_LEAST_LEVEL = 1e-3  # initial level if all counts are zero


class LogLink(OneFunction):
    """`level`: the mean of y at f = 0; None: training starts from the mean of y."""

    level: Any = positive(None)

    def prepared(
        self, y: Float[np.ndarray, " N"], weights: Float[np.ndarray, " N"]
    ) -> "LogLink | Likelihood":
        if self.level is not None:
            return super().prepared(y, weights)
        level = max(float(np.average(y, weights=weights)), _LEAST_LEVEL)
        return dataclasses.replace(self, level=level).prepared(y, weights)

    def expected_rate(
        self, mean: Float[Array, "1 N"], variance: Float[Array, "1 N"]
    ) -> Float[Array, "1 N"]:
        """E[level · eᶠ]."""
        return self.level * exp(mean + 0.5 * variance)

    def rate_moments(
        self, mean: Float[Array, "1 N"], variance: Float[Array, "1 N"]
    ) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
        """Mean and variance of level · eᶠ."""
        rate = self.expected_rate(mean, variance)[0]
        return rate, jnp.square(rate) * jnp.expm1(variance[0])


def counts(targets: Any) -> Float[np.ndarray, " N"]:
    """Check that y holds whole numbers of at least zero."""
    y = np.asarray(targets, np.float64)
    strange = (y < 0) | (y != np.round(y))
    refuse_rows(strange, y, "no count", "Counts are whole numbers of at least 0.")
    return y
