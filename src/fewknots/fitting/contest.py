"""method="auto" for many rows: the paper's method and the local method are compared.

Which of them predicts better depends on the data: fine structure needs neighbours, a smooth
function of many inputs needs a global fit (docs/choosing-a-method.md has figures). So a tenth of
the rows, at most 4096, is held out, and both methods learn from the others. The one that gives the
held-out labels the higher probability is kept, or a weighted average of both if that is better
than either (combination.py). Afterwards the held-out rows (the "judges") are learned from, too:
the local method adds them to its rows; the posterior of the other is updated, with fixed kernel
and inducing points (more_rows.py), if rows are few (otherwise they hardly matter).

The local method is fitted first, and the other starts from the kernel that it has learned. The
second fit is given up if it has taken as long as the first and is still far behind. So a clear
case costs at most twice the time of the better method.

With `max_time` each gets half of it, everything included. But a comparison after only a few steps
of the local method would mean nothing, so it gets as long as a hundred steps take. If too little
time is left for the other to start, there is no comparison, and the local fit is kept. Ctrl-C ends
the comparison with the results so far.
"""

import time
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from sklearn.utils import check_random_state

from .. import prediction
from ..combined import CombinedPosterior, Latent, averaged
from ..exceptions import NumericalError
from ..inference.sites import Rows
from ..kernels import as_kernel
from ..local.posterior import LocalPosterior
from ..progress import Progress
from ..scoring import difference_interval
from ..stopping import TimeLimit
from ..training.row_sources import RowsInMemory
from .combination import Combined, select
from .job import FitContext, FittedModel
from .more_rows import informed
from .settings import FitSettings

_HELD_OUT, _MOST_HELD_OUT = 0.1, 4096
_WATCHED = 1000  # held-out rows on which the second fit is monitored
_FEW_ROWS = 20_000  # rows up to this number: the global method learns from the judges, too
_FAR_BEHIND = 1.1, 0.02  # far behind: NLP above factor · (the other's) + more
_FAR_BEHIND_IN_NUMBERS = 0.1  # nats a row
_ENOUGH_STEPS = 100  # steps of the local method before it can be compared
_TO_START = 3.0  # least seconds that a method needs before its first step, for compiling
_LEAST_TIME = 1e-3  # seconds, for a competitor that starts after its time is up
_LAST_SCORES = 0.1  # share of a competitor's time for its score and what follows


class Outcome(NamedTuple):
    """The result of one competitor."""

    method: str
    model: FittedModel | None  # None: it could not be fitted
    latent: Latent | None  # at the judges (held-out rows); None: no time for a score
    nlp_of_rows: Float[np.ndarray, " n"] | None
    seconds: float
    seconds_to_start: float  # seconds until its first progress report, mostly compiling
    stopped: bool  # stopped by the user
    abandoned: bool  # given up before it had a result
    said: list[warnings.WarningMessage]

    @property
    def nlp(self) -> float:
        """Mean over the judges; infinite without a score."""
        return np.inf if self.nlp_of_rows is None else float(np.mean(self.nlp_of_rows))


def held_out(
    codes: Int[np.ndarray, " N"] | Float[np.ndarray, " N"], random_state: Any
) -> Int[np.ndarray, " n"]:
    """The held-out rows: the same share of each class, and never all rows of a class."""
    rng = check_random_state(random_state)
    share = min(_HELD_OUT, _MOST_HELD_OUT / len(codes))
    if codes.dtype.kind == "f":  # numbers
        return np.sort(rng.permutation(len(codes))[: int(share * len(codes))])
    parts = []
    for code in range(int(np.max(codes)) + 1):
        rows = np.flatnonzero(codes == code)
        parts.append(rng.permutation(rows)[: int(share * len(rows))])
    return np.sort(np.concatenate(parts))


class Contest:
    """One fit with method="auto"; `fit` is the sequence that each competitor goes through."""

    def __init__(
        self,
        fit: Callable[..., FittedModel],
        settings: FitSettings,
        rows: RowsInMemory,
        context: FitContext,
    ):
        self.fit, self.rows, self.context = fit, rows, context
        # column names become numbers once, for both kernels
        self.settings = settings
        if not settings.chooses_kernel:
            kernel = as_kernel(settings.kernel, rows.feature_names)
            self.settings = replace(settings, kernel=kernel)
        judges = held_out(rows.y, settings.random_state)
        learned = rows.weights.copy()
        learned[judges] = 0.0
        self.learned = rows._replace(weights=learned)
        self.X_judges, self.codes, self.weights = (column[judges] for column in rows[:3])
        self.asked_to_stop = False
        self.limit, self.interruption = context.limit, context.interruption

    def winner(self) -> FittedModel:
        """The better fit; its `contest` has the scores of all that were scored."""
        half = None if self.limit is None else TimeLimit(0.5 * self.limit.left())
        local = self._compete("local", half, _Follow(self, half, None))
        is_usable = local.model is not None
        if is_usable and (local.stopped or local.nlp_of_rows is None):
            return self._crowned(local, None)
        rest = None
        if self.limit is not None:
            rest = TimeLimit((1.0 - _LAST_SCORES) * self.limit.left())
        other = self._compete("sparse_kl", rest, _Follow(self, rest, local))
        if other.abandoned:
            return self._crowned(local._replace(stopped=other.stopped), None)
        if not is_usable and other.model is None:
            raise NumericalError(
                "neither method='sparse_kl' nor method='local' could be fitted to these rows. Try "
                "one of them by name; its error says more."
            )
        other_wins = not is_usable or other.nlp < local.nlp
        best, worse = (other, local) if other_wins else (local, other)
        best = best._replace(stopped=other.stopped)
        if best.latent is not None and worse.latent is not None and not best.stopped:
            weights = self._weights(best, worse)
            if np.all(weights > 0):
                return self._combined(best, worse, weights)
        return self._crowned(best, worse)

    def _compete(self, method: str, limit: TimeLimit | None, callback: "_Follow") -> Outcome:
        """Fit one competitor; the second starts from the kernel that the first has learned."""
        max_time = None if limit is None else max(limit.seconds, _LEAST_TIME)
        settings = replace(self._settings_of(method), max_time=max_time, callback=callback)
        context = FitContext(limit, self.interruption, self._task)
        started = time.perf_counter()
        model = latent = nlp = None
        rival, abandoned = callback.rival, False
        known = None if rival is None else rival.model
        kernel = None if known is None else known.kernel
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                # before its first report it can be abandoned; the rival is then the result
                with nullcontext() if known is None else self.interruption.abandonable(self.limit):
                    model = self.fit(settings, self.learned, context, kernel=kernel)
                if self._is_time_to_score(callback):
                    with self.interruption.abandonable(self.limit):
                        latent = self.latent(model)
                        nlp = self.nlp_of_rows(model, latent)
            except NumericalError:
                model = None
            except KeyboardInterrupt:
                abandoned = model is None
                if not self._is_over() or (abandoned and known is None):
                    raise
        seconds = time.perf_counter() - started
        stopped = self.interruption.seen or self.asked_to_stop
        times = seconds, callback.seconds_to_start
        latent = None if nlp is None else latent
        return Outcome(method, model, latent, nlp, *times, stopped, abandoned, list(said))

    def _is_over(self) -> bool:
        return self.interruption.seen or (self.limit is not None and self.limit.is_over())

    def _settings_of(self, method: str) -> FitSettings:
        folder = self.settings.checkpoint  # the jitter is each method's own
        return replace(
            self.settings,
            method=method,
            class_weight=None,  # class weights are already in the row weights
            checkpoint=None if folder is None else Path(folder) / method,
        )

    def _task(self, progress: Progress) -> bool:
        task = self.context.task
        return task is not None and task(self.shown(progress))

    def shown(self, progress: Progress) -> Progress:
        """A progress report with the model that the user's callbacks get."""
        model = progress.model
        if model is None:
            return progress
        return progress._replace(model=lambda: self.context.show(model()))

    def _is_time_to_score(self, of: "_Follow") -> bool:
        """Whether there is time for a score (for the first competitor: and for another fit)."""
        if self.interruption.seen:
            return False
        needed = max(_TO_START, of.seconds_to_start) if of.rival is None else 0.0
        return self.limit is None or self.limit.left() > needed

    def latent(self, model: FittedModel, most: int | None = None) -> Latent:
        """Mean and variance of the latent functions at the judges' rows, or the first of them."""
        return prediction.marginals(model.posterior, model.standardiser, self.X_judges[:most])

    def nlp_of_rows(self, model: FittedModel, latent: Latent) -> Float[np.ndarray, " n"]:
        """Negative log probability of each judge, times its share of the weight."""
        some = slice(latent[0].shape[1])
        codes = self.codes[some]
        if model.likelihood.targets == "numbers":
            log_p = prediction.log_density_of(model.likelihood, model.encoded(codes), *latent)
            log_p = log_p - np.log(model.target_scale)
        else:
            each = np.column_stack(prediction.log_probabilities_of(model.likelihood, *latent))
            log_p = each[np.arange(len(each)), codes]
        mean = np.mean(self.weights[some])
        return -log_p * (self.weights[some] / mean if mean > 0 else 0.0)

    def _weights(self, *outcomes: Outcome) -> Float[np.ndarray, " K"]:
        """Weights of a combination; all weight on the first (the best) if that is as good."""
        model = outcomes[0].model
        assert model is not None
        members = [outcome.latent for outcome in outcomes if outcome.latent is not None]
        return select(members, lambda latent: -self.nlp_of_rows(model, latent))

    def _combined(
        self, best: Outcome, worse: Outcome, weights: Float[np.ndarray, " K"]
    ) -> FittedModel:
        """The average of both; the first has the larger weight, and its kernel and evidence are
        reported.
        """
        assert best.model is not None
        assert best.latent is not None
        assert worse.latent is not None
        latent = averaged([best.latent, worse.latent], weights.tolist())
        nlp = self.nlp_of_rows(best.model, latent)
        both = best._replace(method=Combined.name, nlp_of_rows=nlp)
        pairs = sorted(zip(weights.tolist(), (best, worse), strict=True), key=lambda p: -p[0])
        members = [self._finished(outcome) for _, outcome in pairs]
        posterior = CombinedPosterior(
            tuple(member.posterior for member in members), tuple(weight for weight, _ in pairs)
        )
        combination = {outcome.method: weight for weight, outcome in pairs}
        made = replace(
            members[0],
            method=Combined.name,
            posterior=posterior,
            combination=combination,
            likelihood=best.model.likelihood,  # the posterior that was scored
        )
        contest = {outcome.method: outcome.nlp for outcome in (best, worse, both)}
        made = replace(made.combined(members), likelihood=best.model.likelihood)
        return replace(made, contest=contest, contest_gain=_gain(both, best))

    def _crowned(self, best: Outcome, worse: Outcome | None) -> FittedModel:
        model = self._finished(best)
        both = [best] if worse is None else [best, worse]
        judged = [o for o in both if o.nlp_of_rows is not None or o.model is None]
        scores = {outcome.method: outcome.nlp for outcome in judged}
        return replace(model, contest=scores, contest_gain=_gain(best, worse))

    def _finished(self, outcome: Outcome) -> FittedModel:
        """Give the winner's warnings, and let it learn from the judges, too."""
        for warning in outcome.said:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )
        model = outcome.model
        assert model is not None
        if isinstance(model.posterior, LocalPosterior):
            return self._with_judges(model, outcome)
        if self.rows.n_rows <= _FEW_ROWS and not outcome.stopped:
            return self._informed(model)
        return model

    def _with_judges(self, model: FittedModel, best: Outcome) -> FittedModel:
        """Add the judges to the local method's rows, and their log probability to its evidence.

        Without a score they are assumed to be as probable as the other rows.
        """
        counted = self.weights > 0
        if not counted.any():
            return model
        assert isinstance(model.posterior, LocalPosterior)
        y = model.encoded(self.codes[counted])
        rows = Rows(model.standardiser(self.X_judges[counted]), y, self.weights[counted])
        posterior = model.posterior.extended(rows)
        nlp = best.nlp
        if best.nlp_of_rows is None:
            nlp = -model.evidence / float(np.sum(self.learned.weights))
        evidence = model.evidence - nlp * float(np.sum(self.weights))
        stored = len(posterior.points)
        return replace(model, posterior=posterior, evidence=evidence, stored_rows=stored)

    def _informed(self, model: FittedModel) -> FittedModel:
        """Update the posterior with the judges; the bound is then that of all rows."""
        if not (self.weights > 0).any() or self._is_over():
            return model
        encoded = model.encoded
        judges = Rows(self.X_judges, encoded(self.codes), self.weights)
        X, codes, weights = self.rows[:3]
        try:
            with self.interruption.abandonable(self.limit):
                found = informed(model, judges, Rows(X, encoded(codes), weights))
        except KeyboardInterrupt:  # by the clock, or by a user who wants the result so far
            if self.limit is None and not self.interruption.seen:
                raise
            return model
        posterior, evidence = found
        evidence -= float(np.sum(weights)) * float(np.log(model.target_scale))
        return replace(model, posterior=posterior, evidence=evidence)


class _Follow:
    """Callback of a competitor: calls the user's, and checks the clock and the rival's score."""

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
        user = self._contest.settings.callback
        if user is not None and user(self._contest.shown(progress)) is True:
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
        """Give it more than half of the time, if the least useful number of steps takes that
        long.
        """
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
        if self._contest.settings.targets == "numbers":  # log densities have no zero
            factor, more = 1.0, _FAR_BEHIND_IN_NUMBERS
        model = now.model()
        latent = self._contest.latent(model, _WATCHED)
        nlp = float(np.mean(self._contest.nlp_of_rows(model, latent)))
        return nlp > factor * rival.nlp + more


def _gain(best: Outcome, worse: Outcome | None) -> dict[str, Any] | None:
    """By how much the winner is better on the judges; None if the other has no score."""
    if worse is None or worse.nlp_of_rows is None or best.nlp_of_rows is None:
        return None
    return {
        "nlp": worse.nlp - best.nlp,
        "interval": [*difference_interval(worse.nlp_of_rows, best.nlp_of_rows)],
        "rows": len(best.nlp_of_rows),
    }
