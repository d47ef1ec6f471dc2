"""method="auto" for many rows: the paper's method and the local one compete for the fit.

Which of them predicts better is a matter of the data: fine structure wants neighbours, a smooth
function of many inputs wants a global fit (docs/choosing-a-method.md has figures). So a tenth of
the rows, at most 4096, is held out, both learn from the others, and the one under which the
held-out labels are more probable stays. Held-out rows then join the local one's store; the global
one is fitted again from where it stands if its rows are few, for else they hardly matter.

The local one goes first. The other is given up when it has had as much time and is still far
behind, so that a clear case costs twice the time of the better method and not more.

With `max_time` each gets half of it, everything included. But a local method that has taken only a
few steps by then says nothing about either: it is given as long as a hundred steps take. If too
little is left after it for the other one even to begin, there is no contest, and it stays. Ctrl-C
ends the contest with what there is by then.
"""

import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from sklearn.base import clone
from sklearn.utils import check_random_state

from ..exceptions import NumericalError
from ..inference.sites import Rows
from ..kernels import as_kernel
from ..progress import Progress
from ..scoring import difference_interval
from ..stopping import Stopping, TimeLimit
from .methods import MOST_ROWS_FULL_BATCH

FEWEST_ROWS = 2000  # below, inducing points are quicker and, but for ringnorm, were better
_HELD_OUT, _MOST_HELD_OUT = 0.1, 4096
_WATCHED = 1000  # held-out rows by which the second fit is followed
_FEW_ROWS = 5000  # to which the global method is fitted again
_FAR_BEHIND = 1.1, 0.02  # an NLP of so many times the other's and so much more
_ENOUGH_STEPS = 100  # of the local one, to judge it by
_TO_START = 3.0  # seconds that a method needs before its first step, at least: it is compiled
_LEAST_TIME = 1e-3  # seconds, for a competitor whose time is up before it begins
_LAST_SCORES = 0.1  # of a competitor's time, for its score and for what follows


class Outcome(NamedTuple):
    """One competitor at the end of its fit."""

    method: str
    model: Any  # None: it could not be fitted
    nlp_of_rows: Float[np.ndarray, " n"] | None  # None: there was no time for a score
    seconds: float
    seconds_to_start: float  # until its first moment: most of it is compiling
    stopped: bool  # by the user
    said: list[warnings.WarningMessage]

    @property
    def nlp(self) -> float:
        """The mean over the judges; infinite without a score."""
        return np.inf if self.nlp_of_rows is None else float(np.mean(self.nlp_of_rows))


def held_out(codes: Int[np.ndarray, " N"], random_state: Any) -> Int[np.ndarray, " n"]:
    """Rows to judge by: the same share of each class, and never all rows of one."""
    rng = check_random_state(random_state)
    share = min(_HELD_OUT, _MOST_HELD_OUT / len(codes))
    parts = []
    for code in range(int(np.max(codes)) + 1):
        rows = np.flatnonzero(codes == code)
        parts.append(rng.permutation(rows)[: int(share * len(rows))])
    return np.sort(np.concatenate(parts))


class Contest:
    """One fit of an estimator with method="auto", to rows that are checked already."""

    def __init__(
        self,
        estimator: Any,
        X: Float[np.ndarray, "N D"],
        codes: Int[np.ndarray, " N"],
        weights: Float[np.ndarray, " N"],
    ):
        self.estimator, self.X, self.all_weights = estimator, X, weights
        self.labels = estimator.classes_[codes]
        judges = held_out(codes, estimator.random_state)
        self.learned_weights = weights.copy()
        self.learned_weights[judges] = 0.0
        self.X_judges = X[judges]
        self.codes, self.weights = codes[judges], weights[judges]
        self.asked_to_stop = False
        stopping: Stopping = estimator._stopping
        self.limit, self.interruption = stopping

    def winner(self) -> Any:
        """The better one, fitted; its `contest_` has the score of each that was scored."""
        half = None if self.limit is None else TimeLimit(0.5 * self.limit.left())
        local = self._compete("local", half, _Follow(self, half, None))
        is_usable = local.model is not None
        if is_usable and (local.stopped or local.nlp_of_rows is None):
            return self._crowned(local, None)
        rest = None
        if self.limit is not None:
            rest = TimeLimit((1.0 - _LAST_SCORES) * self.limit.left())
        try:
            other = self._compete("sparse_kl", rest, _Follow(self, rest, local))
        except KeyboardInterrupt:
            if not (self.interruption.seen and is_usable):
                raise
            return self._crowned(local._replace(stopped=True), None)
        if not is_usable and other.model is None:
            raise NumericalError(
                "neither method='sparse_kl' nor method='local' could be fitted to these rows. Try "
                "one of them by name; its error says more."
            )
        other_wins = not is_usable or other.nlp < local.nlp
        best, worse = (other, local) if other_wins else (local, other)
        return self._crowned(best._replace(stopped=other.stopped), worse)

    def _compete(self, method: str, limit: TimeLimit | None, callback: "_Follow") -> Outcome:
        names = getattr(self.estimator, "feature_names_in_", None)
        model = clone(self.estimator).set_params(
            kernel=as_kernel(self.estimator.kernel, names),  # X comes without names
            method=method,
            max_time=None if limit is None else max(limit.seconds, _LEAST_TIME),
            callback=callback,
            class_weight=None,
        )
        model._given_limit = limit
        if self.estimator.checkpoint is not None:  # to each its own
            model.set_params(checkpoint=Path(self.estimator.checkpoint) / method)
        started = time.perf_counter()
        score = None
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                model.fit(self.X, self.labels, self.learned_weights)
                if self._is_time_to_score(callback):
                    score = self._nlp_of_rows(model)
            except NumericalError:
                model = None
        seconds = time.perf_counter() - started
        stopped = self.interruption.seen or self.asked_to_stop
        return Outcome(
            method, model, score, seconds, callback.seconds_to_start, stopped, list(said)
        )

    def _is_time_to_score(self, of: "_Follow") -> bool:
        """And, for the first, to begin another one: else there is no need for a score."""
        if self.interruption.seen:
            return False
        needed = max(_TO_START, of.seconds_to_start) if of.rival is None else 0.0
        return self.limit is None or self.limit.left() > needed

    def _nlp_of_rows(self, model: Any, most: int | None = None) -> Float[np.ndarray, " n"]:
        """Each judge's negative log probability, times its share of the weight."""
        some = slice(most)
        log_p = model.predict_log_proba(self.X_judges[some])
        log_p = log_p[np.arange(len(log_p)), self.codes[some]]
        mean = np.mean(self.weights[some])
        return -log_p * (self.weights[some] / mean if mean > 0 else 0.0)

    def _crowned(self, best: Outcome, worse: Outcome | None) -> Any:
        for warning in best.said:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )
        model = best.model
        if model.method_ == "local":
            self._add_judges(best)
        elif len(self.labels) <= _FEW_ROWS and not best.stopped:
            self._fit_again(best)
        both = [best] if worse is None else [best, worse]
        judged = [o for o in both if o.nlp_of_rows is not None or o.model is None]
        model.contest_ = {outcome.method: outcome.nlp for outcome in judged}
        model.contest_gain_ = _gain(best, worse)
        return model

    def _add_judges(self, best: Outcome) -> None:
        """The judges join the store; their own log probability is what they add to the evidence.

        Without a score they are taken to be as probable as the others.
        """
        counted = self.weights > 0
        if not counted.any():
            return
        model, weight = best.model, float(np.sum(self.weights))
        y = model._likelihood.encoded(self.codes[counted])
        rows = Rows(model._standardiser(self.X_judges[counted]), y, self.weights[counted])
        model.posterior_ = model.posterior_.extended(rows)
        model.stored_rows_ = len(model.posterior_.points)
        nlp = best.nlp
        if best.nlp_of_rows is None:
            nlp = -model.log_evidence_ / float(np.sum(self.learned_weights))
        model.log_evidence_ -= nlp * weight

    def _fit_again(self, best: Outcome) -> None:
        """From where it stands, to all rows; as long as there is time for that."""
        limit = None if self.limit is None else TimeLimit(self.limit.left())
        if limit is not None and limit.seconds < best.seconds_to_start:
            return
        best.model.set_params(warm_start=True, callback=self.estimator.callback)
        best.model._given_limit = limit
        best.model.fit(self.X, self.labels, self.all_weights)


class _Follow:
    """A competitor's callback: the user's, and a look at the clock and at the rival."""

    def __init__(self, contest: Contest, limit: TimeLimit | None, rival: Outcome | None):
        self._contest, self._limit, self.rival = contest, limit, rival
        self._began = time.perf_counter()
        self._looked = 0.0
        self._first: Progress | None = None
        self.seconds_to_start = 0.0

    def __call__(self, progress: Progress) -> bool:
        if self._first is None:
            self._first = progress
            self.seconds_to_start = time.perf_counter() - self._began
            if self.rival is None:
                self._take_all_if_there_is_no_time_for_two()
        user = self._contest.estimator.callback
        if user is not None and user(progress) is True:
            self._contest.asked_to_stop = True
            return True
        if self.rival is None:
            self._allow_enough_steps(progress)
            return False
        return self._is_far_behind(progress, self.rival)

    def _take_all_if_there_is_no_time_for_two(self) -> None:
        limit, whole = self._limit, self._contest.limit
        if limit is None or whole is None:
            return
        if whole.end - limit.end < max(_TO_START, self.seconds_to_start):
            limit.end = max(limit.end, whole.end - _LAST_SCORES * whole.seconds)

    def _allow_enough_steps(self, now: Progress) -> None:
        """More than half of the time, if that is what the least useful number of steps takes."""
        limit, whole, first = self._limit, self._contest.limit, self._first
        if limit is None or whole is None or first is None or now.iteration == first.iteration:
            return
        pace = (now.seconds - first.seconds) / (now.iteration - first.iteration)
        needed = time.perf_counter() + pace * max(0, _ENOUGH_STEPS - now.iteration)
        latest = whole.end - _LAST_SCORES * whole.seconds
        limit.end = max(limit.end, min(needed, latest))

    def _is_far_behind(self, now: Progress, rival: Outcome) -> bool:
        if now.model is None or now.seconds < max(rival.seconds, 1.25 * self._looked):
            return False
        self._looked = now.seconds
        factor, more = _FAR_BEHIND
        nlp = float(np.mean(self._contest._nlp_of_rows(now.model(), _WATCHED)))
        return nlp > factor * rival.nlp + more


def _gain(best: Outcome, worse: Outcome | None) -> dict[str, Any] | None:
    """By how much the winner is ahead on the judges' rows; None if the other has no score."""
    if worse is None or worse.nlp_of_rows is None or best.nlp_of_rows is None:
        return None
    return {
        "nlp": worse.nlp - best.nlp,
        "interval": [*difference_interval(worse.nlp_of_rows, best.nlp_of_rows)],
        "rows": len(best.nlp_of_rows),
    }


def competes(estimator: Any, n_rows: int) -> bool:
    """Whether the choice is open: nothing was asked for that only one of the two understands."""
    by_minibatches = n_rows > MOST_ROWS_FULL_BATCH
    repeatable = isinstance(estimator.random_state, int | np.integer)
    return (
        estimator.method == "auto"
        and n_rows > FEWEST_ROWS
        and estimator.store_rows
        and estimator.n_inducing == "auto"
        and estimator.inducing_points is None
        and estimator.n_neighbors == "auto"
        and estimator.method_options is None
        and estimator.optimizer == "auto"
        and estimator.batch_size == "auto"
        and estimator.max_iter is None
        and estimator.learn_kernel
        and not estimator.warm_start
        and (by_minibatches or estimator.validation_fraction is None)
        # who goes on from a checkpoint must hold the same rows out
        and (estimator.checkpoint is None or (by_minibatches and repeatable))
    )
