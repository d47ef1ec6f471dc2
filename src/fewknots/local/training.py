r"""Training of a local model: each row of a batch is predicted from its neighbours, without itself.

The objective is the leave-one-out log predictive probability, Σ_n w_n log p(y_n | the K rows
nearest to row n, without n). This is the score for predictions, so no evidence or bound is needed.
Batches of rows are drawn at random, their neighbours are found in the metric of the current
lengthscales, and Adam moves the logarithms of the kernel's parameters and the mean. The first
steps are long and rough, so they use neighbours from a part of the rows, for which a search can be
rebuilt quickly.

The loop around the steps is training/loop.py.
"""

from contextlib import nullcontext
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

from ..data.blocks import padded, row_slices
from ..data.row_draw import some_rows
from ..exceptions import NumericalError
from ..inference.method import check_latent
from ..inference.sites import Rows
from ..likelihoods import Likelihood, Softmax
from ..numerics.linalg import one_batch_of_solves
from ..numerics.precision import compiled, one_lapack_thread
from ..optimize import adam
from ..optimize.lbfgsb import Status
from ..progress import Reporter
from ..stopping import StoppedEarly, raise_if_interrupted
from ..training.checkpoint import Checkpoints, Saved, flattened, unflattened
from ..training.full_batch import Fitted
from ..training.loop import Measure, RunState, all_finite, train
from ..training.parameters import Constraints, Model, inside, log_prior, within
from ..training.schedule import Plan
from .method import Local
from .model import LocalModel, LogPredictive, latent, score
from .neighbours import Metric, MovingSearch, without
from .posterior import LocalPosterior, block_size, label_dtype

_RATE = 0.1  # first rate of Adam, followed by a cosine to zero
_FIRST_STEPS, _FIRST_ROWS = 40, 2**16  # first steps, which search fewer rows
_CHUNK = 10  # steps between two progress reports
_MOST_EVIDENCE_ROWS = 4096  # most rows of the final leave-one-out sum
_SMALLEST_LOG, _LARGEST_LOG = -12.0, 12.0  # logarithms of kernel parameters
_SHARPNESS_SPREAD = 0.25  # spread of its logarithm in the prior: few rows would make it too large


class LocalRun(NamedTuple):
    """Everything that a local fit needs."""

    rows: Rows
    start: LocalModel
    likelihood: Likelihood
    n_neighbors: int
    rule: str
    plan: Plan
    seed: int
    tol: float
    learn: bool  # kernel, mean and sharpness
    constraints: Constraints | None = None  # constraints on the kernel's parameters
    held_out: Rows | None = None
    checkpoints: Checkpoints | None = None
    resumed: Saved | None = None
    n_slots: int = 1  # slots of a neighbourhood with several latent functions (coupled.py)
    n_to_learn: int | None = None  # number of neighbours in training, if different
    learn_likelihood: bool = True  # the likelihood's own parameters, if it has any


class _State(NamedTuple):
    """The state of training: the model (all but its mean as logarithms) and Adam's averages."""

    free: LocalModel
    likelihood: Likelihood  # the likelihood's own parameters, as logarithms
    adam: adam.Averages


def fit_local(run: LocalRun, report: Reporter) -> Fitted:
    """Train from a start or a checkpoint to the end of the plan."""
    # coupled.py has the formulas of exactly this softmax, not of a subclass
    coupled = Local(run.rule).several_latent and type(run.likelihood) is Softmax
    check_latent(Local.name, coupled, run.likelihood)
    strategy = _Neighbourhoods(run, report)
    return train(strategy, report, run.seed, run.checkpoints, run.resumed)


class _Neighbourhoods:
    """A few steps of Adam (a `Strategy`)."""

    patience = 6  # number of chunks to compare with as many before
    advice = "standardize=True or dtype='float64'"
    search: MovingSearch

    def __init__(self, run: LocalRun, report: Reporter):
        self.run, self.report = run, report
        self.plan, self.n_rows, self.tol = run.plan, len(run.rows.y), run.tol
        self.constraints = run.constraints if run.learn else None
        self.k = min(run.n_neighbors, self.n_rows - 1)
        self.k_to_learn = min(self.k, run.n_to_learn or self.k)
        self.total_weight = float(np.sum(run.rows.weights, dtype=np.float64))
        self.rows = jax.device_put(run.rows)
        has_own = bool(jax.tree.leaves(run.likelihood))
        self.learned = run.learn, has_own and run.learn_likelihood

    def begin(self, now: RunState, saved: Saved | None) -> _State:
        kernel, mean, sharpness = self.run.start
        if self.constraints is not None:  # a warm start may be outside of the ranges
            kernel = within(kernel, self.constraints)
        free = LocalModel(jax.tree.map(np.log, kernel), mean, np.log(sharpness))
        own = jax.tree.map(np.log, self.run.likelihood)
        state = _State(free, own, adam.at_rest((free, own)))
        metric = self._metric(state)
        if saved is not None:
            metric = self._metric_of_search(state, saved)
            state = unflattened("state", state, saved.arrays)
        few_steps = now.done < _FIRST_STEPS and self.n_rows > 2 * _FIRST_ROWS
        part = some_rows(self.n_rows, _FIRST_ROWS, self.run.seed) if few_steps else None
        self.search = MovingSearch(self.run.rows.X, metric, part)
        return state

    def status(self, state: _State, now: RunState) -> Status | None:
        learns = any(self.learned) and now.share(self.report.limit) < 1.0
        return None if learns else Status.CONVERGED

    def _look_everywhere(self, state: _State) -> None:
        if self.search.part is not None:
            self.search = MovingSearch(self.run.rows.X, self._metric(state))

    # --- a few steps --------------------------------------------------------------------------

    def step(self, state: _State, now: RunState) -> tuple[_State, Measure]:
        scores: list[float] = []
        limit, share = self.report.limit, now.share(self.report.limit)
        while len(scores) < _CHUNK and (share < 1.0 or not scores):
            if scores and self.report.is_asked_to_stop():
                break
            state, score = self._step(state, now, share)
            scores.append(score)
            now = now._replace(done=now.done + 1)
            share = now.share(limit)
        score = float(np.mean(scores))
        measure = Measure(len(scores), score * self.total_weight, score)
        if not all_finite((score, state)):
            return state, measure._replace(is_good=False)
        if self.run.held_out is not None:
            measure = measure._replace(held_out_nlp=self._held_out_nlp(state, self.run.held_out))
        if limit is not None:
            limit.begin_training()
        return state, measure

    def _step(self, state: _State, now: RunState, share: float) -> tuple[_State, float]:
        """One step on a batch; returns the mean log probability of its rows."""
        run, n_rows = self.run, self.n_rows
        if now.done >= _FIRST_STEPS:
            self._look_everywhere(state)
        if run.plan.batch_size >= n_rows:
            batch = np.arange(n_rows)
        else:
            rng = np.random.default_rng([run.seed, now.done])
            batch = rng.choice(n_rows, run.plan.batch_size, replace=False, shuffle=False)
        rate = now.slowdown * _RATE * 0.5 * (1.0 + np.cos(np.pi * share))
        near = self._around(state, batch, self.k_to_learn)
        fixed = run.rule, run.n_slots, self.constraints, self.learned
        with one_batch_of_solves:
            new, mean = jax.block_until_ready(_moved(*fixed, state, self.rows, batch, near, rate))
        return new, float(mean)

    def _around(
        self, state: _State, numbers: Int[np.ndarray, " Q"], k: int
    ) -> Int[np.ndarray, "Q K"]:
        """The neighbours of rows, without the rows themselves."""
        queries = self.run.rows.X[numbers]
        return without(numbers, self.search.nearest(queries, k + 1, self._metric(state)))

    def _metric(self, state: _State) -> Metric:
        return Metric(self._model(state).kernel, self.run.rows.X.shape[1])

    def _metric_of_search(self, state: _State, saved: Saved) -> Metric:
        """The metric of the search; `state` has the structure of its kernel."""
        metric = self._metric(state)
        if metric.is_warped:
            kernel = unflattened("search.kernel", metric.kernel, saved.arrays)
            return Metric(kernel, self.run.rows.X.shape[1])
        metric.scale = saved.arrays["search.scale"]
        return metric

    def _model(self, state: _State) -> LocalModel:
        return jax.tree.map(np.asarray, _model_of(state.free, self.constraints))

    def _likelihood(self, state: _State) -> Likelihood:
        return jax.tree.map(np.exp, state.likelihood)

    def saved(self, state: _State) -> Saved:
        stood = self.search.metric
        arrays = flattened("state", state) | {"search.scale": np.array(stood.scale)}
        if stood.is_warped:
            arrays |= flattened("search.kernel", stood.kernel)
        return Saved({}, arrays)

    # --- scores -------------------------------------------------------------------------------

    def _held_out_nlp(self, state: _State, held_out: Rows) -> float:
        """NLP of the held-out rows, predicted from all others."""
        k = min(self.run.n_neighbors, self.n_rows)
        near = self.search.nearest(held_out.X, k, self._metric(state))
        log_prob = self._log_prob(state, held_out, near)
        return -log_prob / float(np.sum(held_out.weights, dtype=np.float64))

    def _evidence(self, state: _State) -> float:
        """The leave-one-out log predictive sum, from a sample if there are many rows."""
        rows = self.run.rows
        numbers = np.sort(some_rows(self.n_rows, _MOST_EVIDENCE_ROWS, self.run.seed))
        some = Rows(*(column[numbers] for column in rows))
        share = float(np.sum(some.weights, dtype=np.float64)) / self.total_weight
        return self._log_prob(state, some, self._around(state, numbers, self.k)) / share

    def _log_prob(self, state: _State, queries: Rows, near: Int[np.ndarray, "Q K"]) -> float:
        model, likelihood, run = self._model(state), self._likelihood(state), self.run
        total, size = 0.0, block_size(near.shape[1], run.n_slots, queries.X.shape[1])
        for some in row_slices(len(queries.y), size):
            raise_if_interrupted()
            X, y, around = (padded(a[some], size) for a in (queries.X, queries.y, near))
            with one_batch_of_solves:
                found = jax.block_until_ready(
                    latent(run.rule, likelihood, model, self.rows, X, around, run.n_slots)
                )
            log_prob = np.asarray(_log_predictive(likelihood, y, *found), np.float64)
            log_prob = log_prob[: some.stop - some.start]
            total += float(queries.weights[some] @ log_prob)
        return total

    # --- the end ------------------------------------------------------------------------------

    def fitted(self, state: _State, bound: float | None) -> Fitted:
        """The result, with the evidence of the last steps if there is no time to compute it."""
        if bound is not None and self.report.is_asked_to_stop():
            return self.so_far(state, bound)
        with one_lapack_thread():
            self._look_everywhere(state)
            may_do_without = nullcontext if bound is None else self.report.unless_asked_to_stop
            try:
                with may_do_without():
                    bound = self._evidence(state)
            except StoppedEarly:
                if bound is None:
                    raise KeyboardInterrupt from None  # nothing to save
            return self.so_far(state, bound)

    def so_far(self, state: _State, bound: float) -> Fitted:
        if not np.isfinite(bound):
            raise NumericalError(
                "the leave-one-out probability is not a number at the last parameters. Try "
                "standardize=True or dtype='float64'."
            )
        run, (kernel, mean, sharpness) = self.run, self._model(state)
        (X, y, weights), likelihood = run.rows, self._likelihood(state)
        rows = X, y.astype(label_dtype(likelihood, y.dtype)), weights
        posterior = LocalPosterior(
            kernel, *rows, mean, sharpness, run.n_neighbors, run.rule, likelihood, run.n_slots
        )
        whole = Model(kernel, None, likelihood)
        return Fitted(posterior, None, whole, bound, None, 0, 0, Status.STOPPED, 0.0)


def _decoded(free: LocalModel, constraints: Constraints | None) -> LocalModel:
    kernel = jax.tree.map(jnp.exp, free.kernel)
    if constraints is not None:
        kernel = within(kernel, constraints)
    return LocalModel(kernel, free.mean, jnp.exp(free.sharpness))


_model_of = compiled(_decoded)


@compiled
def _log_predictive(likelihood: Likelihood, y: Any, mean: Any, variance: Any) -> Any:
    return likelihood.tilted(y, mean, variance).log_prob


@partial(compiled, static_argnums=(0, 1, 3))
def _moved(
    rule, n_slots, constraints, learned, state: _State, rows, batch, near, rate
) -> tuple[_State, Any]:
    """One step of Adam, and the batch's mean log probability.

    learned : whether the model is learned, and whether the likelihood's own parameters are.
    """
    queries = Rows(*(column[batch] for column in rows))
    model, pullback = jax.vjp(lambda free: _decoded(free, constraints), state.free)
    likelihood = jax.tree.map(jnp.exp, state.likelihood)
    found: LogPredictive = score(rule, likelihood, model, rows, queries, near, n_slots)
    (gradient,) = pullback(found.gradient)
    weight = jnp.sum(queries.weights)
    gradient = jax.tree.map(lambda part: part / weight, gradient)
    held_back = state.free.sharpness / _SHARPNESS_SPREAD**2 / jnp.sum(rows.weights)
    sharpness = gradient.sharpness - held_back
    if likelihood.targets == "numbers":
        sharpness = jnp.zeros_like(sharpness)
    gradient = gradient._replace(sharpness=sharpness)
    if constraints is not None:
        _, slope = log_prior(state.free.kernel, constraints)
        total = jnp.sum(rows.weights)
        d_kernel = jax.tree.map(lambda data, own: data + own / total, gradient.kernel, slope)
        gradient = gradient._replace(kernel=d_kernel)
    d_own = jax.tree.map(lambda d, p: d * p / weight, found.d_likelihood, likelihood)
    if not all(learned):
        stays = jax.tree.map(jnp.zeros_like, (gradient, d_own))
        gradient, d_own = (
            moved if move else still
            for moved, still, move in zip((gradient, d_own), stays, learned, strict=True)
        )
    update, averages = adam.direction((gradient, d_own), state.adam)
    free, own = jax.tree.map(
        lambda old, more: old + rate.astype(old.dtype) * more,
        (state.free, state.likelihood),
        update,
    )
    kernel = jax.tree.map(lambda log: jnp.clip(log, _SMALLEST_LOG, _LARGEST_LOG), free.kernel)
    if constraints is not None:
        kernel = inside(kernel, constraints)
    return _State(free._replace(kernel=kernel), own, averages), found.log_prob / weight
