"""GPRegressor: Gaussian noise and other likelihoods of numbers."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Any

import jax
import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike, DTypeLike
from sklearn.base import RegressorMixin
from sklearn.utils.validation import _check_sample_weight, check_array, check_is_fitted

from .. import prediction
from ..data.row_checks import check_finite
from ..data.tables import LARGEST_VALUE, is_dask, is_dataframe
from ..data.targets import check_not_negative, one_column, shown
from ..exceptions import ModelFileError
from ..files.container import shown as quoted
from ..files.header_values import KnownClasses, decode_likelihood, encode_likelihood, value_of
from ..fitting import sequence
from ..fitting.job import FitContext, FittedModel
from ..fitting.settings import number
from ..kernels import Kernel
from ..likelihoods import Gaussian, Likelihood
from ..number_scoring import Seen
from ..progress import Progress
from ..training.row_sources import RowsInMemory
from . import exposure as exposed
from . import new_gaps
from .base import GPEstimator, begin_fit, end_fit, with_callbacks


class GPRegressor(RegressorMixin, GPEstimator):
    """Gaussian process regression with learned noise, exact or sparse.

    With another likelihood y may be counts, positive numbers or proportions, or have outliers. X
    may be a table, and may have gaps, as for `GPClassifier`.

    Parameters
    ----------
    kernel, ard, n_neighbors, n_inducing, inducing_points, inducing_init, learn_kernel,
    learn_inducing, store_rows, optimizer, batch_size, max_iter, max_time, tol,
    validation_fraction, checkpoint, resume, warp, jitter, dtype, device, random_state, verbose,
    callback :
        as in `GPClassifier`. Minibatches and `fit_stream` work with "sparse_kl".
    likelihood : str or a `fewknots.likelihoods.Likelihood` of numbers, default "gaussian"
        How y follows from the latent function: "gaussian", "student_t", "laplace",
        "heteroscedastic", "poisson", "negative_binomial", "gamma" or "beta". docs/likelihoods.md
        says when to use which, docs/extending.md how to write one of your own.
    method : {"auto", "exact", "titsias", "svi", "full_kl", "sparse_kl", "local"}, default "auto"
        "exact": exact Gaussian process regression, O(N³). "titsias": the collapsed variational
        bound with inducing points, O(NM²) (eq. titsias). "svi": the same bound with q(u) optimised
        instead of solved for (eq. svigp). "full_kl", "sparse_kl": as in `GPClassifier`, for any
        likelihood. "local": a Gaussian process among the neighbours of every row, for Gaussian
        noise, "poisson", "negative_binomial" and "gamma".
        "auto": exact (or full_kl, except for "student_t", "beta" and "laplace") up to 1000 rows
        unless inducing points are asked for or store_rows=False, else titsias (or sparse_kl). Above
        2000 rows in memory, sparse_kl (with minibatches) and local are both fitted if both can use
        the likelihood, and the better one is kept, or an average, as in `GPClassifier`. For streams
        sparse_kl.
    method_options : dict or None, default None
        {"bound": "tight"} for "titsias", "svi" and "sparse_kl": a bound closer to the evidence
        (docs/choosing-a-method.md).
    noise : float or None, default None
        Noise variance at the start, in the units of y²; None: a tenth of the variance of y.
    learn_noise : bool, default True
        Whether the noise variance, or the parameters of another likelihood, are learned.
    standardize : bool, default True
        Shift and scale every input to mean 0 and standard deviation 1 first; also y, if the
        likelihood allows any unit. Predictions and `log_evidence_` are still in the user's units;
        `kernel_` is in standardised units.

    Attributes
    ----------
    likelihood_ : the likelihood with its learned parameters, in the units of y
    noise_ : float, the learned noise variance, in the units of y², if the noise is Gaussian
    contest_, contest_gain_, combination_, kernel_, posterior_, log_evidence_,
    evidence_is_bound_, evidence_gradient_, n_iter_, converged_, history_, stored_rows_,
    n_features_in_, feature_names_in_, recipe_ : as in `GPClassifier`.
    inducing_points_ : as in `GPClassifier`; not with method="local"
    method_ : str, the method used

    Examples
    --------
    >>> import numpy as np
    >>> from fewknots import GPRegressor
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> reg = GPRegressor().fit(X, np.sin(X[:, 0]))
    >>> mean, std = reg.predict([[1.5]], return_std=True)
    >>> bool(abs(mean[0] - np.sin(1.5)) < 0.01)
    True
    """

    def __init__(
        self,
        kernel: Kernel | str | Sequence[Kernel | str] = "auto",
        *,
        ard: bool = True,
        likelihood: str | Likelihood = "gaussian",
        method: str = "auto",
        method_options: dict[str, Any] | None = None,
        noise: float | None = None,
        learn_noise: bool = True,
        n_neighbors: int | str = "auto",
        n_inducing: int | str = "auto",
        inducing_points: ArrayLike | None = None,
        inducing_init: str = "kmeans",
        learn_kernel: bool = True,
        learn_inducing: bool = True,
        store_rows: bool = True,
        optimizer: str = "auto",
        batch_size: int | str = "auto",
        max_iter: int | None = None,
        max_time: float | None = None,
        tol: float = 1e-5,
        validation_fraction: float | None = None,
        checkpoint: str | PathLike[str] | None = None,
        resume: bool = False,
        standardize: bool = True,
        warp: str | None = "auto",
        jitter: float | None = None,
        dtype: DTypeLike | None = None,
        device: str = "auto",
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
        callback: Callable[[Progress], object] | None = None,
    ) -> None:
        self.kernel = kernel
        self.ard = ard
        self.likelihood = likelihood
        self.method = method
        self.method_options = method_options
        self.noise = noise
        self.learn_noise = learn_noise
        self.n_neighbors = n_neighbors
        self.n_inducing = n_inducing
        self.inducing_points = inducing_points
        self.inducing_init = inducing_init
        self.learn_kernel = learn_kernel
        self.learn_inducing = learn_inducing
        self.store_rows = store_rows
        self.optimizer = optimizer
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.max_time = max_time
        self.tol = tol
        self.validation_fraction = validation_fraction
        self.checkpoint = checkpoint
        self.resume = resume
        self.standardize = standardize
        self.warp = warp
        self.jitter = jitter
        self.dtype = dtype
        self.device = device
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    likelihood_: Likelihood
    noise_: float

    _learns = "numbers"

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None, exposure: Any = None) -> "GPRegressor":
        """Fit to rows X (array, table or Dask collection) with targets y.

        sample_weight : array of shape (n_rows,), optional
            Multiplies each row's log likelihood; a weight of 2 equals the row given twice.
        exposure : array of shape (n_rows,), optional
            For likelihood="poisson": the time, area or number of people that each count refers to.
            It multiplies the row's rate.
        """
        task = begin_fit(self, X, y)

        def fit(context: FitContext) -> FittedModel:
            if exposure is None:
                return self._fit(X, y, sample_weight, context)
            return self._fit_rates(X, y, sample_weight, exposure, context)

        self._all_or_nothing(fit, task)
        end_fit(self, X, y)
        return self

    @with_callbacks
    def fit_stream(
        self,
        source: Any,
        target: Any = None,
        *,
        features: Any = None,
        weight: Any = None,
        exposure: Any = None,
    ) -> "GPRegressor":
        """Fit to rows that are read from disk, as `GPClassifier.fit_stream` does.

        source, target, features, weight : as in `GPClassifier.fit_stream`.
        exposure : name of the column with each row's exposure, as in `fit`.
        """
        if exposure is None:
            return super().fit_stream(source, target, features=features, weight=weight)
        task = begin_fit(self, None, None)

        def fit(context: FitContext) -> FittedModel:
            exposed.check_has_exposure(self._settings().starting_likelihood(None), learned=True)
            rates = exposed.SourceOfRates.opened(source, target, features, weight, exposure)
            model = self._fit_stream(rates, context, encode=np.asarray)
            return replace(model, evidence=model.evidence + rates.constant)

        self._all_or_nothing(fit, task)
        end_fit(self, None, None)
        return self

    def _fit_rates(
        self, X: Any, y: Any, sample_weight: Any, exposure: Any, context: FitContext
    ) -> FittedModel:
        if is_dask(X):
            raise ValueError(
                "exposure is for rows in memory and streams, and X is a Dask collection. Use "
                "fit_stream, or X.compute() if the rows fit into memory."
            )
        settings = self._settings()
        exposed.check_has_exposure(settings.starting_likelihood(None), learned=True)
        rows = self._rows_in_memory(settings, X, y, sample_weight)
        e = exposed.checked(exposure, rows.n_rows)
        rates = rows._replace(y=rows.y / e, weights=rows.weights * e)
        model = sequence.fit(settings, rates, context)
        constant = exposed.constant(rows.y, rows.weights, e)
        return replace(model, evidence=model.evidence + constant)

    def _rows_in_memory(self, settings, X, y, sample_weight, classes=None, reset=True):
        X, y, columns = self._checked(X, one_column(y), reset)
        if y.dtype.kind not in "biufO":  # objects are numbers by now
            raise ValueError(
                f"y holds {shown(y[0])} in row 0, which is not a number. A regressor learns "
                "numbers: convert dates and durations to days or seconds, and use GPClassifier "
                "for classes."
            )
        y = y.astype(np.float64)
        if np.max(np.abs(y)) > LARGEST_VALUE:
            raise ValueError(
                f"y holds {y[np.argmax(np.abs(y))]:g}, which is too large: the limit is "
                f"{LARGEST_VALUE:g}. Rescale it."
            )
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
        check_not_negative(weights)
        names = self._names if columns is None else columns.feature_names
        encoded = settings.starting_likelihood(None).encoded(y)
        return RowsInMemory(X, encoded, weights, names, columns=columns)

    def _take_in(self, model: FittedModel) -> None:
        super()._take_in(model)
        self._target_mean, self._target_scale = model.target_mean, model.target_scale
        self.likelihood_ = self._likelihood.rescaled(1.0 / self._target_scale)
        self.__dict__.pop("noise_", None)  # of an earlier fit
        if isinstance(self.likelihood_, Gaussian):
            self.noise_ = float(self._likelihood.noise) * self._target_scale**2

    def predict(
        self, X: Any, return_std: bool = False, return_cov: bool = False, exposure: Any = None
    ) -> Any:
        """Mean of y at each row; with `return_std` also its standard deviation, noise included.

        For a Dask collection the result is a Dask collection, computed when it is needed; the same
        holds for quantiles.

        exposure : for each row the number that multiplies its rate, as in `fit`; None: 1.

        With `return_cov`, for Gaussian noise, also the covariance of y between rows, of shape (N,
        N), with the noise on its diagonal. `predict_latent` gives mean and variance, or
        covariance, of the function without the noise.
        """
        check_is_fitted(self)
        if return_cov and (return_std or exposure is not None):
            raise ValueError("return_cov cannot be combined with return_std or exposure.")
        if is_dask(X):
            return self._predicted_lazily(X, return_std, return_cov, exposure)
        if return_cov:
            return self._predicted_together(X)
        if exposure is None:
            of_rows = partial(prediction.moments, self._likelihood)
            mean, variance = self._predicted(of_rows, new_gaps.mixture_moments, X)
        else:
            mean, variance = prediction.moments_of(self._likelihood, *self._latent(X, exposure))
        mean, variance = self._in_units_of_y(mean, variance)
        return (mean, np.sqrt(variance)) if return_std else mean

    def _predicted_lazily(self, X: Any, std: bool, cov: bool, exposure: Any) -> Any:
        """Mean, or mean and standard deviation, as Dask collections like X."""
        if cov:
            raise ValueError(
                "return_cov asks for all pairs of rows, and X is a Dask collection. Ask for it of "
                "a few thousand rows: X.compute()."
            )
        if not std:
            return self._lazily("predict", X, exposure, np.zeros(1))
        both = self._lazily("_moments", X, exposure, np.zeros((1, 2)), ("mean", "std"))
        if is_dataframe(X):
            return both["mean"], both["std"]
        return both[:, 0], both[:, 1]

    def _moments(self, X: Any) -> Float[np.ndarray, "N 2"]:
        """Mean and standard deviation, next to each other."""
        return np.column_stack(self.predict(X, return_std=True))

    def _lazily(
        self, method: str, X: Any, exposure: Any, like: np.ndarray, names: Any = None, *more: Any
    ) -> Any:
        from ..distributed.predicting import predicted  # here: it needs Dask

        if exposure is not None:
            raise ValueError(
                "exposure is for rows in memory, and X is a Dask collection. Predict for an "
                "exposure of 1, or for one partition at a time."
            )
        return predicted(self, method, X, like, names, *more)

    def _predicted_together(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        if not isinstance(self._likelihood, Gaussian):
            raise ValueError(
                f"return_cov is for Gaussian noise, and the likelihood is {self._likelihood!r}. "
                "predict_latent(X, return_cov=True) gives the covariance of the latent function; "
                "sample_y draws joint samples of y."
            )
        mean, covariance = self.predict_latent(X, return_cov=True)
        covariance[np.diag_indices(len(covariance))] += self.noise_
        return mean, covariance

    def sample_y(
        self, X: Any, n_samples: int = 1, random_state: Any = 0
    ) -> Float[np.ndarray, "N n"]:
        """Samples of y at all rows together, noise included, of shape (N, n_samples).

        `sample_latent` samples the latent function, without noise.
        """
        random, f = self._samples(X, n_samples, random_state)
        y = np.stack([np.asarray(self._likelihood.sampled(random, one)) for one in f], axis=1)
        return y * self._target_scale + self._target_mean

    def predict_quantiles(
        self, X: Any, levels: Any = (0.025, 0.5, 0.975), exposure: Any = None
    ) -> Any:
        """Quantiles of y at each row: one column for each level."""
        levels = np.asarray(levels, np.float64)
        if levels.ndim != 1 or not np.all((levels > 0) & (levels < 1)):
            raise ValueError(f"levels must be probabilities between 0 and 1, got {levels}.")
        if is_dask(X):
            check_is_fitted(self)
            like = np.zeros((1, len(levels)))
            return self._lazily("predict_quantiles", X, exposure, like, levels.tolist(), levels)
        if exposure is not None:
            latent = self._latent(X, exposure)
            return prediction.quantiles_of(levels, self._likelihood, *latent).T
        rows = self._rows(X)
        finer = new_gaps.QUANTILES if new_gaps.have_gaps(rows) else ()
        of_rows = partial(self._quantiles, np.append(levels, finer))
        (found,) = self._predicted(of_rows, new_gaps.mixture_quantiles(levels), X)
        return (found[: len(levels)] * self._target_scale + self._target_mean).T

    def _quantiles(self, levels, posterior, standardiser, rows) -> tuple[np.ndarray]:
        return (prediction.quantiles(levels, self._likelihood, posterior, standardiser, rows),)

    def predict_interval(self, X: Any, coverage: Any = 0.95, exposure: Any = None) -> Any:
        """Lower and upper end of the interval that contains y with this probability.

        Equal probability lies below and above it; for counts, whose ends are whole numbers,
        approximately.
        """
        number("coverage", coverage, positive=True)
        if coverage >= 1:
            raise ValueError(f"coverage must be below 1, got {coverage!r}.")
        ends = 0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage
        return self.predict_quantiles(X, ends, exposure)

    def predict_log_density(self, X: Any, y: Any, exposure: Any = None) -> Float[np.ndarray, " N"]:
        """Log density of y at new rows, log p(y_n | x_n), noise included; for counts the log
        probability.

        Its mean is the score to compare likelihoods by. If a row has a gap in a column without
        gaps at `fit`, f is taken as Gaussian with the moments of the average over stand-in values.
        """
        standardised, latent = self._at_targets(X, y, exposure)
        found = prediction.log_density_of(self._likelihood, standardised, *latent)
        return found - np.log(self._target_scale)

    def pit(self, X: Any, y: Any, exposure: Any = None) -> Float[np.ndarray, "N 2"]:
        """Rank of each y in its predicted distribution: P(Y < y) and P(Y ≤ y), two columns.

        Both are equal if y is continuous. If predictions are calibrated, they are uniform between 0
        and 1 (probability integral transform).
        """
        seen = self._seen(X, y, exposure)
        return np.column_stack([seen.below, seen.up_to])

    def _latent(self, X: Any, exposure: Any = None) -> exposed.Latent:
        """Moments of f (with exposure of f + log e) at each row, in the fit's units."""
        mean, variance = self._predicted(prediction.marginals, new_gaps.mixture_moments, X)
        if exposure is None:
            return mean, variance
        exposed.check_has_exposure(self._likelihood, learned=False)
        return exposed.shifted((mean, variance), exposed.checked(exposure, mean.shape[1]))

    def _seen(self, X: Any, y: Any, exposure: Any = None) -> Seen:
        """Everything that scores need, in the units of y."""
        standardised, latent = self._at_targets(X, y, exposure)
        seen = prediction.seen_in_numbers(self._likelihood, standardised, *latent)
        return seen._replace(
            mean=seen.mean * self._target_scale + self._target_mean,
            deviation=seen.deviation * self._target_scale,
            log_density=seen.log_density - np.log(self._target_scale),
        )

    def _at_targets(
        self, X: Any, y: Any, exposure: Any
    ) -> tuple[Float[np.ndarray, " N"], exposed.Latent]:
        """Targets and moments of f at new rows, in the fit's units."""
        check_is_fitted(self)
        y, latent = self._numbers(y), self._latent(X, exposure)
        if len(y) != latent[0].shape[1]:
            raise ValueError(f"X has {latent[0].shape[1]} rows, but y has {len(y)} numbers.")
        return (y - self._target_mean) / self._target_scale, latent

    def _with_doubt(self, X: Any, width: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The mean of y, and its value if f is this many standard deviations lower or higher."""
        mean, variance = self._latent(X)
        away, nothing = width * np.sqrt(variance), np.zeros_like(variance)
        middle, low, high = (
            prediction.moments_of(self._likelihood, at, spread)[0] * self._target_scale
            + self._target_mean
            for at, spread in ((mean, variance), (mean - away, nothing), (mean + away, nothing))
        )
        return middle, low, high

    def _numbers(self, y: Any) -> Float[np.ndarray, " N"]:
        """Targets of new rows, checked and encoded by the likelihood."""
        values = check_array(one_column(y), ensure_2d=False, dtype=np.float64, input_name="y")
        return self._likelihood.encoded(values)

    def _in_units_of_y(self, mean: np.ndarray, variance: np.ndarray) -> Any:
        with np.errstate(over="ignore"):
            mean = mean * self._target_scale + self._target_mean
            variance = variance * self._target_scale**2
        check_finite((mean, variance), self.posterior_.points.dtype)
        return mean, variance

    def _targets_header(self, encode_array) -> dict[str, Any]:
        return {
            "likelihood": encode_likelihood(self._likelihood),
            "mean": self._target_mean,
            "scale": self._target_scale,
        }

    @staticmethod
    def _restored_targets(
        header: dict[str, Any], dtype: np.dtype, known: KnownClasses
    ) -> dict[str, Any]:
        encoded = header["likelihood"]
        mean, scale = (value_of(header, name, float) for name in ("mean", "scale"))
        if encoded == "gaussian":  # in files of format 1
            encoded = {"class": "Gaussian", "fields": {"noise": value_of(header, "noise", float)}}
        elif not isinstance(encoded, dict):
            raise ModelFileError(f"unknown likelihood {quoted(encoded)}.")
        if scale <= 0:
            raise ModelFileError(f"its scale is {scale:g}, not above zero.")
        likelihood = decode_likelihood(encoded, known)
        likelihood = jax.tree.map(lambda value: np.asarray(value, dtype), likelihood)
        return {"likelihood": likelihood, "target_mean": mean, "target_scale": scale}
