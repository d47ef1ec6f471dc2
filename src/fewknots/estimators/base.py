"""Base class of the classifier and the regressor: `fit`, its attributes, checks of rows.

scikit-learn's callbacks (`set_callbacks`, experimental in 1.9) are called during a fit if there are
any: each progress report is a task of its own below the fit's task, and a callback can stop the
fit.
"""

import tempfile
from collections.abc import Callable
from contextlib import suppress
from copy import copy
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from jaxtyping import Float
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, check_is_fitted, check_X_y, validate_data

from ..data.memory_columns import memory_table
from ..data.sources import Source, open_source
from ..data.spool import Spool
from ..data.tables import (
    check_magnitude,
    check_names,
    is_dask,
    is_table,
    only_numbers,
    with_numeric_columns,
)
from ..data.targets import are_probabilities
from ..exceptions import InterruptedFitWarning, warn
from ..fitting import sequence
from ..fitting.job import FitContext, FittedModel
from ..fitting.settings import FitSettings, fitted_methods, number, one_of
from ..inference.method import Capabilities
from ..numerics.precision import DEVICES, on_device
from ..progress import Progress
from ..stopping import TimeLimit, listening
from ..tables.recipe import Recipe
from ..tables.recipe.input_columns import InputColumns, learned_columns
from ..training.full_batch import EvidenceGradient
from ..training.row_sources import RowsInMemory, RowsOfStream
from . import new_gaps, notebook, saved_model
from .latent import LatentPredictions
from .on_cluster import fit_on_cluster

Estimator = TypeVar("Estimator", bound="GPEstimator")  # an estimator's own class
_Fit = TypeVar("_Fit", bound=Callable[..., Any])


class CallbackSupportMixin:
    """No callbacks, as in scikit-learn 1.8."""


def with_callbacks(method: _Fit) -> _Fit:
    """Nothing to set up or tear down."""
    return method


if not TYPE_CHECKING:  # scikit-learn's decorator has no types, so `fit` would lose its own
    with suppress(ImportError):
        from sklearn.callback import CallbackSupportMixin, with_callbacks


Task = Callable[[Progress], bool]
# scikit-learn sets this during a fit, and needs it after a fit that failed.
BOOKKEEPING = ("_callback_fit_ctx", "_skl_callbacks_to_teardown", "_parent_callback_ctx")
_OF_SOME_FITS = (
    *("contest_", "contest_gain_", "combination_", "feature_names_in_", "inducing_points_"),
)


class GPEstimator(LatentPredictions, CallbackSupportMixin, BaseEstimator):
    """Base of GPClassifier and GPRegressor."""

    _learns: ClassVar[str]  # "classes" or "numbers"
    # (settings, X, y, sample_weight, classes, reset): rows and targets, checked and encoded
    _rows_in_memory: Callable[..., RowsInMemory]
    _likelihood: Any
    _fitted: FittedModel
    classes_: np.ndarray
    combination_: dict[str, float]
    contest_: dict[str, float]
    contest_gain_: dict[str, Any] | None
    converged_: bool
    evidence_gradient_: EvidenceGradient | None
    evidence_is_bound_: bool
    feature_names_in_: np.ndarray
    history_: dict[str, np.ndarray]
    inducing_points_: np.ndarray
    kernel_: Any
    log_evidence_: float
    method_: str
    n_evaluations_: int
    n_features_in_: int
    n_iter_: int
    posterior_: Any
    recipe_: Recipe | None
    stored_rows_: int | None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags

    def _html_repr(self) -> str:
        """HTML for notebooks: scikit-learn's diagram, and below it what was learned."""
        diagram = super()._html_repr()
        return diagram + notebook.shown(self) if hasattr(self, "_fitted") else diagram

    # --- fitting ------------------------------------------------------------------------------

    @with_callbacks
    def fit(self: Estimator, X: Any, y: Any, sample_weight: Any = None) -> Estimator:
        """Fit to rows X (array or table) with targets y.

        sample_weight : array of shape (n_rows,), optional
            Multiplies each row's log likelihood; a weight of 2 equals the row given twice.
        """
        task = begin_fit(self, X, y)
        self._all_or_nothing(lambda context: self._fit(X, y, sample_weight, context), task)
        end_fit(self, X, y)
        return self

    @with_callbacks
    def fit_stream(
        self: Estimator,
        source: Any,
        target: Any = None,
        *,
        features: Any = None,
        weight: Any = None,
    ) -> Estimator:
        """Fit to rows from files or from a function, without holding all of them in memory.

        The rows are read once, to check them, to standardise them and to copy them to a scratch
        file (in `checkpoint`, or in the system's temporary folder). Training reads this file in
        random order. Memory does not grow with the number of rows, except with method="local",
        which keeps all rows.

        source : path of a Parquet, CSV, TSV or Arrow/Feather file, a folder of them, a pattern such
            as "flights/*.parquet" or a list of paths; a 2-D array, np.memmap or .npy file; or a
            function without arguments that returns an iterator of (X, y), (X, y, weights) or
            tables.
        target : the column with the targets; for arrays its number, or the targets themselves.
        features : the columns to use; None means all but target and weight.
        weight : the column with each row's weight, if any.
        """
        task = begin_fit(self, None, None)
        named = target, features, weight
        self._all_or_nothing(
            lambda context: self._fit_stream(open_source(source, *named), context), task
        )
        end_fit(self, None, None)
        return self

    def _fit_stream(
        self, opened: Source, context: FitContext, encode: Callable[[Any], Any] | None = None
    ) -> FittedModel:
        """`encode`: how to encode targets that are numbers; None: the likelihood's own way."""
        settings, warm = self._settings(), self._warm()
        folder = Path(settings.checkpoint or tempfile.gettempdir())
        folder.mkdir(parents=True, exist_ok=True)
        if settings.targets == "numbers" and encode is None:
            encode = settings.starting_likelihood(None).encoded
        with Spool.written(opened, folder, encode=encode) as spool:
            rows = RowsOfStream(spool, settings.class_weight)
            return sequence.fit(settings, rows, context, warm)

    def _all_or_nothing(
        self: Estimator, fit: Callable[[FitContext], FittedModel], task: Task | None = None
    ) -> Estimator:
        """If anything goes wrong, the estimator keeps the fit that it had before."""
        one_of("device", self.device, DEVICES)
        limit = self._time_limit()
        before = self.__dict__.copy()
        try:
            with on_device(self.device), listening() as interruption:
                self._take_in(fit(FitContext(limit, interruption, task, self._as_of)))
                is_mine_to_tell = interruption.listeners == 1
        except BaseException:
            now = self.__dict__
            self.__dict__ = before | {name: now[name] for name in BOOKKEEPING if name in now}
            raise
        if interruption.seen and is_mine_to_tell:
            warn(
                f"interrupted after {self.n_iter_} iterations; the model is as it was learned up "
                "to there.",
                InterruptedFitWarning,
            )
        return self

    def _time_limit(self) -> TimeLimit | None:
        """The time limit of the fit that starts now."""
        max_time = getattr(self, "max_time", None)
        if max_time is None:
            return None
        number("max_time", max_time, positive=True)
        return TimeLimit(float(max_time))

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, context: FitContext, classes: Any = None
    ) -> FittedModel:
        settings, warm = self._settings(), self._warm()
        if is_dask(X):
            return fit_on_cluster(settings, X, y, sample_weight, context, warm)
        rows = self._rows_in_memory(settings, X, y, sample_weight, classes)
        # the rows made from one soft label stay together
        compete = classes is None and not are_probabilities(y)
        return sequence.fit(settings, rows, context, warm, compete)

    def _settings(self) -> FitSettings:
        """The arguments, checked."""
        return FitSettings.of(self._learns, self.get_params(deep=False))

    def _warm(self) -> FittedModel | None:
        """What the last fit learned, if this fit starts from it (`warm_start`)."""
        return getattr(self, "_fitted", None) if getattr(self, "warm_start", False) else None

    def _checked(
        self, X: Any, y: Any, reset: bool
    ) -> tuple[np.ndarray, np.ndarray, InputColumns | None]:
        """X as numbers, and y; also the columns of X, if they had to be converted to numbers.

        reset : whether the columns may differ from those of the last fit.
        """
        check_names(X)
        known = self._columns if self._warm() is not None or not reset else None
        if known is None and (not reset or only_numbers(X)):
            numeric = self._y_and(with_numeric_columns(X), y, reset)
            if not new_gaps.have_gaps(numeric[0]):
                check_magnitude(numeric[0], self._names)
                return *numeric, None
            if not reset:
                return self._without_new_gaps(numeric[0]), numeric[1], None
            X, y = (X, y) if is_table(X) else numeric
        else:
            validate_data(self, X, y, skip_check_array=True, reset=reset and known is None)
        columns, features = self._encoded(X, known)
        if known is not None:
            features = self._without_new_gaps(features)
        checks = {"dtype": np.float64, "y_numeric": self._learns == "numbers", "estimator": self}
        return *check_X_y(features, y, **checks), columns

    def _y_and(self, X: Any, y: Any, reset: bool) -> tuple[np.ndarray, np.ndarray]:
        """Numbers with or without gaps, as scikit-learn checks them."""
        return validate_data(
            self,
            X,
            y,
            dtype=np.float64,
            ensure_all_finite="allow-nan",
            y_numeric=self._learns == "numbers",
            reset=reset,
        )

    def _encoded(self, X: Any, known: InputColumns | None) -> tuple[InputColumns, np.ndarray]:
        """The columns of a table (those of the last fit, if there was one) and their features."""
        if not is_table(X):
            X = X if isinstance(X, np.ndarray) else np.asarray(X, object)
        table = memory_table(X)
        if not table.n_rows:  # raises an error in scikit-learn's words
            check_array(np.empty((0, len(table.columns))), estimator=self)
        if known is None:
            names = None if self._names is None else tuple(self._names)
            known = learned_columns(table, names)
        return known, known.encode(table)

    def _without_new_gaps(self, X: np.ndarray) -> np.ndarray:
        """Rows to learn from; a gap in a column that had none at `fit` is filled with a typical
        value.
        """
        if not new_gaps.have_gaps(X):
            return X
        new_gaps.warn_of_new_gaps(X, self._column_names)
        return new_gaps.filled(X, self._points())

    @property
    def _names(self) -> np.ndarray | None:
        return getattr(self, "feature_names_in_", None)

    @property
    def _columns(self) -> InputColumns | None:
        """The columns of the fitted model, if features were made from them."""
        fitted = getattr(self, "_fitted", None)
        return None if fitted is None else fitted.columns

    @property
    def _column_names(self) -> np.ndarray | None:
        """For each feature the column that it was made from."""
        return self._names if self._columns is None else self._columns.column_names

    # --- results of a fit --------------------------------------------------------------------

    def _take_in(self, model: FittedModel) -> None:
        """Set all attributes of a fit; the estimators' docstrings say what they mean."""
        for name in _OF_SOME_FITS:
            self.__dict__.pop(name, None)  # from an earlier fit
        self._fitted = model
        self._standardiser = model.standardiser
        self._likelihood = model.likelihood
        columns = model.columns
        names = model.feature_names if columns is None else columns.given_names
        self.recipe_ = None if columns is None else columns.recipe
        self.n_features_in_ = model.n_features if columns is None else len(columns.names)
        if names is not None:
            self.feature_names_in_ = names
        if model.classes is not None:
            self.classes_ = model.classes
        self.method_ = model.method
        self.kernel_ = model.kernel
        self.posterior_ = model.posterior
        self.stored_rows_ = model.stored_rows
        if not self._method.looks_up_neighbours:  # its points are all rows: make no copy of them
            self.inducing_points_ = model.standardiser.undo(model.posterior.points)
        self.evidence_gradient_ = model.gradient
        self.log_evidence_ = model.evidence
        self.evidence_is_bound_ = model.is_bound
        self.n_iter_ = max(1, model.iterations)  # 0 if nothing is learned
        self.n_evaluations_ = model.evaluations
        self.converged_ = model.converged
        self.history_ = model.history
        if model.contest is not None:
            self.contest_, self.contest_gain_ = model.contest, model.contest_gain
        if model.combination is not None:
            self.combination_ = model.combination

    def _as_of(self: Estimator, model: FittedModel) -> Estimator:
        """A copy of this estimator during its fit, with what has been learned so far."""
        other = copy(self)
        other._take_in(model)
        return other

    @property
    def _method(self) -> type[Capabilities]:
        """The properties of the method of the last fit."""
        return fitted_methods(self._learns)[self.method_]

    # --- using it -----------------------------------------------------------------------------

    def _predicted(
        self, predict: Callable[..., new_gaps.Predicted], combine: new_gaps.Combine, X: Any
    ) -> new_gaps.Predicted:
        """`predict` of posterior, standardiser and rows; for new gaps an average (new_gaps.py)."""
        rows = self._rows(X)
        if new_gaps.have_gaps(rows):
            new_gaps.warn_of_new_gaps(rows, self._column_names)

        def at(rows):
            return predict(self.posterior_, self._standardiser, rows)

        with on_device(self.device):
            return new_gaps.predicted(at, combine, rows, self._points)

    def _rows(self, X: Any) -> Float[np.ndarray, "N D"]:
        """New rows, checked against those of the fit; NaN marks a gap in a column without gaps at
        `fit`.
        """
        check_is_fitted(self)
        check_names(X)
        if self._columns is not None:
            validate_data(self, X, skip_check_array=True, reset=False)
            return self._encoded(X, self._columns)[1]
        finite = {"dtype": np.float64, "ensure_all_finite": "allow-nan"}
        X = validate_data(self, with_numeric_columns(X), reset=False, **finite)
        check_magnitude(np.nan_to_num(X, nan=0.0) if new_gaps.have_gaps(X) else X, self._names)
        return X

    def _for_features(self) -> "GPEstimator":
        """A copy that takes the kernel's inputs as arrays without column names."""
        other = copy(self)
        other.__dict__.pop("feature_names_in_", None)
        if self._columns is not None:
            other._fitted = replace(self._fitted, columns=None)
            other.recipe_, other.n_features_in_ = None, self._fitted.n_features
        return other

    def _points(self) -> Float[np.ndarray, "M D"]:
        """The points of the posterior, in the units of the features."""
        return self._standardiser.undo(np.asarray(self.posterior_.points, np.float64))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to one file; `fewknots.load` reads it back, bit for bit.

        The file holds numbers and a JSON header, never code. `callback` is not saved.
        """
        check_is_fitted(self)
        saved_model.save(self, path)


# --- scikit-learn's callbacks ---------------------------------------------------------------------


def begin_fit(estimator: Any, X: Any, y: Any) -> Task | None:
    """Tell callbacks that a fit starts; returns the function to call with each progress report."""
    if not getattr(estimator, "_skl_callbacks", None):
        return None
    fit = estimator._init_callback_context(max_subtasks=None)
    fit.call_on_fit_task_begin(estimator=estimator, X=X, y=y)

    def task(now: Progress) -> bool:
        step = fit.subcontext(task_name="iteration")
        step.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
        told = {"progress": now}
        return bool(step.call_on_fit_task_end(estimator=estimator, X=X, y=y, metadata=told))

    return task


def end_fit(estimator: Any, X: Any, y: Any) -> None:
    """Tell callbacks that the fit has ended."""
    if getattr(estimator, "_skl_callbacks", None):
        estimator._callback_fit_ctx.call_on_fit_task_end(estimator=estimator, X=X, y=y)
