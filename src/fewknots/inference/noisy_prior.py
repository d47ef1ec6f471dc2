"""g ~ N(0, Q + I) and the operations with C = (Q + I)⁻¹ for mean field; symbols are in
mean_field.py.

Q = A Aᵀ with inducing points, or Q = K. Newton's method needs (C + D)⁻¹ x. For several functions
at a time (`solver`) it consists of products only: on a CPU, batches of triangular solves can
deadlock (linalg.py).
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol, runtime_checkable

import jax.numpy as jnp
from jax.scipy.linalg import cho_solve
from jaxtyping import Array, Float

from ..numerics.linalg import one_by_one, precision_factor, times
from .features import FeatureCotangents, Features
from .priors import information

Solver = Callable[[Float[Array, "L N"]], Float[Array, "L N"]]


@runtime_checkable
class NoisyPrior(Protocol):
    """g ~ N(0, Q + I), and the operations with C = (Q + I)⁻¹ that mean field needs."""

    @property
    def log_det(self) -> Float[Array, ""]:
        """log|Q + I|."""
        ...

    @property
    def own_precision(self) -> Float[Array, " N"]:
        """C_nn."""
        ...

    @property
    def slack(self) -> Float[Array, ""]:
        """½ Σ κ."""
        ...

    def precision_times(self, x: Float[Array, " N"]) -> Float[Array, " N"]: ...

    def newton_step(
        self, D: Float[Array, " N"], residual: Float[Array, " N"]
    ) -> Float[Array, " N"]: ...

    def solver(self, D: Float[Array, "L N"]) -> Solver:
        """(C + D_l)⁻¹ x_l for each function l."""
        ...


class LowRankNoisyPrior(NamedTuple):
    """Q = A Aᵀ."""

    features: Features
    factor: Float[Array, "M M"]  # G = factorᵀ factor
    log_det: Float[Array, ""]
    own_precision: Float[Array, " N"]
    slack: Float[Array, ""]

    @classmethod
    def of(cls, features: Features) -> "LowRankNoisyPrior":
        A = features.explained
        factor, log_det = precision_factor(jnp.eye(A.shape[1], dtype=A.dtype) + A.T @ A)
        own_precision = 1.0 - jnp.sum(jnp.square(A @ factor.T), axis=1)
        return cls(features, factor, log_det, own_precision, 0.5 * jnp.sum(features.unexplained))

    def precision_times(self, x):
        A = self.features.explained
        return x - A @ (self.factor.T @ (self.factor @ (A.T @ x)))

    def newton_step(self, D, residual):
        """(C + D)⁻¹ x = E x + E A (I + Aᵀ(1 - E)A)⁻¹ Aᵀ E x, with E = 1/(1 + D)."""
        A, E = self.features.explained, 1.0 / (1.0 + D)
        identity = jnp.eye(A.shape[1], dtype=A.dtype)
        factor, _ = precision_factor(identity + (A * (1.0 - E)[:, None]).T @ A)
        scaled = E * residual
        return scaled + E * (A @ (factor.T @ (factor @ (A.T @ scaled))))

    def solver(self, D):
        A, E = self.features.explained, 1.0 / (1.0 + D)
        identity = jnp.eye(A.shape[1], dtype=A.dtype)
        factor, _ = precision_factor(identity + information(A, 1.0 - E))

        def solve(x):
            scaled = E * x
            return scaled + E * (times(factor.mT, times(factor, scaled @ A)) @ A.T)

        return solve

    def cotangents(self, mean, variance) -> FeatureCotangents:
        """R A and -½, with C A = A G."""
        A, G = self.features.explained, self.factor.T @ self.factor
        pull = self.precision_times(mean)
        CA = A @ G
        scaled = variance[:, None] * CA
        explained = jnp.outer(pull, A.T @ pull) + scaled - CA @ (A.T @ scaled) - CA
        return FeatureCotangents(explained, jnp.full_like(mean, -0.5))


class DenseNoisyPrior(NamedTuple):
    """Q = K, κ = 0."""

    precision: Float[Array, "N N"]  # C
    log_det: Float[Array, ""]
    own_precision: Float[Array, " N"]
    slack: Float[Array, ""]

    @classmethod
    def of(cls, covariance: Float[Array, "N N"]) -> "DenseNoisyPrior":
        identity = jnp.eye(covariance.shape[0], dtype=covariance.dtype)
        inverse, log_det = precision_factor(covariance + identity)
        C = inverse.T @ inverse
        return cls(C, log_det, jnp.diagonal(C), jnp.zeros_like(log_det))

    def precision_times(self, x):
        return self.precision @ x

    def newton_step(self, D, residual):
        return cho_solve((jnp.linalg.cholesky(self.precision + jnp.diag(D)), True), residual)

    def solver(self, D):
        factor, _ = precision_factor(one_by_one(lambda d: self.precision + jnp.diag(d), D))
        return lambda x: times(factor.mT, times(factor, x))

    def cotangents(self, mean, variance) -> Float[Array, "N N"]:
        """½ R."""
        C, pull = self.precision, self.precision @ mean
        return 0.5 * (jnp.outer(pull, pull) + (C * variance) @ C - C)
