r"""Stochastic training: eq. (klsparse) from minibatches, for any number of rows.

The steps themselves are in steps.py, the rates in schedule.py, the rows come from feed.py. What
is here is the host's part: it feeds one chunk of steps after another to the device, and between
two of them looks at the clock, scores, reports, writes a checkpoint, and checks that all is
finite. A chunk that ended in NaN, or a bound that fell off a cliff, is undone and run again with
half the rates.

A run is a function of its plan, its start and its seed, and can be taken up in the middle
(run_state.py).
"""

import math
import threading
import time
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from ..inference.sites import Rows
from ..numerics.precision import computing_in, current_platform, for_platform, one_lapack_thread
from ..optimize.lbfgsb import Status
from ..progress import Reporter
from . import steps
from .checkpoint import Checkpoints, flattened, take_up_history, unflattened, with_history
from .feed import Chunk, Feed, equal_blocks, weightless_block
from .full_batch import Fitted, Problem, check_end
from .parameters import Model, encode
from .run_state import RunState
from .saved_form import Saved
from .schedule import Plan, patience, rates
from .steps import Base, Naturals

_CHUNK = 100  # steps in one compiled loop, at most
# the first steps teach the most, and whoever watches would like to see them
_FIRST_CHUNK = {"cpu": 5, "gpu": 20}
_CHUNK_FLOPS = {"cpu": 1e11, "gpu": 2e13}  # about a second's: then the clock is looked at
_LOOK_PER_STEP = 0.4  # what a look at a batch's rows costs, beside a step on them
_MOST_RESERVED = 0.2  # of the whole time, for the last look at all rows
_CLIFF = 2.0  # a bound this many times lower than the worst score is no noise


class Start(NamedTuple):
    """Where a run begins: a model, q, and what q is measured against."""

    model: Model
    q: Naturals
    base: Base


class Run(NamedTuple):
    """What a run is given beside the problem: its rows, its size, its seed and its folder."""

    plan: Plan
    feed: Feed
    start: Start
    seed: int
    held_out: Rows | None = None
    checkpoints: Checkpoints | None = None
    resumed: Saved | None = None


def fit_stochastic(run: Run, problem: Problem, report: Reporter) -> Fitted:
    """Minibatch training from a start, or from a checkpoint, to the end of the plan."""
    return _Training(run, problem, report).fitted()


class _Training:
    """One run in progress."""

    def __init__(self, run: Run, problem: Problem, report: Reporter):
        self.run, self.problem, self.report = run, problem, report
        self.dtype = problem.rows.y.dtype
        free, self.frozen = encode(run.start.model, problem.learned, moving_unit=False)
        self.state = steps.start_state(run.plan.optimizer, free, run.start.q, self.dtype)
        self.base = jax.tree.map(jnp.asarray, run.start.base)
        self.run_state = RunState.at_first(run.plan)
        if run.resumed is not None:
            self.state = unflattened("state", self.state, run.resumed.arrays)
            self.run_state = RunState.of(run.resumed, run.plan)
            take_up_history(report, run.resumed)
        self.state = jax.tree.map(jnp.asarray, self.state)
        self.chunk_steps = run.feed.steps_at_once(
            run.plan.batch_size,
            _steps_in_a_chunk(run.plan, *_inducing_points(run.start.model).shape),
        )
        self.step_seconds: float | None = None  # what a step took of late
        self.sharding = _sharing(run.plan.batch_size)
        if self.sharding is not None:
            run.feed.place(NamedSharding(self.sharding.mesh, PartitionSpec()))
        self.device = getattr(jax.config, "jax_default_device")  # noqa: B009  (as in precision.py)
        self.compiling = threading.Thread(target=self._compile_scoring)
        self.compiling.start()

    def fitted(self) -> Fitted:
        status = Status.CONVERGED
        with one_lapack_thread():
            while (share := self._share()) < 1.0:
                if not self._advance(share):
                    # The end of the time is the end of the plan, and no interruption of it.
                    by_time = self._share() >= 1.0 and not self.report.interrupted
                    status = Status.CONVERGED if by_time else Status.STOPPED
                    break
        if self.run.checkpoints is not None:
            self._save()
        return self._finished(status)

    def _share(self) -> float:
        return self.run_state.share(self.report.limit)

    def _advance(self, share: float) -> bool:
        """One chunk; False if someone asked to stop."""
        plan, now = self.run.plan, self.run_state
        rest_of_chunk = self.chunk_steps - now.done % self.chunk_steps
        first = for_platform(_FIRST_CHUNK)
        wanted = min(rest_of_chunk, max(first, now.done), now.pace.end - now.done)
        began = time.perf_counter()
        chunk = self.run.feed.chunk(self.run.seed, now.done, self.chunk_steps, plan.batch_size)
        new, bound, finite = steps.run_chunk(
            plan.optimizer,
            self.state,
            self.frozen,
            self.base,
            chunk.rows,
            self._shared(chunk),
            self._rates(share, wanted),
            wanted,
            self.run.feed.total_weight,
            self.problem.jitter,
        )
        if not finite or self._fell(float(bound)):
            self.run_state = now.slower(wanted, "a larger batch_size or jitter, or dtype='float64'")
            return True
        self.state = new
        nlp = None if self.run.held_out is None else self._held_out_nlp()
        took = (time.perf_counter() - began) / wanted
        self._plan_the_end(took)
        self.run_state = now.after(
            wanted,
            float(bound) / self.run.feed.total_weight,
            nlp,
            self.report.limit,
            self.report.seconds,
            self.problem.tol,
            patience(self.chunk_steps, plan.batch_size, self.run.feed.n_rows),
        )
        stop = self.report(
            float(bound),
            wanted,
            rows=wanted * plan.batch_size,
            passes=self.run_state.done * plan.batch_size / self.run.feed.n_rows,
            held_out_nlp=nlp,
            share=self._share(),
            so_far=partial(self._so_far, float(bound)),
        )
        if self.run.checkpoints is not None and self.run.checkpoints.is_due():
            self._save()
        return not stop

    def _plan_the_end(self, step_seconds: float) -> None:
        """Keep as much time for the last look at all rows as it will take, going by the steps."""
        first, limit = self.step_seconds is None, self.report.limit
        self.step_seconds = 0.0 if first else step_seconds  # most of the first was compiling
        if limit is None:
            return
        limit.begin_training()
        n_batches = self.run.feed.n_rows / self.run.plan.batch_size
        last_look = _LOOK_PER_STEP * self.step_seconds * n_batches
        limit.reserve = min(last_look, _MOST_RESERVED * limit.seconds)

    def _rates(self, share: float, wanted: int) -> steps.Rates:
        """One rate a step, and none for the rest of a chunk that is not run to its end."""
        done, limit = self.run_state.done, self.report.limit
        if limit is None or limit.training_seconds == 0.0:
            shares = np.array([self.run_state.pace.share(done + i) for i in range(wanted)])
        else:
            after = share + wanted * (self.step_seconds or 0.0) / limit.training_seconds
            shares = np.linspace(share, min(1.0, after), wanted)
        found = rates(
            self.run.plan, done, shares, self.run.feed.n_rows, self.run_state.slowdown, self.dtype
        )
        idle = (0, self.chunk_steps - wanted)
        return steps.Rates(*(np.pad(rate, idle) for rate in found))

    def _shared(self, chunk: Chunk) -> Any:
        """The row numbers, each batch split among the devices if there are several."""
        if self.sharding is None:
            return jnp.asarray(chunk.chosen)
        return jax.device_put(chunk.chosen, self.sharding)

    def _fell(self, bound: float) -> bool:
        """Whether it is so low that no noise of batches explains it."""
        if len(self.run_state.scores) < 2:
            return False
        per_row = bound / self.run.feed.total_weight
        return per_row < _CLIFF * min(self.run_state.lowest, -math.log(2.0))

    # --- checkpoints --------------------------------------------------------------------------

    def _save(self) -> None:
        run = self.run
        assert run.checkpoints is not None
        header = self.run_state.header(run.plan, run.seed)
        header["n_inducing"] = len(_inducing_points(run.start.model))
        arrays = flattened("state", self.state) | flattened("model", run.start.model)
        run.checkpoints.write(self.run_state.done, header, arrays | with_history(self.report))

    # --- the end ------------------------------------------------------------------------------

    def _so_far(self, bound: float) -> Fitted:
        """The posterior at the present parameters; its evidence is the batches' estimate."""
        return self._fitted(self._score(next(self.run.feed.blocks())), bound, Status.STOPPED)

    def _finished(self, status: Status) -> Fitted:
        """The bound over all rows, block by block, at the final parameters.

        If there is no time for all of them, those seen stand for the others.
        """
        data_term, weight, found, is_estimate = 0.0, 0.0, None, False
        for rows in self.run.feed.blocks():
            if found is not None and self.report.is_asked_to_stop():
                data_term *= self.run.feed.total_weight / weight
                is_estimate = True
                break
            found = self._score(rows)
            data_term += float(found.data_term)  # in float64, whatever a block is in
            weight += float(np.sum(np.asarray(rows.weights), dtype=np.float64))
        assert found is not None
        fitted = self._fitted(found, data_term - float(found.divergence), status)
        return fitted._replace(is_estimate=is_estimate)

    def _fitted(self, found: steps.Evaluation, evidence: float, status: Status) -> Fitted:
        model = jax.tree.map(np.asarray, found.model)
        check_end(model.kernel, evidence, found.jitter, found.factorised)
        done, jitter = self.run_state.done, float(found.jitter)
        posterior = found.held.posterior(model.kernel, model.Z)
        return Fitted(posterior, found.held, model, evidence, None, done, done, status, jitter)

    def _score(self, rows: Rows) -> steps.Evaluation:
        self.compiling.join()
        return steps.score(self.state, self.frozen, self.base, rows, self.problem.jitter)

    def _compile_scoring(self) -> None:
        """While training compiles, in a thread of its own: each takes seconds, mostly on one core.

        JAX's settings are a matter of the thread. Where several devices share the rows, the program
        is another one, and compiled when it is needed.
        """
        if self.sharding is not None:
            return
        wide = np.dtype(self.base.naturals.precision.dtype)
        n_features = _inducing_points(self.run.start.model).shape[1]
        block = weightless_block(n_features, self.dtype)
        with computing_in(wide), jax.default_device(self.device):
            steps.score(self.state, self.frozen, self.base, block, self.problem.jitter)

    def _held_out_nlp(self) -> float:
        """Of the held-out rows, in blocks of the size that the last pass uses too."""
        assert self.run.held_out is not None
        blocks = list(equal_blocks(self.run.held_out))
        log_prob = sum(float(self._score(block).log_prob) for block in blocks)
        return -log_prob / float(np.sum(self.run.held_out.weights, dtype=np.float64))


def _inducing_points(model: Model) -> np.ndarray:
    assert model.Z is not None  # only methods with inducing points are trained this way
    return np.asarray(model.Z)


def _steps_in_a_chunk(plan: Plan, n_inducing: int, n_features: int) -> int:
    B, M, D = plan.batch_size, n_inducing, n_features
    flops = 8 * B * M**2 + 12 * M**3 + 6 * B * M * D
    return int(np.clip(for_platform(_CHUNK_FLOPS) / flops, 5, _CHUNK))


def _sharing(batch_size: int) -> NamedSharding | None:
    """How a batch is split, if several devices of the kind in use are there to share it."""
    devices = jax.local_devices(backend=current_platform())
    if len(devices) < 2 or batch_size % len(devices):
        return None
    mesh = Mesh(np.array(devices), ("rows",))
    return NamedSharding(mesh, PartitionSpec(None, "rows"))
