"""What the classifier and the regressor share: the order of a fit, its attributes, its manners."""

from collections.abc import Callable
from copy import copy
from functools import partial
from os import PathLike
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import inducing, prediction
from ..data.blocks import padded, rounded_up
from ..data.merge import merge_equal_rows
from ..data.numeric_columns import with_numeric_columns
from ..data.standardise import Standardiser
from ..data.tables import check_magnitude, warn_of_constant_columns
from ..inference.sites import Rows
from ..kernels import as_kernel
from ..likelihoods import Likelihood
from ..local.method import Local
from ..numerics.precision import (
    DEVICES,
    computing_in,
    on_device,
    one_lapack_thread,
    resolve_dtype,
    resolve_jitter,
)
from ..progress import Progress, Reporter
from ..stopping import Stopping, TimeLimit, listening
from ..training.constraints import constraints_of
from ..training.full_batch import Fitted, Problem
from ..training.parameters import Learned, Model
from . import saved_model
from .fitted_attributes import set_attributes, tell_of_interruption, tell_of_trouble
from .in_rounds import fit_table_in_rounds
from .local_fits import check_warm, fit_neighbours
from .methods import ROUNDS, FitPlan, check_weights
from .minibatches import Table, Warm, check_same_width, fit_table, table_in_memory
from .parameters import number, one_of, switch, whole_number
from .sklearn_callbacks import BOOKKEEPING, CallbackSupportMixin, begin_fit, end_fit, with_callbacks
from .starting_points import starting_points
from .stored_rows import check_warm_holds_none, n_stored

_ENOUGH_ROWS = 10_000  # to see how far each input spreads


class Targets(NamedTuple):
    """What is to be learned: one number and one weight a row, and the likelihood between."""

    y: Float[np.ndarray, " N"]
    weights: Float[np.ndarray, " N"]
    likelihood: Likelihood


class GPEstimator(CallbackSupportMixin, BaseEstimator):
    """Base of GPClassifier and GPRegressor."""

    _likelihood: Any
    posterior_: Any
    stored_rows_: int | None
    store_rows: bool

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None):
        """Fit to rows X (array or table) with targets y.

        sample_weight : array of shape (n_rows,), optional
            Multiplies each row's log likelihood; a weight of 2 equals the row given twice.
        """
        self._task = begin_fit(self, X, y)
        self._all_or_nothing(lambda: self._fit(X, y, sample_weight))
        end_fit(self, X, y)
        return self

    def _all_or_nothing(self, fit: Callable[[], Any]):
        """Whatever goes wrong, an estimator that was fitted before still works."""
        one_of("device", self.device, DEVICES)
        limit = self._time_limit()
        before = self.__dict__.copy()
        try:
            with on_device(self.device), listening() as interruption:
                self._stopping = Stopping(limit, interruption)
                fit()
                is_mine_to_tell = interruption.listeners == 1
        except BaseException:
            now = self.__dict__
            self.__dict__ = before | {name: now[name] for name in BOOKKEEPING if name in now}
            raise
        finally:
            for name in ("_task", "_stopping"):
                self.__dict__.pop(name, None)
        if interruption.seen and is_mine_to_tell:
            tell_of_interruption(self)
        return self

    def _time_limit(self) -> TimeLimit | None:
        """The time that the fit which begins now may take: what a contest gives it, or all."""
        if "_given_limit" in self.__dict__:
            return self.__dict__.pop("_given_limit")
        max_time = getattr(self, "max_time", None)
        if max_time is None:
            return None
        number("max_time", max_time, positive=True)
        return TimeLimit(float(max_time))

    def _fit(self, X, y, sample_weight, *known):
        self._check_parameters()
        warm = self._warm()
        X, y = validate_data(
            self,
            with_numeric_columns(X),
            self._target_column(y),
            dtype=np.float64,
            y_numeric=self._numeric_targets,
        )
        names = getattr(self, "feature_names_in_", None)
        check_magnitude(X, names)
        y, weights = self._targets(X, y, sample_weight, *known)
        if not known and self._fit_by_contest(X, y, weights):
            return
        fit_plan = self._fit_plan(len(X))
        check_weights(fit_plan.method, weights)
        check_warm(warm, fit_plan)
        if fit_plan.plan is not None:  # finding equal rows among many costs more than it saves
            counted = weights > 0
            if not counted.all():
                X, y, weights = X[counted], y[counted], weights[counted]
        elif fit_plan.method.weights == "whole":  # each row has a part of its own
            copies = weights.astype(int)
            X, y, weights = (
                np.repeat(X, copies, axis=0),
                np.repeat(y, copies),
                np.ones(copies.sum()),
            )
        else:
            X, y, weights = merge_equal_rows(X, y, weights)
        warn_of_constant_columns(X, names)
        self._standardiser = self._chosen_standardiser(X, weights, warm)
        if fit_plan.plan is not None and fit_plan.plan.optimizer == ROUNDS and warm is None:
            self._standardiser = self._standardiser.rounded()  # as on a cluster
        targets = self._likelihood_of(y, weights)
        if fit_plan.plan is not None:
            table = table_in_memory(X, targets.y, weights, self._standardiser)
            self._fit_table(table, fit_plan, targets.likelihood, warm)
        else:
            self._fit_full_batch(self._standardiser(X), targets, fit_plan, warm)

    def _fit_by_contest(self, X, y, weights) -> bool:
        """Let several methods compete where the choice is open; False where it is not."""
        return False

    def _warm(self) -> Warm | None:
        """What the last fit knows, if this one is to begin with it."""
        if not getattr(self, "warm_start", False) or not hasattr(self, "posterior_"):
            return None
        check_warm_holds_none(self.stored_rows_, self.store_rows)
        return Warm(self.kernel_, self.posterior_, self._standardiser)

    def _chosen_standardiser(self, X, weights, warm: Warm | None) -> Standardiser:
        if warm is not None:
            check_same_width(warm, X.shape[1])
            return warm.standardiser
        if not self.standardize:
            return Standardiser.identity(X.shape[1])
        return Standardiser.fitted(X, weights)

    def _fit_table(
        self, table: Table, fit_plan: FitPlan, likelihood: Likelihood, warm: Warm | None
    ) -> None:
        assert fit_plan.plan is not None
        if isinstance(fit_plan.method, Local):
            fit = fit_neighbours
        elif fit_plan.plan.optimizer == ROUNDS or table.feed is None:
            fit = fit_table_in_rounds
        else:
            fit = fit_table
        fitted, reporter = fit(self, table, fit_plan, likelihood, warm)
        self._keep(fitted, fit_plan, reporter)

    def _fit_full_batch(self, X, targets: Targets, fit_plan: FitPlan, warm: Warm | None) -> None:
        for name in ("checkpoint", "validation_fraction"):
            if getattr(self, name, None) is not None:
                raise ValueError(
                    f"{name} is for training by minibatches, and {len(X)} distinct rows are fitted "
                    "in full batch. Leave it out, or set optimizer='natural_gradient'."
                )
        dtype = resolve_dtype(self.dtype)
        problem = self._problem(X, targets, fit_plan, dtype, warm)
        reporter = self._reporter(fit_plan, problem.max_iter)
        with computing_in(dtype), one_lapack_thread(), reporter:
            fitted = fit_plan.train(problem, reporter)
        real = problem.rows.X[: len(X)]  # the others fill up a block
        fitted = fitted._replace(stored_rows=n_stored(fit_plan.method, fitted.posterior, real))
        self._keep(fitted, fit_plan, reporter)

    def _reporter(self, fit_plan: FitPlan, max_iter: int) -> Reporter:
        task = getattr(self, "_task", None)
        as_of = partial(self._as_of, fit_plan)
        return Reporter(self.callback, self.verbose, max_iter, *self._stopping, task, as_of)

    def _check_parameters(self) -> None:
        one_of("inducing_init", self.inducing_init, inducing.METHODS)
        if not (isinstance(self.n_inducing, str) and self.n_inducing == "auto"):
            whole_number("n_inducing", self.n_inducing, 1)
        if self.max_iter is not None:
            whole_number("max_iter", self.max_iter, 1)
        number("tol", self.tol, positive=False)
        if self.jitter is not None:
            number("jitter", self.jitter, positive=True)
        for name in ("ard", "learn_kernel", "learn_inducing", "store_rows", "standardize"):
            switch(name, getattr(self, name))
        if self.callback is not None and not callable(self.callback):
            raise ValueError(f"callback must be callable or None, got {self.callback!r}.")

    def _problem(
        self, X, targets: Targets, fit_plan: FitPlan, dtype: np.dtype, warm: Warm | None
    ) -> Problem:
        assert not isinstance(fit_plan.method, Local)
        rng = check_random_state(self.random_state)
        some = slice(None, None, max(1, len(X) // _ENOUGH_ROWS))
        spread = Standardiser.fitted(X[some], targets.weights[some]).scale
        names = getattr(self, "feature_names_in_", None)
        given = as_kernel(self.kernel, names)
        kernel = given.prepared(spread, self.ard)
        Z = None
        if warm is not None:
            kernel = warm.kernel
        if warm is not None and fit_plan.method.sparse:
            Z = warm.posterior.points.astype(dtype)
        elif fit_plan.method.sparse:
            Z = self._starting_points(kernel, X, targets.weights, rng).astype(dtype)
        size = len(X) if fit_plan.method.weights == "whole" else rounded_up(len(X))
        no_weight = np.zeros(size - len(X))

        def cast(parameters):
            return jax.tree.map(lambda parameter: np.asarray(parameter, dtype), parameters)

        kernel = cast(kernel)
        return Problem(
            rows=Rows(
                padded(X.astype(dtype), size),
                padded(targets.y.astype(dtype), size),
                np.concatenate([targets.weights, no_weight]).astype(dtype),
            ),
            model=Model(kernel, Z, cast(targets.likelihood)),
            learned=Learned(
                bool(self.learn_kernel),
                bool(self.learn_inducing),
                bool(getattr(self, "learn_noise", False)),
                constraints_of(given, kernel),
            ),
            method=fit_plan.method,
            maximise=fit_plan.maximise,
            jitter=resolve_jitter(self.jitter, dtype),
            max_iter=fit_plan.iterations if self.max_iter is None else int(self.max_iter),
            tol=float(self.tol),
            rng=rng,
            off_rows=not self.store_rows,
        )

    def _starting_points(self, kernel, X, weights, rng, n_rows=None) -> Float[np.ndarray, "M D"]:
        with computing_in(np.dtype(np.float64)):
            return starting_points(
                self.inducing_points,
                self.n_inducing,
                self.inducing_init,
                self._standardiser,
                kernel,
                X,
                weights,
                rng,
                n_rows,
                self.store_rows,
            )

    def _keep(self, fitted: Fitted, fit_plan: FitPlan, reporter: Reporter) -> None:
        self._take_in(fitted, fit_plan, reporter.history())
        tell_of_trouble(self, fitted)

    def _take_in(self, fitted: Fitted, fit_plan: FitPlan, history: dict[str, np.ndarray]) -> None:
        set_attributes(self, fitted, fit_plan.method, history)

    def _as_of(self, fit_plan: FitPlan, now: Progress, fitted: Fitted) -> "GPEstimator":
        """A copy of this estimator, in the midst of its fit, that holds what is found by now."""
        other = copy(self)
        moment = {"iteration": now.iteration, "seconds": now.seconds, "bound": now.bound}
        history = {name: np.array([value]) for name, value in moment.items()}
        other._take_in(fitted._replace(iterations=now.iteration), fit_plan, history)
        return other

    def predict_latent(
        self, X: Any
    ) -> tuple[Float[np.ndarray, "N ..."], Float[np.ndarray, "N ..."]]:
        """Mean and variance of the latent function f at each row.

        If the likelihood has several latent functions, with a column for each.
        """
        rows = self._rows(X)
        with on_device(self.device):
            mean, variance = prediction.marginals(self.posterior_, self._standardiser, rows)
        return (mean[0], variance[0]) if len(mean) == 1 else (mean.T, variance.T)

    def _rows(self, X: Any) -> Float[np.ndarray, "N D"]:
        """New rows, checked against those of the fit."""
        check_is_fitted(self)
        X = validate_data(self, with_numeric_columns(X), reset=False, dtype=np.float64)
        check_magnitude(X, getattr(self, "feature_names_in_", None))
        return X

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to one file; `fewknots.load` reads it back, bit for bit.

        The file holds numbers and a JSON header, never code. `callback` is not kept.
        """
        check_is_fitted(self)
        saved_model.save(self, path)
