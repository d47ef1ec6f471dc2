"""The paper's optimisation: L-BFGS-B over m, the triangle of S, Z and the kernel at once.

The kernel is frozen at first and then unfrozen. The bound is that of sparse_kl.py for any q.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..inference.features import project
from ..inference.method import Evaluated, HeldByPoints, expected_log_prob, likelihood_gradient
from ..inference.priors import information
from ..inference.sparse_kl import divergence, look, model_gradient
from ..numerics.linalg import rows_times
from ..numerics.precision import compiled
from ..optimize.lbfgsb import Status
from ..progress import Report
from ..stopping import StoppedEarly
from .full_batch import Evaluation, Fitted, Problem, finish, so_far
from .parameters import Model, Named, add_prior, decode, encode, limits
from .steps import Triangle, gaussian, inverse_diagonal, prior_base

_FROZEN_SHARE = 0.2  # most iterations with the kernel frozen, as a share of max_iter


def fit_jointly(problem: Problem, report: Report) -> Fitted:
    """L-BFGS-B over q(v), Z and the kernel; the kernel is frozen first, then unfrozen."""
    model, learned = problem.model, problem.learned
    assert model.Z is not None  # only methods with inducing points are trained this way
    start = prior_base(len(model.Z), model.Z.dtype, model.likelihood.n_latent).naturals
    q = {"mean": start.linear, "lower": start.precision}
    iterations, evaluations, status = 0, 0, Status.CONVERGED
    for learn_kernel in (False, True) if learned.kernel else (False,):
        last_phase = learn_kernel == learned.kernel
        share = 1.0 if last_phase else _FROZEN_SHARE
        free, frozen = encode(model, learned._replace(kernel=learn_kernel))
        evaluate = _JointBound(problem, frozen, report)
        free, _, used, status = problem.maximise(
            evaluate,
            free | {"q": q},
            limits(free | {"q": q}, frozen),
            max_iter=max(1, int(share * problem.max_iter) - iterations),
            plateau_gain=problem.plateau_gain,
            on_iteration=evaluate.on_iteration,
        )
        iterations += used
        evaluate.at(free)
        evaluations += evaluate.evaluations
        q = free["q"]
        model = jax.tree.map(np.asarray, evaluate.last.model)
        if status is Status.STOPPED:
            break
    return finish(problem, evaluate.last, iterations, evaluations, status)


class _JointBound:
    """The bound as a function of q, Z and the kernel together."""

    def __init__(self, problem: Problem, frozen: Named, report: Report):
        self.problem, self.report = problem, report
        self.rows = jax.tree.map(jnp.asarray, problem.rows)
        self.frozen = frozen
        self.jitter = problem.jitter
        self.evaluations = 0
        self.last: Evaluation

    def __call__(self, free: Named) -> tuple[float, Any]:
        if self.report.is_asked_to_stop():
            raise StoppedEarly
        return self.at(free)

    def at(self, free: Named) -> tuple[float, Any]:
        """The evaluation without checks whether to stop."""
        self.evaluations += 1
        jitter = np.asarray(self.jitter, self.rows.y.dtype)
        self.last = _evaluate(self.problem.method.bound, free, self.frozen, self.rows, jitter)
        if np.isfinite(value := self.last.objective):
            self.jitter = max(self.jitter, float(self.last.found.jitter))
        return value, self.last.gradient

    def on_iteration(self, value: float) -> bool:
        evidence = value - float(self.last.log_prior)
        return self.report(evidence, so_far=partial(so_far, self.problem, self.last))


@partial(compiled, static_argnums=0)
def _evaluate(bound, free, frozen, rows, jitter) -> Evaluation:
    mean, lower = free["q"]["mean"], jnp.tril(free["q"]["lower"])
    q = gaussian(Triangle(mean, lower), mean.dtype)
    if bound == "tight":  # so that each row gets its own share
        q = q._replace(shrink=jnp.ones((len(mean), 1), mean.dtype))
    others = {name: value for name, value in free.items() if name != "q"}
    model, pullback = jax.vjp(lambda others: decode(others, frozen), others)
    assert model.Z is not None
    features, feature_pullback = project(model.kernel, model.Z, rows.X, jitter)
    mean_f, variance_f, terms, q = look(features, q, model.likelihood, rows)
    d_kernel, d_points = model_gradient(feature_pullback, q, terms)
    A = features.explained
    d_likelihood = likelihood_gradient(
        model.likelihood, lambda p: expected_log_prob(p, rows, mean_f, variance_f)
    )
    (gradient,) = pullback(Model(d_kernel, d_points, d_likelihood))
    gradient, log_prior = add_prior(gradient, others, frozen)
    # ∂/∂m and, with S = LLᵀ, ∂/∂L = tril(2 ∂/∂S L): the lower triangle of S⁻¹L is 1/diag(L).
    d_mean = rows_times(terms.slope, A) - mean
    d_lower = jnp.tril(-information(A, terms.curvature) @ lower - lower) + inverse_diagonal(lower)
    return Evaluation(
        gradient | {"q": {"mean": d_mean, "lower": d_lower}},
        model,
        Evaluated(
            jnp.sum(terms.log_prob) - divergence(q),
            d_kernel,
            d_points,
            d_likelihood,
            None,
            HeldByPoints(features.whitener, q),
            features.jitter,
            features.ok,
        ),
        log_prior,
    )
