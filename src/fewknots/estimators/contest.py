"""method="auto" for many rows: the paper's method and the local one compete for the fit.

Which of them predicts better is a matter of the data: fine structure wants neighbours, a smooth
function of many inputs wants a global fit (docs/choosing-a-method.md has figures). So a tenth of
the rows, at most 4096, is held out, both learn from the others, and the one under which the
held-out labels are more probable stays. Held-out rows then join the local one's store; the global
one is fitted again from where it stands if its rows are few, for else they hardly matter.

The local one goes first. The other is given up when it has had as much time and is still far
behind, so that a clear case costs twice the time of the better method and not more.
"""

import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from sklearn.base import clone
from sklearn.utils import check_random_state

from ..exceptions import InterruptedFitWarning, NumericalError
from ..progress import Progress
from ..scoring import difference_interval
from .methods import MOST_ROWS_FULL_BATCH

FEWEST_ROWS = 2000  # below, inducing points are quicker and, but for ringnorm, were better
_HELD_OUT, _MOST_HELD_OUT = 0.1, 4096
_WATCHED = 1000  # held-out rows by which the second fit is followed
_FEW_ROWS = 5000  # to which the global method is fitted again
_FAR_BEHIND = 1.1, 0.02  # an NLP of so many times the other's and so much more


class Outcome(NamedTuple):
    """One competitor at the end of its fit."""

    model: Any
    nlp: float
    seconds: float
    stopped: bool  # by the user
    said: list[warnings.WarningMessage]
    nlp_of_rows: Float[np.ndarray, " n"] | None  # whose mean `nlp` is; None if it has no model


def held_out(signs: Float[np.ndarray, " N"], random_state: Any) -> Int[np.ndarray, " n"]:
    """Rows to judge by: the same share of each class, and never all rows of one."""
    rng = check_random_state(random_state)
    share = min(_HELD_OUT, _MOST_HELD_OUT / len(signs))
    parts = []
    for sign in (-1.0, 1.0):
        rows = np.flatnonzero(signs == sign)
        parts.append(rng.permutation(rows)[: int(share * len(rows))])
    return np.sort(np.concatenate(parts))


class Contest:
    """One fit of an estimator with method="auto", to rows that are checked already."""

    def __init__(
        self,
        estimator: Any,
        X: Float[np.ndarray, "N D"],
        signs: Float[np.ndarray, " N"],
        weights: Float[np.ndarray, " N"],
    ):
        self.estimator, self.X, self.all_weights = estimator, X, weights
        self.labels = estimator.classes_[(signs > 0).astype(int)]
        judges = held_out(signs, estimator.random_state)
        self.learned_weights = weights.copy()
        self.learned_weights[judges] = 0.0
        self.X_judges, self.y_judges = X[judges], self.labels[judges]
        self.positive, self.weights = signs[judges] > 0, weights[judges]
        self.asked_to_stop = False

    def winner(self) -> Any:
        """The better one, fitted; its `contest_` has both scores."""
        local = self._compete("local", self._callback())
        if local.stopped:
            return self._crowned(local, None, {"local": local.nlp}, local.said)
        other = self._compete("sparse_kl", self._callback(local))
        scores = {"local": local.nlp, "sparse_kl": other.nlp}
        if not np.isfinite(min(scores.values())):
            raise NumericalError(
                "neither method='sparse_kl' nor method='local' could be fitted to these rows. Try "
                "one of them by name; its error says more."
            )
        best, worse = (local, other) if local.nlp <= other.nlp else (other, local)
        said = best.said if best is other else [*best.said, *filter(_of_ctrl_c, other.said)]
        return self._crowned(best, worse, scores, said)

    def _compete(self, method: str, callback: Any) -> Outcome:
        limit = self.estimator.max_time
        if limit is not None:
            limit = 0.5 * limit  # of training; compiling and the last scores come on top for both
        model = clone(self.estimator).set_params(
            method=method, max_time=limit, callback=callback, class_weight=None
        )
        if self.estimator.checkpoint is not None:  # to each its own
            model.set_params(checkpoint=Path(self.estimator.checkpoint) / method)
        started = time.perf_counter()
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                model.fit(self.X, self.labels, self.learned_weights)
                nlp_of_rows = self._nlp_of_rows(model)
                nlp = float(np.mean(nlp_of_rows))
            except NumericalError:
                nlp, nlp_of_rows = np.inf, None
        interrupted = any(map(_of_ctrl_c, said))
        seconds = time.perf_counter() - started
        stopped = interrupted or self.asked_to_stop
        return Outcome(model, nlp, seconds, stopped, list(said), nlp_of_rows)

    def _nlp_of_rows(self, model: Any, most: int | None = None) -> Float[np.ndarray, " n"]:
        """Each judge's negative log probability, times its share of the weight."""
        some = slice(most)
        log_p = model.predict_log_proba(self.X_judges[some])
        log_p = log_p[np.arange(len(log_p)), self.positive[some].astype(int)]
        mean = np.mean(self.weights[some])
        return -log_p * (self.weights[some] / mean if mean > 0 else 0.0)

    def _callback(self, rival: Outcome | None = None) -> Any:
        """The user's, and a look at how far behind the rival this fit is."""
        user, looked = self.estimator.callback, [0.0]

        def follow(progress: Progress) -> bool:
            if user is not None and user(progress) is True:
                self.asked_to_stop = True
                return True
            if rival is None or progress.model is None:
                return False
            if progress.seconds < max(rival.seconds, 1.25 * looked[0]):
                return False
            looked[0] = progress.seconds
            factor, more = _FAR_BEHIND
            nlp = float(np.mean(self._nlp_of_rows(progress.model(), _WATCHED)))
            return nlp > factor * rival.nlp + more

        return follow

    def _crowned(
        self, best: Outcome, worse: Outcome | None, scores: dict[str, float], said: list[Any]
    ) -> Any:
        for warning in said:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )
        model = best.model
        if model.method_ == "local":
            model.partial_fit(self.X_judges, self.y_judges, sample_weight=self.weights)
        elif len(self.labels) <= _FEW_ROWS and not best.stopped:
            model.set_params(warm_start=True, callback=self.estimator.callback)
            model.fit(self.X, self.labels, self.all_weights)
        model.contest_ = scores
        model.contest_gain_ = _gain(best, worse)
        return model


def _gain(best: Outcome, worse: Outcome | None) -> dict[str, Any] | None:
    """By how much the winner is ahead on the judges' rows; None if the other has no score."""
    if worse is None or worse.nlp_of_rows is None or best.nlp_of_rows is None:
        return None
    return {
        "nlp": worse.nlp - best.nlp,
        "interval": [*difference_interval(worse.nlp_of_rows, best.nlp_of_rows)],
        "rows": len(best.nlp_of_rows),
    }


def _of_ctrl_c(warning: warnings.WarningMessage) -> bool:
    return issubclass(warning.category, InterruptedFitWarning)


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
