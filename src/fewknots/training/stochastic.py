r"""Stochastic training: eq. (klsparse) from minibatches, for as many rows as memory holds.

The bound's data term is a sum over rows, so a batch of B rows times N/B estimates it without bias.
q(v) = N(m, S) is held by its natural parameters Λ = S⁻¹ and λ = S⁻¹m, in which a natural-gradient
step of rate ρ on a batch is an average (section 4's derivatives, as in sparse_kl.py):

    Λ ← (1-ρ) Λ + ρ (I + (N/B) Aᵀ diag(wβ) A),
    λ ← (1-ρ) λ + ρ (N/B) Aᵀ (wα + wβ μ).                                              (step)

Kernel and Z follow Adam, along the same estimate of the bound (optax). In whitened coordinates q
keeps its meaning while they move. Hundreds of steps run inside one compiled loop; between two such
chunks the host looks at the clock, reports, and checks that all is finite: a chunk that ended in
NaN is undone and run again with half the rates.

Both rates fall towards the end, ρ as a power and Adam's as a cosine, so that the noise of the last
batches is averaged away. The start decides most of the time needed: a few iterations of full-batch
training on a sample give the first kernel and the first q.

| symbol | name here            | shape |
|--------|----------------------|-------|
| Λ, λ   | state.precision, state.linear | M×M, M |
| ρ      | rates.natural        |       |
| N/B    | scale                | by weights: total weight over the batch's |

Cost of a step: O(BM² + M³ + BMD); memory O(BM) beside the data.
"""

import time
import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

from ..arrays import AnyArray
from ..exceptions import NumericalError, NumericalWarning
from ..inference.features import project
from ..inference.method import Evaluated, HeldByPoints
from ..inference.priors import explained_marginals
from ..inference.rules import weighted
from ..inference.sites import Rows, WhitenedGaussian
from ..inference.sparse_kl import divergence, feature_cotangents, look
from ..linalg import precision_factor
from ..optimize.lbfgsb import Status
from .full_batch import Evaluation, Fitted, Problem, Report, finish, fit_collapsed
from .parameters import Model, Named, decode, encode

_CHUNK = 100  # steps in one compiled loop
_SAMPLE_ROWS = 2000
_SAMPLE_ITERATIONS = 15
_FIRST_NATURAL, _LAST_NATURAL = 0.5, 0.02
_ADAM = optax.adam(1.0)  # a step of size 1, for _run_chunk to scale
_ADAM_RATE = 0.01
_MOST_RETRIES = 5
_EVALUATION_BLOCK = 8192


class State(NamedTuple):
    """All that changes from step to step."""

    free: Named  # kernel and Z, in the optimiser's coordinates
    adam: Any
    precision: Float[Array, "M M"]
    linear: Float[Array, " M"]


class Rates(NamedTuple):
    """How far a step goes; for a chunk, one number a step."""

    natural: Float[AnyArray, "..."]
    adam: Float[AnyArray, "..."]


class Plan(NamedTuple):
    """The size of the run."""

    batch_size: int
    steps: int
    max_time: float | None  # seconds


def automatic_plan(n_rows: int, batch_size: Any, max_iter: Any, max_time: Any) -> Plan:
    """Batches of 1024; twenty passes, but no fewer than 2000 steps and no more than 20,000."""
    size = 1024 if batch_size == "auto" else int(batch_size)
    size = min(size, n_rows)
    steps = int(np.clip(20 * n_rows / size, 2000, 20_000)) if max_iter is None else int(max_iter)
    return Plan(size, steps, max_time)


def fit_stochastic(plan: Plan, problem: Problem, report: Report) -> Fitted:
    """Minibatch training from a start on a sample."""
    started = time.perf_counter()
    total_weight = float(np.sum(problem.rows.weights))
    start = _start_on_a_sample(problem)
    model = start.model._replace(likelihood=problem.model.likelihood)
    free, frozen = encode(model, problem.learned)
    scale = total_weight / start.weight
    identity = np.eye(len(start.linear), dtype=start.linear.dtype)
    state = State(
        free,
        _ADAM.init(free),
        jnp.asarray(identity + scale * (start.precision - identity)),
        jnp.asarray(scale * start.linear),
    )
    rows = jax.tree.map(jnp.asarray, problem.rows)  # on the device once
    done, slowdown, retries = 0, 1.0, 0
    status = Status.CONVERGED
    seed = int(problem.rng.randint(2**31))
    while done < plan.steps:
        now = _share(done, plan, started)
        steps = min(_CHUNK, plan.steps - done)
        after = _share(done + steps, plan, started)
        fractions = np.linspace(now, max(now, after), steps)
        rates = _rates(fractions, slowdown, rows.y.dtype)
        batches = _batches(problem.rows, plan.batch_size, seed, done)
        new, bound = _run_chunk(state, frozen, rows, batches, rates, total_weight, problem.jitter)
        if not _finite(new, bound):
            retries += 1
            if retries > _MOST_RETRIES:
                raise NumericalError(
                    f"training diverged {retries} times in a row around step {done}, also with "
                    f"rates {slowdown:g} times the usual. Try a larger batch_size or jitter, or "
                    "dtype='float64'."
                )
            slowdown *= 0.5
            warnings.warn(
                f"steps {done} to {done + steps} diverged; they are undone and run again with "
                f"{slowdown:g} times the usual rates.",
                NumericalWarning,
                stacklevel=6,
            )
            continue
        retries, state = 0, new
        done += steps
        if report(float(bound), steps):
            status = Status.STOPPED
            break
        if _share(done, plan, started) >= 1.0:
            break
    return _finished(problem, state, frozen, rows, done, status)


def _share(done: int, plan: Plan, started: float) -> float:
    """How much of the run is over: of its steps or of its time, whichever is more."""
    share = done / plan.steps
    if plan.max_time is not None:
        share = max(share, (time.perf_counter() - started) / plan.max_time)
    return min(share, 1.0)


def _rates(fractions, slowdown: float, dtype) -> Rates:
    natural = _FIRST_NATURAL * (_LAST_NATURAL / _FIRST_NATURAL) ** np.minimum(1.0, 2.0 * fractions)
    adam = _ADAM_RATE * 0.5 * (1.0 + np.cos(np.pi * fractions))
    # Every chunk has the same number of steps, to be compiled once; those too many stand still.
    idle = (0, _CHUNK - len(fractions))
    return Rates(*(np.pad(slowdown * rate, idle).astype(dtype) for rate in (natural, adam)))


def _batches(rows: Rows, size: int, seed: int, done: int) -> np.ndarray:
    """Row numbers of the next chunk's batches: each pass over the data in a new order."""
    n_rows = len(rows.y)
    wanted = np.arange(done * size, (done + _CHUNK) * size)
    passes, places = wanted // n_rows, wanted % n_rows
    chosen = np.empty(len(wanted), np.int32)
    for number in np.unique(passes):
        order = np.random.default_rng([seed, int(number)]).permutation(n_rows)
        here = passes == number
        chosen[here] = order[places[here]]
    return chosen.reshape(_CHUNK, size)


class _Start(NamedTuple):
    model: Model
    precision: np.ndarray
    linear: np.ndarray
    weight: float


def _start_on_a_sample(problem: Problem) -> _Start:
    """Kernel and q after a little full-batch training on some rows; Z stays where it is."""
    assert problem.model.Z is not None  # only methods with inducing points are trained this way
    n_rows = len(problem.rows.y)
    size = min(n_rows, max(_SAMPLE_ROWS, 2 * len(problem.model.Z)))
    drawn = np.sort(problem.rng.choice(n_rows, size, replace=False))
    sample = Rows(*(np.asarray(column)[drawn] for column in problem.rows))
    fitted = fit_collapsed(
        replace(
            problem,
            rows=sample,
            learned=problem.learned._replace(Z=False),
            max_iter=_SAMPLE_ITERATIONS,
        ),
        lambda *_: False,
    )
    q: WhitenedGaussian = fitted.held.q
    C, mean = np.asarray(q.factor), np.asarray(q.mean)
    precision = np.linalg.inv(C.T @ C)
    weight = float(np.sum(sample.weights))
    return _Start(fitted.model, precision, precision @ mean, weight)


@jax.jit
def _run_chunk(state: State, frozen, rows: Rows, batches, rates: Rates, total_weight, jitter):
    """One chunk of steps, and the average of their bounds."""

    def step(state: State, inputs):
        chosen, rate = inputs
        batch = Rows(rows.X[chosen], rows.y[chosen], rows.weights[chosen])
        scale = total_weight / jnp.sum(batch.weights)
        model, pullback = jax.vjp(lambda free: decode(free, frozen), state.free)
        features, feature_pullback = project(model.kernel, model.Z, batch.X, jitter)
        q = _gaussian(state)
        A = features.explained
        mean, reached = explained_marginals(A, q)
        expected = model.likelihood.expectations(batch.y, mean, features.unexplained + reached)
        terms = weighted(batch, expected)
        d_kernel, d_points = feature_pullback(feature_cotangents(features, q, terms))
        zero = jax.tree.map(jnp.zeros_like, model.likelihood)
        (gradient,) = pullback(Model(d_kernel, d_points, zero))
        updates, adam = _ADAM.update(gradient, state.adam)
        free = jax.tree.map(lambda p, u: p - rate.adam * u, state.free, updates)
        identity = jnp.eye(A.shape[1], dtype=A.dtype)
        target = identity + scale * (A * terms.curvature[:, None]).T @ A
        target_linear = scale * (A.T @ (terms.slope + terms.curvature * mean))
        bound = scale * jnp.sum(terms.log_prob) - divergence(q)
        new = State(
            free,
            adam,
            state.precision + rate.natural * (target - state.precision),
            state.linear + rate.natural * (target_linear - state.linear),
        )
        return new, bound

    state, bounds = jax.lax.scan(step, state, (batches, rates))
    return state, jnp.mean(bounds)


def _gaussian(state: State) -> WhitenedGaussian:
    factor, log_det_precision = precision_factor(state.precision)
    return WhitenedGaussian(factor.T @ (factor @ state.linear), factor, -log_det_precision)


@jax.jit
def _finite(state: State, bound) -> Array:
    finite = [jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves((state, bound))]
    return jnp.all(jnp.stack(finite))


# --- the end --------------------------------------------------------------------------------------


def _finished(problem: Problem, state: State, frozen, rows: Rows, done: int, status) -> Fitted:
    """The bound and its gradient over all rows, block by block, at the final parameters."""
    n_rows = len(rows.y)
    size = min(_EVALUATION_BLOCK, n_rows)

    def block(start: int) -> Evaluation:
        # The last block is filled up with rows of weight 0.
        chosen = np.arange(start, start + size)
        inside = chosen < n_rows
        chosen = np.where(inside, chosen, 0)
        return _evaluate_block(state, frozen, rows, chosen, inside, problem.jitter)

    whole = block(0)
    for start in range(size, n_rows, size):
        whole = whole._replace(found=_added(whole.found, block(start).found))
    found = whole.found._replace(evidence=whole.found.evidence - divergence(_gaussian(state)))
    return finish(problem, whole._replace(found=found), done, done, status)


@jax.jit
def _added(a: Evaluated, b: Evaluated) -> Evaluated:
    """Data terms and their derivatives of two blocks together."""
    return a._replace(
        evidence=a.evidence + b.evidence,
        d_kernel=jax.tree.map(jnp.add, a.d_kernel, b.d_kernel),
        d_points=a.d_points + b.d_points,
    )


@jax.jit
def _evaluate_block(state: State, frozen, rows: Rows, chosen, inside, jitter) -> Evaluation:
    block = Rows(rows.X[chosen], rows.y[chosen], rows.weights[chosen] * inside)
    model = decode(state.free, frozen)
    features, pullback = project(model.kernel, model.Z, block.X, jitter)
    q = _gaussian(state)
    bound, terms = look(features, q, model.likelihood, block)
    d_kernel, d_points = pullback(feature_cotangents(features, q, terms))
    held = HeldByPoints(features.whitener, q)
    return Evaluation(
        {},
        model,
        Evaluated(
            bound + divergence(q),
            d_kernel,
            d_points,
            model.likelihood,
            None,
            held,
            features.jitter,
            features.ok,
        ),
    )
