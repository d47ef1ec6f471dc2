r"""Full-batch training: maximising a method's evidence over kernel, inducing points and likelihood.

**collapsed**, the default, for every method. An inner solver finds the method's own unknowns (q,
sites, factors) for the current kernel and Z; an outer optimiser moves kernel and Z. At the inner
optimum the derivative of the evidence with respect to the inner unknowns is zero, so the total
derivative with respect to kernel and Z is the partial one (envelope theorem). The inner solve only
needs to be accurate compared with the outer gains: it stops at a fraction of the last outer gain,
and runs to full accuracy at the end. If a pass over the rows takes long, it runs in pieces of
about a second, so that the time limit and Ctrl-C are checked in between.

**jointly** (joint.py), as in the paper, for the sparse KL bound: L-BFGS-B over everything at once.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from ..exceptions import NumericalError
from ..inducing import relocate
from ..inference.method import Budget, Evaluated, Method, check_latent
from ..inference.sites import Rows
from ..inference.sparse_kl import SparseKL
from ..kernels import Kernel
from ..numerics.precision import compiled, for_platform
from ..optimize.lbfgsb import Maximise, Status
from ..posterior import Posterior
from ..progress import Report
from ..stopping import StoppedEarly
from .parameters import Learned, Model, Named, add_prior, decode, encode, limits
from .row_sums import flops_of_a_row

_FIRST_TOLERANCE = 1e-2  # nats, tolerance of the inner solve before the first outer gain
_INNER_SHARE = 0.05  # tolerance of the inner solve, as a share of the last outer gain
_MOST_PASSES = 100
_FINAL_PASSES = 2000
_FLOPS_AT_ONCE = {"cpu": 1e11, "gpu": 2e13}  # flops between two checks of the time
_LEAST_AT_ONCE = 10  # passes: a solver must see whether it makes progress
_ROUND_LENGTH = 20  # iterations before the first search for idle inducing points
_RELOCATIONS = 3


@dataclass(frozen=True)
class Problem:
    """Everything that a fit needs: data, model, method, what is learned, and when to stop."""

    rows: Rows
    model: Model
    learned: Learned
    method: Method
    maximise: Maximise
    jitter: float
    max_iter: int
    tol: float  # least gain of ten iterations, in nats per unit of weight
    rng: np.random.RandomState
    memory: Any = None  # the method's start, if not its default
    off_rows: bool = False  # inducing points are never placed exactly on a row

    def __post_init__(self) -> None:
        check_latent(self.method.name, self.method.several_latent, self.model.likelihood)

    @property
    def plateau_gain(self) -> float:
        """Least gain of ten iterations, in nats."""
        return self.tol * float(np.sum(self.rows.weights))


class EvidenceGradient(NamedTuple):
    """Gradient of the evidence at the end of a fit.

    kernel : a kernel with each parameter replaced by the derivative with respect to its logarithm.
    inducing_points : derivative with respect to each coordinate of Z; None without inducing points.
    """

    kernel: Kernel
    inducing_points: Float[np.ndarray, "M D"] | None


class Fitted(NamedTuple):
    """The result of a fit."""

    posterior: Posterior
    held: Any  # the natural parameters that the posterior was made from
    model: Model
    evidence: float
    gradient: EvidenceGradient | None  # None after minibatches
    iterations: int
    evaluations: int
    status: Status
    jitter: float
    is_estimate: bool = False  # if the evidence is extrapolated from some of the rows
    stored_rows: int | None = None  # how many points of the posterior are rows; None: not counted


class Evaluation(NamedTuple):
    """The evidence at one setting of the free parameters."""

    gradient: Named  # of the objective, with respect to the free parameters
    model: Model
    found: Evaluated
    log_prior: Any  # log prior of the kernel's parameters; 0 without constraints

    @property
    def objective(self) -> float:
        """What training maximises: the evidence plus the log priors of the kernel's parameters."""
        return float(self.found.evidence) + float(self.log_prior)


def fit_collapsed(problem: Problem, report: Report) -> Fitted:
    """Collapsed training; early on, idle inducing points are relocated."""
    model = problem.model
    evaluate = _CollapsedEvidence(problem, report)

    def on_iteration(value: float) -> bool:
        evaluate.follow(value)
        last = evaluate.last
        return report(value - float(last.log_prior), so_far=partial(so_far, problem, last))

    iterations, status = 0, Status.CONVERGED
    relocations = _RELOCATIONS if problem.learned.Z and isinstance(problem.method, SparseKL) else 0
    while True:
        free, evaluate.frozen = encode(model, problem.learned)
        if not free:
            break
        left = problem.max_iter - iterations
        free, _, used, status = problem.maximise(
            evaluate,
            free,
            limits(free, evaluate.frozen),
            max_iter=min(_ROUND_LENGTH, left) if relocations else left,
            plateau_gain=problem.plateau_gain,
            on_iteration=on_iteration,
        )
        iterations += used
        if status is not Status.MAX_ITER or iterations >= problem.max_iter:
            break
        try:
            model, moved = evaluate.relocated(free)
        except StoppedEarly:
            status = Status.STOPPED
            break
        relocations = relocations - 1 if moved else 0
    evaluate.finish(free)
    return finish(problem, evaluate.last, iterations, evaluate.evaluations, status)


class _CollapsedEvidence:
    """The evidence as a function of the free parameters; it remembers the last inner solution."""

    def __init__(self, problem: Problem, report: Report):
        self.problem, self.report = problem, report
        self.rows = jax.device_put(problem.rows)  # once
        self.frozen: Named = {}
        self.dtype = problem.rows.y.dtype
        given = problem.memory is not None
        n_latent = problem.model.likelihood.n_latent
        self.memory = problem.memory if given else problem.method.start(problem.rows, n_latent)
        self.jitter = problem.jitter
        self.tolerance = _FIRST_TOLERANCE
        self.passes_at_once = _passes_at_once(problem)
        self.value = -np.inf
        self.evaluations = 0
        self.last: Evaluation

    def __call__(self, free: Named) -> tuple[float, Any]:
        if self.report.is_asked_to_stop():
            raise StoppedEarly
        value = self._solve(free, _MOST_PASSES)
        return value, self.last.gradient

    def _solve(self, free: Named, max_passes: int) -> float:
        """The evidence, with the inner problem solved as far as passes and time allow."""
        self.evaluations += 1
        for done in range(0, max_passes, self.passes_at_once):
            value = self._some_passes(free, min(self.passes_at_once, max_passes - done))
            is_enough = bool(self.last.found.solved) or not np.isfinite(value)
            if is_enough or self.report.is_asked_to_stop():
                break
        return value

    def _some_passes(self, free: Named, passes: int) -> float:
        self.last = _evaluate(
            self.problem.method,
            free,
            self.frozen,
            self.rows,
            self.memory,
            np.asarray(self.jitter, self.dtype),
            Budget(np.asarray(self.tolerance, self.dtype), passes),
        )
        found, value = self.last.found, self.last.objective
        if np.isfinite(value):
            self.memory = found.memory
            # A larger jitter is kept: a bound that changes its jitter has no gradient.
            self.jitter = max(self.jitter, float(found.jitter))
        return value

    def follow(self, value: float) -> None:
        """After an outer iteration: set the next inner tolerance from its gain."""
        gain = value - self.value
        if np.isfinite(gain):
            self.tolerance = _INNER_SHARE * max(gain, 0.1 * self.problem.plateau_gain)
        self.value = value

    def relocated(self, free: Named) -> tuple[Model, bool]:
        """The current model, with idle inducing points relocated if that raises the bound."""
        now, _ = self(free)
        model = jax.tree.map(np.asarray, self.last.model)
        rows = np.flatnonzero(self.problem.rows.weights)
        moved, moves = relocate(
            model.kernel,
            np.asarray(self.problem.rows.X)[rows],
            np.asarray(self.memory.precision).sum(axis=0)[rows],
            model.Z,
            self.problem.rng,
            self.problem.off_rows,
        )
        if moves == 0:
            return model, False
        before = self.memory
        changed = model._replace(Z=moved)
        free, self.frozen = encode(changed, self.problem.learned)
        then, _ = self(free)
        if then > now:
            return changed, True
        self.memory = before
        return model, False

    def finish(self, free: Named) -> None:
        """Solve the inner problem to full accuracy, or as far as the remaining time allows."""
        self.tolerance = 0.0
        self._solve(free, _FINAL_PASSES)


def _passes_at_once(problem: Problem) -> int:
    """How many passes of the inner solve take about a second, going by their flops."""
    N, Z, n_latent = len(problem.rows.y), problem.model.Z, problem.model.likelihood.n_latent
    flops = N * flops_of_a_row(n_latent, 0 if Z is None else len(Z))
    flops += n_latent * 3.0 * N**3 if Z is None else 0.0
    return int(np.clip(for_platform(_FLOPS_AT_ONCE) / flops, _LEAST_AT_ONCE, _FINAL_PASSES))


@partial(compiled, static_argnums=0)
def _evaluate(method, free, frozen, rows, memory, jitter, budget) -> Evaluation:
    model, pullback = jax.vjp(lambda free: decode(free, frozen), free)
    found = method.evaluate(model.kernel, model.Z, model.likelihood, rows, memory, jitter, budget)
    (gradient,) = pullback(Model(found.d_kernel, found.d_points, found.d_likelihood))
    gradient, log_prior = add_prior(gradient, free, frozen)
    return Evaluation(gradient, model, found, log_prior)


def check_end(kernel: Kernel, evidence: Any, jitter: Any, factorised: Any) -> None:
    """Raise an error that says what failed, if the result of a fit cannot be used."""
    if not bool(factorised):
        raise NumericalError(
            "the covariance of the inducing points (Kmm) could not be factorised, even with a "
            f"jitter of {float(jitter):.0e} times the kernel's variance. Try fewer inducing "
            "points (n_inducing), a larger jitter, or dtype='float64'."
        )
    if not np.isfinite(float(evidence)):
        raise NumericalError(
            f"the evidence is not a number at the last parameters, kernel {kernel!r}. Try "
            "standardize=True, a larger jitter, dtype='float64', or other initial values of the "
            "kernel's parameters."
        )


def so_far(problem: Problem, last: Evaluation) -> Fitted:
    """The result of a fit that stops at `last`; iterations are counted elsewhere."""
    return finish(problem, last, 0, 0, Status.STOPPED)


def finish(
    problem: Problem, last: Evaluation, iterations: int, evaluations: int, status: Status
) -> Fitted:
    """The posterior at the final parameters."""
    found = last.found
    model = jax.tree.map(np.asarray, last.model)
    check_end(model.kernel, found.evidence, found.jitter, found.factorised)
    d_kernel = jax.tree.map(np.asarray, found.d_kernel)
    gradient = EvidenceGradient(
        jax.tree.map(np.multiply, d_kernel, model.kernel),
        None if found.d_points is None else np.asarray(found.d_points),
    )
    return Fitted(
        problem.method.posterior(model.kernel, model.Z, problem.rows, found.held),
        found.held,
        model,
        float(found.evidence),
        gradient,
        iterations,
        evaluations,
        status,
        float(found.jitter),
    )
