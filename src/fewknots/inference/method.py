"""What training asks of an inference method, whatever the method is.

A method is a small frozen dataclass: its fields are its options, so that a compiled evaluation
can be kept for each. `evaluate` is pure and compiled; `posterior` runs once, at the end.

What a method can do it says once (`Capabilities`), and everyone who has to know reads it there.
Training, streams, checks of arguments, export, reports and the command line ask these, and never
which class a method is. A method states only what differs from the defaults.
"""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ..kernels import Kernel
from ..likelihoods import Likelihood
from ..numerics.arrays import AnyArray
from ..posterior import GaussianPosterior, Held, Posterior, from_whitened
from .priors import projection
from .sites import RowGaussian, Rows, SignedGaussian, WhitenedGaussian, prior_sites


class Capabilities:
    """Declared by a method's class; its fields are its options."""

    name: ClassVar[str]
    is_bound: ClassVar[bool]  # the evidence is a lower bound
    sparse: ClassVar[bool] = False  # has inducing points, which can be placed and can move
    chooses_rows: ClassVar[bool] = False  # is held by some of the rows, which it chooses itself
    stores_rows: ClassVar[bool] = False  # a fitted model holds rows as they are
    looks_up_neighbours: ClassVar[bool] = False  # each prediction has its own few rows
    # for likelihoods of several latent functions, too: all, or those that say so in this attribute
    several_latent: ClassVar[bool | str] = False
    own_kernels: ClassVar[bool] = False  # each latent function may have a kernel of its own
    any_curvature: ClassVar[bool] = False  # for likelihoods that are not log-concave, too
    has_q: ClassVar[bool] = False  # q(u) can be moved by any optimiser: jointly, by minibatches
    streams: ClassVar[bool] = False  # learns from rows that are read piece by piece
    sums_rows: ClassVar[bool] = False  # all it needs of the rows adds up, also on a cluster
    exports_to_onnx: ClassVar[bool] = True
    likelihoods: ClassVar[tuple[str, ...] | None] = None  # that it is derived for; None: any
    optimizer: ClassVar[str] = "collapsed"  # what optimizer="auto" means in full batch
    OPTIONS: ClassVar[dict[str, Any]] = {}  # by name: the values there are, or their type

    @property
    def bound(self) -> str:
        """Which one, of those that there are for any q(u): "standard" or "tight"."""
        return "standard"

    @property
    def weights(self) -> str:
        """Which there may be: "any", "copies" (0 or at least 1) or "whole" numbers (of rows)."""
        raise NotImplementedError


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

    def start(self, rows: Rows, n_latent: int = 1) -> Any:
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


def check_latent(name: str, several_latent: bool | str, likelihood: Likelihood) -> None:
    """Refuse a likelihood that has more latent functions than the method is derived for."""
    if isinstance(several_latent, str):
        several_latent = getattr(likelihood, several_latent)
    if likelihood.n_latent > 1 and not several_latent:
        raise ValueError(
            f"method={name!r} is derived for one latent function, and the likelihood "
            f"{type(likelihood).__name__} has {likelihood.n_latent}. Use method='sparse_kl' or "
            "'full_kl'."
        )


class HeldByPoints(NamedTuple):
    """q(v) and the whitener that leads to it."""

    whitener: Float[Array, "*L M M"]
    q: WhitenedGaussian

    def posterior(
        self, kernel: Kernel, Z: Float[AnyArray, "M D"], kind: type[Held] = GaussianPosterior
    ) -> Posterior:
        return from_whitened(kernel, Z, self.whitener, self.q.mean, self.q.factor, kind)


class HeldByRows(NamedTuple):
    """T and the mean's coordinates, at every row; and F, if sites may have any sign."""

    projection: Float[Array, "L N N"]
    mean: Float[Array, "L N"]
    widening: Float[Array, "L N N"] | None = None  # signed_sites.py

    @classmethod
    def of(cls, gaussian: RowGaussian | SignedGaussian) -> "HeldByRows":
        if isinstance(gaussian, SignedGaussian):
            return cls(*gaussian)
        return cls(projection(gaussian), gaussian.whitened_linear)

    def posterior(
        self, kernel: Kernel, rows: Rows, kind: type[Held] = GaussianPosterior
    ) -> Posterior:
        """Without the rows that only filled up the block: their columns of T are zero."""
        real = np.flatnonzero(rows.weights)
        T, mean = np.asarray(self.projection), np.asarray(self.mean)
        points, projection, mean = (
            np.asarray(rows.X)[real],
            T[:, real[:, None], real],
            mean[..., real],
        )
        if self.widening is None:
            shrink = np.ones((len(T), len(real)), T.dtype)
            return kind(kernel, points, projection, mean, shrink)
        F = np.asarray(self.widening)[:, real[:, None], real]
        widths, U = np.linalg.eigh(F.mT @ F)
        rotated = (mean[..., None, :] @ U)[..., 0, :]
        return kind(kernel, points, U.mT @ projection, rotated, 1.0 - widths)


class OverPoints(Method):
    """What methods with inducing points have in common; sites are their memory unless they say."""

    sparse = True

    def start(self, rows: Rows, n_latent: int = 1) -> Any:
        return prior_sites(len(rows.y), rows.y.dtype, n_latent)

    def posterior(self, kernel, Z, rows, held: HeldByPoints) -> Posterior:
        return held.posterior(kernel, Z)


class OverRows(Method):
    """What methods without inducing points have in common; sites are their memory, as above."""

    stores_rows = True

    def start(self, rows: Rows, n_latent: int = 1) -> Any:
        return prior_sites(len(rows.y), rows.y.dtype, n_latent)

    def posterior(self, kernel, Z, rows, held: Any) -> Posterior:
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
    mean: Float[Array, "L N"],
    variance: Float[Array, "L N"],
) -> Float[Array, ""]:
    """Σ w E[log p(y|f)]: the part of a variational bound that depends on the likelihood."""
    return rows.weights @ likelihood.expectations(jnp.asarray(rows.y), mean, variance).log_prob


def without_jitter(value: Array) -> tuple[Array, Array]:
    """(jitter 0, finite?) for methods that factorise no Kmm."""
    return jnp.zeros_like(value), jnp.isfinite(value)
