"""What training asks of an inference method, whatever the method is.

A method is a small frozen dataclass: its fields are its options, so that a compiled evaluation
can be kept for each. `evaluate` is pure and compiled; `posterior` runs once, at the end.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ..kernels import Kernel
from ..likelihoods import Likelihood
from ..numerics.arrays import AnyArray
from ..posterior import Posterior, from_whitened, held_by_points
from .capabilities import Capabilities
from .priors import projection
from .sites import RowGaussian, Rows, WhitenedGaussian, prior_sites


class Budget(NamedTuple):
    """How well, and at most how long, the inner problem is to be solved."""

    tolerance: Float[AnyArray, ""]  # nats
    passes: Int[AnyArray, ""] | int


class Evaluated(NamedTuple):
    """The evidence at one kernel and Z, and all that was found on the way."""

    evidence: Float[Array, ""]
    d_kernel: Kernel
    d_points: Any  # M×D, or None without inducing points
    d_likelihood: Likelihood
    memory: Any  # where the next evaluation starts
    held: Any  # what the posterior is made of
    jitter: Float[Array, ""]  # relative; what Kmm needed
    factorised: Bool[Array, ""]
    solved: Bool[Array, ""] | bool = True  # as well as the budget asks, not cut off by its passes


class Method(Capabilities):
    """One of the paper's methods."""

    def start(self, rows: Rows) -> Any:
        """The memory before the first evaluation."""
        raise NotImplementedError

    def evaluate(
        self,
        kernel: Kernel,
        Z: Float[Array, "M D"] | None,
        likelihood: Likelihood,
        rows: Rows,
        memory: Any,
        jitter: Float[Array, ""],
        budget: Budget,
    ) -> Evaluated:
        """Solve the inner problem; return the evidence and its derivatives."""
        raise NotImplementedError

    def posterior(
        self, kernel: Kernel, Z: Float[np.ndarray, "M D"] | None, rows: Rows, held: Any
    ) -> Posterior:
        """The belief that the last evaluation found."""
        raise NotImplementedError


class HeldByPoints(NamedTuple):
    """q(v) and the whitener that leads to it."""

    whitener: Float[Array, "M M"]
    q: WhitenedGaussian

    def posterior(self, kernel: Kernel, Z: Float[AnyArray, "M D"]) -> Posterior:
        return from_whitened(kernel, Z, self.whitener, self.q.mean, self.q.factor)


class HeldByRows(NamedTuple):
    """T and the mean's coordinates, at every row."""

    projection: Float[Array, "N N"]
    mean: Float[Array, " N"]

    @classmethod
    def of(cls, gaussian: RowGaussian) -> "HeldByRows":
        return cls(projection(gaussian), gaussian.whitened_linear)

    def posterior(self, kernel: Kernel, rows: Rows) -> Posterior:
        """Without the rows that only filled up the block: their columns of T are zero."""
        real = np.flatnonzero(rows.weights)
        T, mean = np.asarray(self.projection), np.asarray(self.mean)
        return held_by_points(
            kernel,
            np.asarray(rows.X)[real],
            T[np.ix_(real, real)],
            mean[..., real],
            np.ones(len(real), T.dtype),
        )


class OverPoints(Method):
    """What methods with inducing points have in common; sites are their memory unless they say."""

    sparse = True

    def start(self, rows: Rows) -> Any:
        return prior_sites(len(rows.y), rows.y.dtype)

    def posterior(self, kernel, Z, rows, held: HeldByPoints) -> Posterior:
        return held.posterior(kernel, Z)


class OverRows(Method):
    """What methods without inducing points have in common; sites are their memory, as above."""

    stores_rows = True

    def start(self, rows: Rows) -> Any:
        return prior_sites(len(rows.y), rows.y.dtype)

    def posterior(self, kernel, Z, rows, held: HeldByRows) -> Posterior:
        return held.posterior(kernel, rows)


def likelihood_gradient(
    likelihood: Likelihood, part: Callable[[Likelihood], Float[Array, ""]]
) -> Likelihood:
    """∂/∂(the likelihood's own parameters) of `part`: what of the evidence depends on them.

    Forwards: they are few, and quadrature loops as long as its accuracy asks for, which cannot be
    differentiated backwards.
    """
    return jax.jacfwd(part)(likelihood) if jax.tree.leaves(likelihood) else likelihood


def expected_log_prob(
    likelihood: Likelihood,
    rows: Rows,
    mean: Float[Array, " N"],
    variance: Float[Array, " N"],
) -> Float[Array, ""]:
    """Σ w E[log p(y|f)]: the part of a variational bound that depends on the likelihood."""
    return rows.weights @ likelihood.expectations(jnp.asarray(rows.y), mean, variance).log_prob


def without_jitter(value: Array) -> tuple[Array, Array]:
    """(jitter 0, finite?) for methods that factorise no Kmm."""
    return jnp.zeros_like(value), jnp.isfinite(value)
