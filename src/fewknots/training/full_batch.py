r"""Fitting the sparse KL bound with every row at every step, in one of two ways.

**collapsed** (the default). Inside, natural gradients find the best q(v) for the present kernel
and Z (natural_gradient.py); outside, L-BFGS-B moves kernel and Z. At the best q the bound's
derivative for q is zero, so the derivative of the collapsed bound for kernel and Z is the
partial one, at fixed q (the envelope theorem). The inner solve need only be good compared with
what the outer one gains: it stops at a fraction of the last outer gain, and is finished to the
last digit at the end.

**lbfgs**, as in the paper: L-BFGS-B over m, the triangle of S, Z and the kernel at once, the
kernel frozen at first and then unfrozen.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from ..arrays import AnyArray
from ..exceptions import NumericalError
from ..inducing import relocate
from ..inference.features import project
from ..inference.sparse_kl import (
    Rows,
    Sites,
    WhitenedGaussian,
    bound,
    feature_cotangents,
    look,
    prior_sites,
)
from ..kernels import Kernel
from ..likelihoods import Likelihood
from ..optimize.lbfgsb import Status, maximise
from ..optimize.natural_gradient import solve_q
from ..posterior import GaussianPosterior
from .parameters import Named, decode, encode, limits

_FIRST_TOLERANCE = 1e-2  # nats, of the inner solve before there is an outer gain to compare with
_INNER_SHARE = 0.05  # of the last outer gain
_MOST_PASSES = 100
_FINAL_PASSES = 2000
_ROUND_LENGTH = 20  # iterations before idle inducing points are looked for
_RELOCATIONS = 3
_FROZEN_SHARE = 0.2  # of max_iter, at most, with the kernel frozen ("lbfgs" only)


@dataclass(frozen=True)
class Problem:
    """All that a fit needs: data, model, what may move, and when to stop."""

    rows: Rows
    likelihood: Likelihood
    kernel: Kernel
    Z: Float[np.ndarray, "M D"]
    jitter: float
    learn_kernel: bool
    learn_inducing: bool
    max_iter: int
    tol: float  # nats per unit of weight that ten iterations must gain
    rng: np.random.RandomState

    @property
    def plateau_gain(self) -> float:
        """What ten iterations must gain, in nats."""
        return self.tol * float(np.sum(self.rows.weights))


class EvidenceGradient(NamedTuple):
    """The bound's derivatives at the end of a fit.

    kernel : a kernel whose every parameter is replaced by the derivative for its logarithm.
    inducing_points : the derivative for each coordinate of Z.
    """

    kernel: Kernel
    inducing_points: Float[np.ndarray, "M D"]


class Fitted(NamedTuple):
    """What a fit leaves behind."""

    posterior: GaussianPosterior
    bound: float
    gradient: EvidenceGradient
    iterations: int
    status: Status
    jitter: float


Report = Callable[[float], bool]


class Evaluation(NamedTuple):
    """The bound at one setting of the free parameters, and all that was found on the way."""

    bound: Float[Array, ""]
    gradient: Any  # for the free parameters
    kernel: Kernel
    Z: Float[AnyArray, "M D"]
    d_kernel: Kernel  # for the kernel's parameters at fixed Z
    d_points: Float[Array, "M D"]
    q: WhitenedGaussian
    whitener: Float[Array, "M M"]
    jitter: Float[Array, ""]
    factorised: Bool[Array, ""]


# --- collapsed ----------------------------------------------------------------------------------


def fit_collapsed(problem: Problem, report: Report) -> Fitted:
    """Natural gradients inside, L-BFGS-B outside; early on, idle inducing points are moved."""
    kernel, Z = problem.kernel, problem.Z
    evaluate = _CollapsedBound(problem)

    def on_iteration(value: float) -> bool:
        evaluate.follow(value)
        return report(value)

    iterations, status = 0, Status.CONVERGED
    relocations = _RELOCATIONS if problem.learn_inducing else 0
    while True:
        free, evaluate.frozen = encode(kernel, Z, problem.learn_kernel, problem.learn_inducing)
        if not free:
            break
        left = problem.max_iter - iterations
        free, _, used, status = maximise(
            evaluate,
            free,
            limits(free),
            max_iter=min(_ROUND_LENGTH, left) if relocations else left,
            plateau_gain=problem.plateau_gain,
            on_iteration=on_iteration,
        )
        iterations += used
        if status is not Status.MAX_ITER or iterations >= problem.max_iter:
            break
        kernel, Z, moved = evaluate.relocated(free)
        relocations = relocations - 1 if moved else 0
    evaluate.finish(free)
    return _finish(evaluate.last, iterations, status)


class _CollapsedBound:
    """The collapsed bound as a function of the free parameters; it remembers where q was."""

    def __init__(self, problem: Problem):
        self.problem = problem
        self.rows = jax.tree.map(jnp.asarray, problem.rows)  # on the device once
        self.frozen: Named = {}
        self.dtype = problem.rows.y.dtype
        self.sites = prior_sites(problem.rows.y.shape[0], self.dtype)
        self.jitter = problem.jitter
        self.tolerance = _FIRST_TOLERANCE
        self.max_passes = _MOST_PASSES
        self.value = -np.inf
        self.last: Evaluation

    def __call__(self, free: Named) -> tuple[float, Any]:
        self.last, sites = _evaluate_collapsed(
            free,
            self.frozen,
            self.problem.likelihood,
            self.rows,
            self.sites,
            np.asarray(self.jitter, self.dtype),
            np.asarray(self.tolerance, self.dtype),
            self.max_passes,
        )
        value = float(self.last.bound)
        if np.isfinite(value):
            self.sites = sites
            # A jitter once needed is kept: a bound that switches jitter has no gradient.
            self.jitter = max(self.jitter, float(self.last.jitter))
        return value, self.last.gradient

    def follow(self, value: float) -> None:
        """After an outer iteration: solve the next q as well as the outer gain asks for."""
        gain = value - self.value
        if np.isfinite(gain):
            self.tolerance = _INNER_SHARE * max(gain, 0.1 * self.problem.plateau_gain)
        self.value = value

    def relocated(self, free: Named) -> tuple[Kernel, Float[np.ndarray, "M D"], bool]:
        """The present kernel, and Z with its idle points moved if that raises the bound."""
        now, _ = self(free)
        kernel, Z = jax.tree.map(np.asarray, (self.last.kernel, self.last.Z))
        rows = np.flatnonzero(self.problem.rows.weights)
        moved, moves = relocate(
            kernel,
            np.asarray(self.problem.rows.X)[rows],
            np.asarray(self.sites.precision)[rows],
            Z,
            self.problem.rng,
        )
        if moves == 0:
            return kernel, Z, False
        before = self.sites
        free, self.frozen = encode(kernel, moved, self.problem.learn_kernel, True)
        then, _ = self(free)
        if then > now:
            return kernel, moved, True
        self.sites = before
        return kernel, Z, False

    def finish(self, free: Named) -> None:
        """Solve for q to the last digit."""
        self.tolerance, self.max_passes = 0.0, _FINAL_PASSES
        self(free)


@jax.jit
def _evaluate_collapsed(
    free, frozen, likelihood, rows, sites, jitter, tolerance, max_passes
) -> tuple[Evaluation, Sites]:
    (kernel, Z), decode_pullback = jax.vjp(lambda free: decode(free, frozen), free)
    features, feature_pullback = project(kernel, Z, rows.X, jitter)
    solution = solve_q(features, likelihood, rows, sites, tolerance, max_passes)
    d_kernel, d_Z = feature_pullback(feature_cotangents(features, solution.q, solution.seen))
    (gradient,) = decode_pullback((d_kernel, d_Z))
    evaluation = Evaluation(
        solution.bound,
        gradient,
        kernel,
        Z,
        d_kernel,
        d_Z,
        solution.q,
        features.whitener,
        features.jitter,
        features.ok,
    )
    return evaluation, solution.sites


# --- joint, as in the paper ---------------------------------------------------------------------


def fit_jointly(problem: Problem, report: Report) -> Fitted:
    """L-BFGS-B over q(v), Z and the kernel; the kernel is frozen first, then unfrozen."""
    n_inducing, dtype = problem.Z.shape[0], problem.Z.dtype
    q = {"mean": np.zeros(n_inducing, dtype), "lower": np.eye(n_inducing, dtype=dtype)}
    kernel, Z = problem.kernel, problem.Z
    iterations, status = 0, Status.CONVERGED
    for learn_kernel in (False, True) if problem.learn_kernel else (False,):
        last_phase = learn_kernel == problem.learn_kernel
        share = 1.0 if last_phase else _FROZEN_SHARE
        free, frozen = encode(kernel, Z, learn_kernel, problem.learn_inducing)
        evaluate = _JointBound(problem, frozen)
        free, _, used, status = maximise(
            evaluate,
            free | {"q": q},
            limits(free | {"q": q}),
            max_iter=max(1, int(share * problem.max_iter) - iterations),
            plateau_gain=problem.plateau_gain,
            on_iteration=report,
        )
        iterations += used
        evaluate(free)
        q = free["q"]
        kernel, Z = jax.tree.map(np.asarray, (evaluate.last.kernel, evaluate.last.Z))
        if status is Status.STOPPED:
            break
    return _finish(evaluate.last, iterations, status)


class _JointBound:
    """The bound as a function of q, Z and the kernel together."""

    def __init__(self, problem: Problem, frozen: Named):
        self.problem = problem
        self.rows = jax.tree.map(jnp.asarray, problem.rows)
        self.frozen = frozen
        self.jitter = problem.jitter
        self.last: Evaluation

    def __call__(self, free: Named) -> tuple[float, Any]:
        problem = self.problem
        jitter = np.asarray(self.jitter, problem.rows.y.dtype)
        self.last = _evaluate_jointly(free, self.frozen, problem.likelihood, self.rows, jitter)
        if np.isfinite(value := float(self.last.bound)):
            self.jitter = max(self.jitter, float(self.last.jitter))
        return value, self.last.gradient


@jax.jit
def _evaluate_jointly(free, frozen, likelihood, rows, jitter) -> Evaluation:
    mean, lower = free["q"]["mean"], jnp.tril(free["q"]["lower"])
    diagonal = jnp.diagonal(lower)
    q = WhitenedGaussian(mean, lower.T, 2.0 * jnp.sum(jnp.log(jnp.abs(diagonal))))
    others = {name: value for name, value in free.items() if name != "q"}
    (kernel, Z), decode_pullback = jax.vjp(lambda others: decode(others, frozen), others)
    features, feature_pullback = project(kernel, Z, rows.X, jitter)
    seen = look(features, q, likelihood, rows)
    d_kernel, d_Z = feature_pullback(feature_cotangents(features, q, seen))
    (gradient,) = decode_pullback((d_kernel, d_Z))
    A, expected = features.explained, seen.expected
    # ∂/∂m and, with S = LLᵀ, ∂/∂L = tril(2 ∂/∂S L): the lower triangle of S⁻¹L is 1/diag(L).
    d_mean = A.T @ expected.slope - mean
    data_precision = (A * expected.curvature[:, None]).T @ A
    d_lower = jnp.tril(-data_precision @ lower - lower) + jnp.diag(1.0 / diagonal)
    gradient = gradient | {"q": {"mean": d_mean, "lower": d_lower}}
    return Evaluation(
        bound(q, seen),
        gradient,
        kernel,
        Z,
        d_kernel,
        d_Z,
        q,
        features.whitener,
        features.jitter,
        features.ok,
    )


# --- both -----------------------------------------------------------------------------------------


def _finish(last: Evaluation, iterations: int, status: Status) -> Fitted:
    """The posterior at the final parameters, or an error that says what broke."""
    if not bool(last.factorised):
        raise NumericalError(
            "the covariance of the inducing points (Kmm) could not be factorised, even with a "
            f"jitter of {float(last.jitter):.0e} times the kernel's variance. Try fewer inducing "
            "points (n_inducing), a larger jitter, or dtype='float64'."
        )
    if not np.isfinite(float(last.bound)):
        raise NumericalError(
            "the bound is not a number at the last parameters, kernel "
            f"{jax.tree.map(np.asarray, last.kernel)!r}. Try standardize=True, a larger jitter, "
            "dtype='float64', or another start for the kernel's parameters."
        )
    kernel, d_kernel = jax.tree.map(np.asarray, (last.kernel, last.d_kernel))
    posterior = GaussianPosterior.from_whitened(
        kernel, last.Z, last.whitener, last.q.mean, last.q.factor
    )
    gradient = EvidenceGradient(
        jax.tree.map(np.multiply, d_kernel, kernel), np.asarray(last.d_points)
    )
    return Fitted(posterior, float(last.bound), gradient, iterations, status, float(last.jitter))
