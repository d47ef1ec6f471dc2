r"""Learning a local model: each row of a batch is predicted from its neighbours without itself.

The objective is the leave-one-out log predictive probability, Σ_n w_n log p(y_n | the K rows
nearest to row n, but not n), which needs no evidence and no bound: it is the score the model will
be judged by. Batches of rows are drawn at random, their neighbours found in the metric of the
present lengthscales, and Adam moves the logarithms of the kernel's parameters and the mean. The
first steps are long and know little: their neighbours come from a part of the rows, among which a
search is quick to build anew.

A run is a function of its plan, its start and its seed, as in training/stochastic.py: a
checkpoint is all that is needed to go on from the middle.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Float, Int

from ..data.blocks import padded, row_slices
from ..data.row_draw import some_rows
from ..exceptions import NumericalError
from ..inference.sites import Rows
from ..likelihoods import Bernoulli
from ..numerics.linalg import one_batch_of_solves
from ..numerics.precision import compiled, one_lapack_thread
from ..optimize.lbfgsb import Status
from ..progress import Reporter
from ..training.checkpoint import (
    Checkpoints,
    flattened,
    take_up_history,
    unflattened,
    with_history,
)
from ..training.constraints import Constraints, inside, log_prior, within
from ..training.full_batch import Fitted
from ..training.parameters import Model
from ..training.run_state import RunState
from ..training.saved_form import Saved
from ..training.schedule import Plan
from .model import LocalModel, LogPredictive, latent, score
from .neighbours import MovingSearch, metric, without
from .posterior import LocalPosterior, block_size

_RATE = 0.1  # of Adam, at first; then a cosine to zero
_FIRST_STEPS, _FIRST_ROWS = 40, 2**16  # while the metric moves fast, neighbours among so many rows
_CHUNK = 10  # steps between two reports
_PATIENCE = 6  # chunks that must be no better than as many before
_MOST_EVIDENCE_ROWS = 4096  # whose leave-one-out probabilities are summed at the end
_SMALLEST_LOG, _LARGEST_LOG = -12.0, 12.0  # of a kernel's parameter
_SHARPNESS_SPREAD = 0.25  # of its logarithm before anything is seen: few rows flatter it
_ADAM = optax.scale_by_adam()


class LocalRun(NamedTuple):
    """All that a local fit is given."""

    rows: Rows
    start: LocalModel
    likelihood: Bernoulli
    n_neighbors: int
    rule: str
    plan: Plan
    seed: int
    tol: float
    learn: bool
    constraints: Constraints | None = None  # on the kernel's parameters
    held_out: Rows | None = None
    checkpoints: Checkpoints | None = None
    resumed: Saved | None = None


class LocalTrainState(NamedTuple):
    """What training moves: the model, all but its mean as logarithms, and Adam's averages."""

    free: LocalModel
    adam: Any


def fit_local(run: LocalRun, report: Reporter) -> Fitted:
    """From a start, or from a checkpoint, to the end of the plan."""
    return _Training(run, report).fitted()


class _Training:
    """One run in progress."""

    def __init__(self, run: LocalRun, report: Reporter):
        self.run, self.report = run, report
        kernel, mean, sharpness = run.start
        self.constraints = run.constraints if run.learn else None
        if self.constraints is not None:  # a warm start may begin outside of them
            kernel = within(kernel, self.constraints)
        free = LocalModel(jax.tree.map(np.log, kernel), mean, np.log(sharpness))
        self.state = LocalTrainState(free, _ADAM.init(free))
        self.run_state = RunState.at_first(run.plan)
        self.k = min(run.n_neighbors, len(run.rows.y) - 1)
        scale = self._scale()
        if run.resumed is not None:
            self.state = unflattened("state", self.state, run.resumed.arrays)
            self.run_state = RunState.of(run.resumed, run.plan)
            take_up_history(report, run.resumed)
            scale = run.resumed.arrays["search.scale"]  # the metric in which the search stood
        self.last_score: float | None = None  # of the last chunk, per unit of weight
        self.search = MovingSearch(run.rows.X, scale, self._part())
        self.rows = jax.tree.map(jnp.asarray, run.rows)

    def fitted(self) -> Fitted:
        status = Status.CONVERGED
        with one_lapack_thread():
            while self.run.learn and self._share() < 1.0:
                if not self._advance():
                    by_time = self._share() >= 1.0 and not self.report.interrupted
                    status = Status.CONVERGED if by_time else Status.STOPPED
                    break
            if self.run.checkpoints is not None:
                self._save()
            if self.last_score is not None and self.report.is_asked_to_stop():
                return self._fitted(self.last_score * self._total_weight(), status)
            self._look_everywhere()
            return self._fitted(self._evidence(), status)

    def _share(self) -> float:
        return self.run_state.share(self.report.limit)

    def _total_weight(self) -> float:
        return float(np.sum(self.run.rows.weights, dtype=np.float64))

    def _part(self) -> Int[np.ndarray, " n"] | None:
        """The rows among which neighbours are looked for in the first steps; None is all."""
        n_rows = len(self.run.rows.y)
        if self.run_state.done >= _FIRST_STEPS or n_rows <= 2 * _FIRST_ROWS:
            return None
        return some_rows(n_rows, _FIRST_ROWS, self.run.seed)

    def _look_everywhere(self) -> None:
        if self.search.part is not None:
            self.search = MovingSearch(self.run.rows.X, self._scale())

    # --- a few steps --------------------------------------------------------------------------

    def _advance(self) -> bool:
        """One chunk; False if someone asked to stop."""
        before, began = self.state, self.run_state
        scores: list[float] = []
        share = self._share()
        while len(scores) < _CHUNK and (share < 1.0 or not scores):
            if scores and self.report.is_asked_to_stop():
                break
            scores.append(self._step(share))
            self.run_state = self.run_state._replace(done=self.run_state.done + 1)
            share = self._share()
        score = float(np.mean(scores))
        if not np.isfinite(score) or not _all_finite(self.state):
            self.state = before
            self.run_state = began.slower(len(scores), "standardize=True or dtype='float64'")
            return True
        nlp = None if self.run.held_out is None else self._held_out_nlp()
        limit, seconds = self.report.limit, self.report.seconds
        if limit is not None:
            limit.begin_training()
        self.run_state = began.after(
            len(scores), score, nlp, limit, seconds, self.run.tol, _PATIENCE
        )
        self.last_score = score
        plan, total = self.run.plan, self._total_weight()
        stop = self.report(
            score * total,
            len(scores),
            rows=len(scores) * plan.batch_size,
            passes=self.run_state.done * plan.batch_size / len(self.run.rows.y),
            held_out_nlp=nlp,
            share=self._share(),
            so_far=partial(self._fitted, score * total, Status.STOPPED),
        )
        if self.run.checkpoints is not None and self.run.checkpoints.is_due():
            self._save()
        return not stop

    def _step(self, share: float) -> float:
        """One batch; the mean log probability of its rows."""
        run, n_rows = self.run, len(self.run.rows.y)
        if self.run_state.done >= _FIRST_STEPS:
            self._look_everywhere()
        if run.plan.batch_size >= n_rows:
            batch = np.arange(n_rows)
        else:
            rng = np.random.default_rng([run.seed, self.run_state.done])
            batch = rng.choice(n_rows, run.plan.batch_size, replace=False, shuffle=False)
        rate = self.run_state.slowdown * _RATE * 0.5 * (1.0 + np.cos(np.pi * share))
        near = self._around(batch)
        with one_batch_of_solves:
            self.state, mean = jax.block_until_ready(
                _moved(
                    run.rule,
                    run.likelihood,
                    self.constraints,
                    self.state,
                    self.rows,
                    batch,
                    near,
                    rate,
                )
            )
        return float(mean)

    def _around(self, numbers: Int[np.ndarray, " Q"]) -> Int[np.ndarray, "Q K"]:
        """The neighbours of rows, without themselves."""
        queries = self.run.rows.X[numbers]
        return without(numbers, self.search.nearest(queries, self.k + 1, self._scale()))

    def _scale(self) -> Float[np.ndarray, " D"]:
        return metric(self._model().kernel, self.run.rows.X.shape[1])

    def _model(self) -> LocalModel:
        return jax.tree.map(np.asarray, _decoded(self.state.free, self.constraints))

    # --- scores -------------------------------------------------------------------------------

    def _held_out_nlp(self) -> float:
        """Of the held-out rows, predicted from all others."""
        held_out = self.run.held_out
        assert held_out is not None
        k = min(self.run.n_neighbors, len(self.run.rows.y))
        near = self.search.nearest(held_out.X, k, self._scale())
        return -self._log_prob(held_out, near) / float(np.sum(held_out.weights, dtype=np.float64))

    def _evidence(self) -> float:
        """The leave-one-out log predictive sum, from a sample if there are many rows."""
        rows = self.run.rows
        numbers = np.sort(some_rows(len(rows.y), _MOST_EVIDENCE_ROWS, self.run.seed))
        some = Rows(*(column[numbers] for column in rows))
        share = float(
            np.sum(some.weights, dtype=np.float64) / np.sum(rows.weights, dtype=np.float64)
        )
        return self._log_prob(some, self._around(numbers)) / share

    def _log_prob(self, queries: Rows, near: Int[np.ndarray, "Q K"]) -> float:
        model, total, size = self._model(), 0.0, block_size(near.shape[1])
        for some in row_slices(len(queries.y), size):
            X, y, around = (padded(a[some], size) for a in (queries.X, queries.y, near))
            with one_batch_of_solves:
                found = jax.block_until_ready(
                    latent(self.run.rule, self.run.likelihood, model, self.rows, X, around)
                )
            tilted = self.run.likelihood.tilted(jnp.asarray(y), *found)
            log_prob = np.asarray(tilted.log_prob, np.float64)[: some.stop - some.start]
            total += float(queries.weights[some] @ log_prob)
        return total

    # --- checkpoints --------------------------------------------------------------------------

    def _save(self) -> None:
        run = self.run
        assert run.checkpoints is not None
        arrays = flattened("state", self.state) | {"search.scale": np.array(self.search.scale)}
        header = self.run_state.header(run.plan, run.seed)
        run.checkpoints.write(self.run_state.done, header, arrays | with_history(self.report))

    # --- the end ------------------------------------------------------------------------------

    def _fitted(self, evidence: float, status: Status) -> Fitted:
        if not np.isfinite(evidence):
            raise NumericalError(
                "the leave-one-out probability is not a number at the last parameters. Try "
                "standardize=True or dtype='float64'."
            )
        run, model, done = self.run, self._model(), self.run_state.done
        X, y, weights = run.rows
        posterior = LocalPosterior(
            model.kernel,
            X,
            y.astype(np.int8),
            weights,
            model.mean,
            model.sharpness,
            run.n_neighbors,
            run.rule,
            run.likelihood,
        )
        whole = Model(model.kernel, None, run.likelihood)
        return Fitted(posterior, None, whole, evidence, None, done, done, status, 0.0)


def _decoded(free: LocalModel, constraints: Constraints | None) -> LocalModel:
    kernel = jax.tree.map(jnp.exp, free.kernel)
    if constraints is not None:
        kernel = within(kernel, constraints)
    return LocalModel(kernel, free.mean, jnp.exp(free.sharpness))


@partial(compiled, static_argnums=0)
def _moved(
    rule, likelihood, constraints, state: LocalTrainState, rows, batch, near, rate
) -> tuple[LocalTrainState, Any]:
    """One step of Adam, and the batch's mean log probability."""
    queries = Rows(*(column[batch] for column in rows))
    model, pullback = jax.vjp(lambda free: _decoded(free, constraints), state.free)
    found: LogPredictive = score(rule, likelihood, model, rows, queries, near)
    (gradient,) = pullback(found.gradient)
    weight = jnp.sum(queries.weights)
    gradient = jax.tree.map(lambda part: part / weight, gradient)
    held_back = state.free.sharpness / _SHARPNESS_SPREAD**2 / jnp.sum(rows.weights)
    gradient = gradient._replace(sharpness=gradient.sharpness - held_back)
    if constraints is not None:
        _, slope = log_prior(state.free.kernel, constraints)
        total = jnp.sum(rows.weights)
        d_kernel = jax.tree.map(lambda data, own: data + own / total, gradient.kernel, slope)
        gradient = gradient._replace(kernel=d_kernel)
    update, adam = _ADAM.update(gradient, state.adam)
    free = jax.tree.map(lambda old, more: old + rate.astype(old.dtype) * more, state.free, update)
    kernel = jax.tree.map(lambda log: jnp.clip(log, _SMALLEST_LOG, _LARGEST_LOG), free.kernel)
    if constraints is not None:
        kernel = inside(kernel, constraints)
    return LocalTrainState(free._replace(kernel=kernel), adam), found.log_prob / weight


def _all_finite(tree: Any) -> bool:
    return all(bool(np.all(np.isfinite(leaf))) for leaf in jax.tree.leaves(tree))
