"""The interface between training and an inference method.

A method is a small frozen dataclass: its fields are its options, so a compiled evaluation is kept
for each choice of options. `evaluate` is pure and compiled; `posterior` runs once, at the end.

A method declares once what it can do (`Capabilities`). Training, streams, checks of arguments,
export, reports and the command line read this, and never ask for the class of a method. A method
only declares what differs from the defaults.
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
    chooses_rows: ClassVar[bool] = False  # its posterior is at some rows, which it chooses itself
    stores_rows: ClassVar[bool] = False  # a fitted model contains rows unchanged
    looks_up_neighbours: ClassVar[bool] = False  # each prediction uses its own few rows
    # supports several latent functions: for all likelihoods, or those with this attribute
    several_latent: ClassVar[bool | str] = False
    own_kernels: ClassVar[bool] = False  # each latent function may have a kernel of its own
    any_curvature: ClassVar[bool] = False  # supports likelihoods that are not log-concave
    has_q: ClassVar[bool] = False  # any optimiser can optimise q(u): jointly, minibatches
    streams: ClassVar[bool] = False  # can learn from rows that are read piece by piece
    sums_rows: ClassVar[bool] = False  # all it needs from the rows are sums, also on a cluster
    exports_to_onnx: ClassVar[bool] = True
    likelihoods: ClassVar[tuple[str, ...] | None] = None  # derived for these likelihoods; None: any
    optimizer: ClassVar[str] = "collapsed"  # what optimizer="auto" means in full batch
    OPTIONS: ClassVar[dict[str, Any]] = {}  # option name: its possible values, or their type

    @property
    def bound(self) -> str:
        """The bound that it maximises, "standard" or "tight"."""
        return "standard"

    @property
    def weights(self) -> str:
        """Allowed weights: "any", "copies" (0 or at least 1) or "whole" numbers (of rows)."""
        raise NotImplementedError


class Budget(NamedTuple):
    """Accuracy of the inner solve, and its largest number of passes."""

    tolerance: Float[AnyArray, ""]  # nats
    passes: Int[AnyArray, ""] | int


class Evaluated(NamedTuple):
    """The evidence at one kernel and Z, and the solution of the inner problem."""

    evidence: Float[Array, ""]
    d_kernel: Kernel
    d_points: Any  # M×D, or None without inducing points
    d_likelihood: Likelihood
    memory: Any  # the start of the next evaluation
    held: Any  # what the posterior is made from
    jitter: Float[Array, ""]  # relative; used for Kmm
    factorised: Bool[Array, ""]
    solved: Bool[Array, ""] | bool = True  # to the budget's accuracy, not cut off by its passes


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
        """The posterior of the last evaluation."""
        raise NotImplementedError


def check_latent(name: str, several_latent: bool | str, likelihood: Likelihood) -> None:
    """Refuse a likelihood with several latent functions if the method is for one."""
    if isinstance(several_latent, str):
        several_latent = getattr(likelihood, several_latent)
    if likelihood.n_latent > 1 and not several_latent:
        raise ValueError(
            f"method={name!r} is derived for one latent function, and the likelihood "
            f"{type(likelihood).__name__} has {likelihood.n_latent}. Use method='sparse_kl' or "
            "'full_kl'."
        )


class HeldByPoints(NamedTuple):
    """q(v) and the whitener L⁻¹, at the inducing points."""

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
        """The posterior without padded rows, whose columns of T are zero."""
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
    """Base of methods with inducing points; by default their memory is the sites."""

    sparse = True

    def start(self, rows: Rows, n_latent: int = 1) -> Any:
        return prior_sites(len(rows.y), rows.y.dtype, n_latent)

    def posterior(self, kernel, Z, rows, held: HeldByPoints) -> Posterior:
        return held.posterior(kernel, Z)


class OverRows(Method):
    """Base of methods without inducing points; by default their memory is the sites."""

    stores_rows = True

    def start(self, rows: Rows, n_latent: int = 1) -> Any:
        return prior_sites(len(rows.y), rows.y.dtype, n_latent)

    def posterior(self, kernel, Z, rows, held: Any) -> Posterior:
        return held.posterior(kernel, rows)


def likelihood_gradient(
    likelihood: Likelihood, part: Callable[[Likelihood], Float[Array, ""]]
) -> Likelihood:
    """Gradient of `part` of the evidence with respect to the likelihood's own parameters.

    In forward mode: there are few parameters, and quadrature loops until it is accurate, which
    cannot be differentiated in reverse mode.
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
    """(jitter 0, finite?) for methods that do not factorise Kmm."""
    return jnp.zeros_like(value), jnp.isfinite(value)
