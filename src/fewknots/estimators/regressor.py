"""GPRegressor: the Gaussian limiting cases, and other likelihoods of numbers."""

from functools import partial
from typing import Any

import jax
import numpy as np
from jaxtyping import Float
from sklearn.base import RegressorMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from .. import prediction
from ..data.row_checks import check_finite
from ..data.tables import LARGEST_VALUE
from ..data.targets import check_not_negative, one_column, shown
from ..exceptions import ModelFileError
from ..files.container import shown as quoted
from ..files.header_values import KnownClasses, decode_likelihood, encode_likelihood, value_of
from ..fitting.job import FittedModel
from ..likelihoods import Gaussian
from ..training.row_sources import RowsInMemory
from . import new_gaps
from .base import GPEstimator


class GPRegressor(RegressorMixin, GPEstimator):
    """Gaussian process regression with learned noise, exact or held by inducing points.

    With another likelihood than Gaussian noise, y may be counts or whatever that is about. X may be
    a table, and have gaps, as for `GPClassifier`.

    Parameters
    ----------
    kernel, ard, n_inducing, inducing_points, inducing_init, learn_kernel, learn_inducing,
    store_rows, optimizer, batch_size, max_iter, max_time, tol, validation_fraction, checkpoint,
    resume, warp, jitter, dtype, device, random_state, verbose, callback :
        as in `GPClassifier`, the kernel "auto" too. Minibatches and `fit_stream` are for
        "sparse_kl".
    likelihood : "gaussian" or a `fewknots.likelihoods.Likelihood` of numbers, default "gaussian"
        How y follows from the latent function; docs/extending.md shows how to write one.
    method : {"auto", "exact", "titsias", "svi", "full_kl", "sparse_kl"}, default "auto"
        "exact": the whole Gaussian process, O(N³). "titsias": the variational bound held by
        inducing points, O(NM²) (eq. titsias). "svi": the same bound with q(u) searched for instead
        of solved (eq. svigp). "full_kl", "sparse_kl": as in `GPClassifier`, for any likelihood.
        "auto": exact (or full_kl) up to 1000 rows unless inducing points are asked for or
        store_rows=False, else titsias (or sparse_kl); sparse_kl by minibatches and for streams.
    noise : float or None, default None
        The noise variance to start from, in the units of y²; None: a tenth of the variance of y.
    learn_noise : bool, default True
        Whether the noise variance, or the parameters of another likelihood, move.
    standardize : bool, default True
        Bring every input, and y where its unit is free, to mean 0 and standard deviation 1 first.
        Predictions and `log_evidence_` are in the user's units all the same; `kernel_` is in
        standardised ones.

    Attributes
    ----------
    likelihood_ : the likelihood with its learned parameters, in the units of y
    noise_ : float, the learned noise variance, in the units of y², if the noise is Gaussian
    kernel_, posterior_, log_evidence_, evidence_is_bound_, evidence_gradient_, n_iter_,
    converged_, history_, stored_rows_, n_features_in_, feature_names_in_, recipe_ : as in
        `GPClassifier`.
    inducing_points_ : for "titsias" and "svi"
    method_ : str, what "auto" chose

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
        kernel="auto",
        *,
        ard=True,
        likelihood="gaussian",
        method="auto",
        noise=None,
        learn_noise=True,
        n_inducing="auto",
        inducing_points=None,
        inducing_init="kmeans",
        learn_kernel=True,
        learn_inducing=True,
        store_rows=True,
        optimizer="auto",
        batch_size="auto",
        max_iter=None,
        max_time=None,
        tol=1e-5,
        validation_fraction=None,
        checkpoint=None,
        resume=False,
        standardize=True,
        warp="auto",
        jitter=None,
        dtype=None,
        device="auto",
        random_state=None,
        verbose=0,
        callback=None,
    ):
        self.kernel = kernel
        self.ard = ard
        self.likelihood = likelihood
        self.method = method
        self.noise = noise
        self.learn_noise = learn_noise
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

    _learns = "numbers"

    def _rows_in_memory(self, settings, X, y, sample_weight, classes=None, reset=True):
        X, y, columns = self._checked(X, one_column(y), reset)
        if y.dtype.kind not in "biufO":  # objects have become numbers by now, or an error
            raise ValueError(
                f"y holds {shown(y[0])} in row 0, which is no number. A regressor learns numbers: "
                "turn dates and durations into days or seconds, and use GPClassifier for classes."
            )
        y = y.astype(np.float64)
        if np.max(np.abs(y)) > LARGEST_VALUE:
            raise ValueError(
                f"y holds {y[np.argmax(np.abs(y))]:g}, too large to compute with: the limit is "
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
        self, X: Any, return_std: bool = False
    ) -> Float[np.ndarray, " N"] | tuple[Float[np.ndarray, " N"], Float[np.ndarray, " N"]]:
        """The mean of y at each row, and with `return_std` its standard deviation, noise included.

        `predict_latent` gives mean and variance of the function without the noise.
        """
        check_is_fitted(self)
        of_rows = partial(prediction.moments, self._likelihood)
        mean, variance = self._predicted(of_rows, new_gaps.mixture_moments, X)
        mean, variance = self._in_units_of_y(mean, variance)
        return (mean, np.sqrt(variance)) if return_std else mean

    def predict_quantiles(self, X: Any, levels: Any = (0.025, 0.5, 0.975)) -> Any:
        """The values that y stays below with these probabilities: a column for each level."""
        levels = np.asarray(levels, np.float64)
        if levels.ndim != 1 or not np.all((levels > 0) & (levels < 1)):
            raise ValueError(f"levels must be probabilities between 0 and 1, got {levels}.")
        rows = self._rows(X)
        finer = new_gaps.QUANTILES if new_gaps.have_gaps(rows) else ()
        of_rows = partial(self._quantiles, np.append(levels, finer))
        (found,) = self._predicted(of_rows, new_gaps.mixture_quantiles(levels), X)
        return (found[: len(levels)] * self._target_scale + self._target_mean).T

    def _quantiles(self, levels, posterior, standardiser, rows) -> tuple[np.ndarray]:
        return (prediction.quantiles(levels, self._likelihood, posterior, standardiser, rows),)

    def predict_latent(self, X: Any) -> tuple[Float[np.ndarray, " N"], Float[np.ndarray, " N"]]:
        """Mean and variance of the function without noise at each row, in the units of y."""
        return self._in_units_of_y(*super().predict_latent(X))

    def _in_units_of_y(self, mean: np.ndarray, variance: np.ndarray) -> Any:
        with np.errstate(over="ignore"):
            mean = mean * self._target_scale + self._target_mean
            variance = variance * self._target_scale**2
        check_finite((mean.T, variance.T), self.posterior_.points.dtype)
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
