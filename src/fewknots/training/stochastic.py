r"""Stochastic training: eq. (klsparse) from minibatches, for any number of rows.

The steps are in steps.py, the rates in schedule.py, the rows come from feed.py, and the host's
loop is in loop.py. This file is one pass of that loop: a chunk of steps on the device, then a
score. A chunk that ends in NaN, or with a bound that has fallen sharply, is undone.
"""

import math
import threading
import time
from contextlib import suppress
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from ..inference.sites import Rows
from ..numerics.precision import computing_in, current_platform, for_platform
from ..optimize.lbfgsb import Status
from ..progress import Reporter
from . import steps
from .checkpoint import Checkpoints, Saved, flattened, unflattened
from .feed import Feed, equal_blocks, weightless_block
from .full_batch import Fitted, Problem, check_end
from .loop import Measure, RunState, train
from .parameters import Model, encode
from .row_sums import ROWS
from .schedule import Plan, patience, rates
from .steps import Base, Naturals, TrainState

_CHUNK = 100  # steps in one compiled loop, at most
# the first steps gain the most and should be visible
_FIRST_CHUNK = {"cpu": 5, "gpu": 20}
_CHUNK_FLOPS = {"cpu": 1e11, "gpu": 2e13}  # flops of about a second: then the time limit is checked
_LOOK_PER_STEP = 0.4  # cost of a score on a batch's rows, relative to a step
_MOST_RESERVED = 0.2  # share of the time for the last score of all rows
_CLIFF = 2.0  # a bound this many times lower than the worst score is not noise


class Start(NamedTuple):
    """The start of a run: a model, q, and the base of the KL term."""

    model: Model
    q: Naturals
    base: Base


class Run(NamedTuple):
    """What a run needs besides the problem: its rows, its plan, its seed and its folder."""

    plan: Plan
    feed: Feed
    start: Start
    seed: int
    held_out: Rows | None = None
    checkpoints: Checkpoints | None = None
    resumed: Saved | None = None


def fit_stochastic(run: Run, problem: Problem, report: Reporter) -> Fitted:
    """Minibatch training from a start, or from a checkpoint, to the end of the plan."""
    strategy = _Minibatches(run, problem, report)
    return train(strategy, report, run.seed, run.checkpoints, run.resumed)


class _Minibatches:
    """Chunks of steps on the device (a `Strategy`)."""

    advice = "a larger batch_size or jitter, or dtype='float64'"

    def __init__(self, run: Run, problem: Problem, report: Reporter):
        self.run, self.problem, self.report = run, problem, report
        self.plan, self.n_rows, self.tol = run.plan, run.feed.n_rows, problem.tol
        self.dtype = problem.rows.y.dtype
        self.free, self.frozen = encode(run.start.model, problem.learned, moving_unit=False)
        self.base = jax.tree.map(jnp.asarray, run.start.base)
        self.chunk_steps = run.feed.steps_at_once(
            run.plan.batch_size,
            _steps_in_a_chunk(run.plan, *_inducing_points(run.start.model).shape),
        )
        self.patience = patience(self.chunk_steps, run.plan.batch_size, self.n_rows)
        self.step_seconds: float | None = None  # recent seconds per step
        self.sharding = _sharing(run.plan.batch_size)
        if self.sharding is not None:
            run.feed.place(NamedSharding(self.sharding.mesh, PartitionSpec()))

    def begin(self, now: RunState, saved: Saved | None) -> TrainState:
        q, bound = self.run.start.q, self.problem.method.bound
        state = steps.start_state(self.plan.optimizer, self.free, q, self.dtype, bound)
        if saved is not None:
            state = unflattened("state", state, saved.arrays)
        state = jax.tree.map(jnp.asarray, state)
        device = getattr(jax.config, "jax_default_device")  # noqa: B009  (as in precision.py)
        self.compiling = threading.Thread(target=self._compile_scoring, args=(state, device))
        self.compiling.start()
        return state

    def status(self, state: TrainState, now: RunState) -> Status | None:
        return None if now.share(self.report.limit) < 1.0 else Status.CONVERGED

    def step(self, state: TrainState, now: RunState) -> tuple[TrainState, Measure]:
        plan, feed, share = self.plan, self.run.feed, now.share(self.report.limit)
        rest_of_chunk = self.chunk_steps - now.done % self.chunk_steps
        first = for_platform(_FIRST_CHUNK)
        wanted = min(rest_of_chunk, max(first, now.done), now.pace.end - now.done)
        began = time.perf_counter()
        chunk = feed.chunk(self.run.seed, now.done, self.chunk_steps, plan.batch_size)
        # row numbers; each batch is split between the devices if there are several
        chosen = jax.device_put(chunk.chosen, self.sharding)
        new, bound, finite = steps.run_chunk(
            plan.optimizer,
            state,
            self.frozen,
            self.base,
            chunk.rows,
            chosen,
            self._rates(now, share, wanted),
            wanted,
            feed.total_weight,
            self.problem.jitter,
            None if self.sharding is None else self.sharding.mesh,
        )
        measure = Measure(wanted, float(bound), float(bound) / feed.total_weight)
        cliff = _CLIFF * min(now.lowest, -math.log(2.0))
        if not finite or (len(now.scores) >= 2 and measure.objective < cliff):
            return state, measure._replace(is_good=False)
        if self.run.held_out is not None:
            measure = measure._replace(held_out_nlp=self._held_out_nlp(new, self.run.held_out))
        self._plan_the_end((time.perf_counter() - began) / wanted)
        return new, measure

    def _plan_the_end(self, step_seconds: float) -> None:
        """Reserve the time for the last score of all rows, estimated from the steps."""
        first, limit = self.step_seconds is None, self.report.limit
        self.step_seconds = 0.0 if first else step_seconds  # most of the first chunk was compiling
        if limit is None:
            return
        limit.begin_training()
        n_batches = self.n_rows / self.plan.batch_size
        last_look = _LOOK_PER_STEP * self.step_seconds * n_batches
        limit.reserve = min(last_look, _MOST_RESERVED * limit.seconds)

    def _rates(self, now: RunState, share: float, wanted: int) -> steps.Rates:
        """One rate per step; 0 for the unused rest of a chunk."""
        limit = self.report.limit
        if limit is None or limit.training_seconds == 0.0:
            shares = np.array([now.pace.share(now.done + i) for i in range(wanted)])
        else:
            after = share + wanted * (self.step_seconds or 0.0) / limit.training_seconds
            shares = np.linspace(share, min(1.0, after), wanted)
        found = rates(self.plan, now.done, shares, self.n_rows, now.slowdown, self.dtype)
        idle = (0, self.chunk_steps - wanted)
        return steps.Rates(*(np.pad(rate, idle) for rate in found))

    def saved(self, state: TrainState) -> Saved:
        model = self.run.start.model
        header = {"n_inducing": len(_inducing_points(model))}
        return Saved(header, flattened("state", state) | flattened("model", model))

    # --- the end ------------------------------------------------------------------------------

    def so_far(self, state: TrainState, bound: float) -> Fitted:
        """The posterior at the current parameters; its evidence is the estimate from batches."""
        return _fitted(self._score(state, next(self.run.feed.blocks())), bound)

    def fitted(self, state: TrainState, bound: float | None) -> Fitted:
        """The bound over all rows, block by block, at the final parameters.

        If there is no time for all rows, it is extrapolated from those used.
        """
        data_term, weight, found, is_estimate = 0.0, 0.0, None, False
        for rows in self.run.feed.blocks():
            if found is not None and self.report.is_asked_to_stop():
                data_term *= self.run.feed.total_weight / weight
                is_estimate = True
                break
            found = self._score(state, rows)
            data_term += float(found.data_term)  # in float64, whatever the dtype of a block
            weight += float(np.sum(np.asarray(rows.weights), dtype=np.float64))
        assert found is not None
        fitted = _fitted(found, data_term - float(found.divergence))
        return fitted._replace(is_estimate=is_estimate)

    def _score(self, state: TrainState, rows: Rows) -> steps.Evaluation:
        self.compiling.join()
        return self._evaluation(state, rows)

    def _evaluation(self, state: TrainState, rows: Rows) -> steps.Evaluation:
        predicts, jitter = self.run.held_out is not None, self.problem.jitter
        return steps.score(predicts, state, self.frozen, self.base, rows, jitter)

    def _compile_scoring(self, state: TrainState, device: Any) -> None:
        """Compile the score in a second thread while training compiles: each takes seconds on one
        core.

        JAX's settings belong to a thread, so they are set there, too. With several devices the
        program is another one, which is compiled when needed.
        """
        if self.sharding is not None:
            return
        wide = np.dtype(self.base.naturals.precision.dtype)
        n_features = _inducing_points(self.run.start.model).shape[1]
        block = weightless_block(n_features, self.dtype)
        # Any error appears again when the score is needed.
        with suppress(Exception), computing_in(wide), jax.default_device(device):
            self._evaluation(state, block)

    def _held_out_nlp(self, state: TrainState, held_out: Rows) -> float:
        """NLP of the held-out rows, in blocks of the same size as in the last pass."""
        blocks = list(equal_blocks(held_out))
        log_prob = sum(float(self._score(state, block).log_prob) for block in blocks)
        return -log_prob / float(np.sum(held_out.weights, dtype=np.float64))


def _fitted(found: steps.Evaluation, evidence: float) -> Fitted:
    model = jax.tree.map(np.asarray, found.model)
    check_end(model.kernel, evidence, found.jitter, found.factorised)
    posterior, jitter = found.held.posterior(model.kernel, model.Z), float(found.jitter)
    return Fitted(posterior, found.held, model, evidence, None, 0, 0, Status.STOPPED, jitter)


def _inducing_points(model: Model) -> np.ndarray:
    assert model.Z is not None  # only methods with inducing points are trained this way
    return np.asarray(model.Z)


def _steps_in_a_chunk(plan: Plan, n_inducing: int, n_features: int) -> int:
    B, M, D = plan.batch_size, n_inducing, n_features
    flops = 8 * B * M**2 + 12 * M**3 + 6 * B * M * D
    return int(np.clip(for_platform(_CHUNK_FLOPS) / flops, 5, _CHUNK))


def _sharing(batch_size: int) -> NamedSharding | None:
    """How a batch is split, if there are several devices of the kind in use."""
    devices = jax.local_devices(backend=current_platform())
    if len(devices) < 2 or batch_size % len(devices):
        return None
    return NamedSharding(Mesh(np.array(devices), (ROWS,)), PartitionSpec(None, ROWS))
