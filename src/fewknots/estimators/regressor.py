"""GPRegressor: the Gaussian limiting cases, and other likelihoods of numbers."""

from typing import Any

import jax
import numpy as np
from jaxtyping import Float
from sklearn.base import RegressorMixin
from sklearn.utils.validation import _check_sample_weight

from .. import prediction
from ..data.label_values import shown
from ..data.standardise import Standardiser
from ..data.tables import LARGEST_VALUE
from ..exceptions import ModelFileError
from ..files.container import shown as quoted
from ..files.header_values import (
    KnownClasses,
    decode_likelihood,
    encode_likelihood,
    value_of,
)
from ..likelihoods import Gaussian, Likelihood
from ..numerics.precision import on_device
from ..reach import check_finite
from .base import GPEstimator, Targets
from .methods import REGRESSION, FitPlan, check_inducing, plan_to_regress
from .parameters import number, one_of, switch
from .stored_rows import check_stores_none
from .targets import check_not_negative, one_column

_MOST_ROWS_EXACT = 1000


class GPRegressor(RegressorMixin, GPEstimator):
    """Gaussian process regression with learned noise, exact or held by inducing points.

    With another likelihood than Gaussian noise, y may be counts or whatever that is about.

    Parameters
    ----------
    kernel, ard, n_inducing, inducing_points, inducing_init, learn_kernel, learn_inducing,
    store_rows, max_iter, tol, jitter, dtype, device, random_state, verbose, callback :
        as in `GPClassifier`.
    likelihood : "gaussian" or a `fewknots.likelihoods.Likelihood` of numbers, default "gaussian"
        How y follows from the latent function; docs/extending.md shows how to write one.
    method : {"auto", "exact", "titsias", "svi", "full_kl", "sparse_kl"}, default "auto"
        "exact": the whole Gaussian process, O(N³). "titsias": the variational bound held by
        inducing points, O(NM²) (eq. titsias). "svi": the same bound with q(u) searched for instead
        of solved (eq. svigp). "full_kl", "sparse_kl": as in `GPClassifier`, for any likelihood.
        "auto": exact (or full_kl) up to 1000 rows unless inducing points are asked for or
        store_rows=False, else titsias (or sparse_kl).
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
    converged_, history_, stored_rows_, n_features_in_, feature_names_in_ : as in `GPClassifier`.
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
        kernel="rbf",
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
        max_iter=None,
        tol=1e-5,
        standardize=True,
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
        self.max_iter = max_iter
        self.tol = tol
        self.standardize = standardize
        self.jitter = jitter
        self.dtype = dtype
        self.device = device
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    _numeric_targets = True
    _target_column = staticmethod(one_column)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        one_of("method", self.method, ("auto", *REGRESSION))
        switch("learn_noise", self.learn_noise)
        if not isinstance(self.likelihood, Likelihood):
            one_of("likelihood", self.likelihood, ("gaussian",))
        elif self.likelihood.targets != "numbers":
            raise ValueError(
                f"likelihood is a {type(self.likelihood).__name__}, which is about classes. Use "
                "GPClassifier, or a likelihood of numbers."
            )
        if self.noise is not None:
            number("noise", self.noise, positive=True)
            if self.likelihood != "gaussian":
                raise ValueError("noise is for likelihood='gaussian'. Leave it out.")

    def _given_likelihood(self) -> Likelihood:
        return Gaussian(self.noise) if isinstance(self.likelihood, str) else self.likelihood

    def _targets(self, X, y, sample_weight):
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
        return self._given_likelihood().encoded(y), weights

    def _likelihood_of(self, y, weights) -> Targets:
        likelihood, scaling = self._given_likelihood(), Standardiser.identity(1)
        if self.standardize and likelihood.any_scale:
            scaling = Standardiser.fitted(y[:, None], weights)
        self._target_mean, self._target_scale = float(scaling.mean[0]), float(scaling.scale[0])
        # The density of y is that of the standardised y divided by the scale, row by row.
        self._evidence_offset = -float(np.sum(weights)) * np.log(self._target_scale)
        y = scaling(y[:, None])[:, 0]
        return Targets(y, weights, likelihood.rescaled(self._target_scale).prepared(y, weights))

    def _fit_plan(self, n_rows: int) -> FitPlan:
        name, likelihood = self.method, self._given_likelihood()
        if name == "auto":
            wanted = self.n_inducing != "auto" or self.inducing_points is not None
            sparse = wanted or n_rows > _MOST_ROWS_EXACT or not self.store_rows
            gaussian = isinstance(likelihood, Gaussian)
            full, held = ("exact", "titsias") if gaussian else ("full_kl", "sparse_kl")
            name = held if sparse else full
        fit_plan = plan_to_regress(name, likelihood)
        check_stores_none(fit_plan.method, self.store_rows)
        check_inducing(fit_plan.method, self.n_inducing, self.inducing_points)
        return fit_plan

    def _take_in(self, fitted, fit_plan, history) -> None:
        super()._take_in(fitted, fit_plan, history)
        self.log_evidence_ += self._evidence_offset
        self._set_likelihood()

    def _set_likelihood(self) -> None:
        self.likelihood_ = self._likelihood.rescaled(1.0 / self._target_scale)
        if isinstance(self.likelihood_, Gaussian):
            self.noise_ = float(self._likelihood.noise) * self._target_scale**2

    def predict(
        self, X: Any, return_std: bool = False
    ) -> Float[np.ndarray, " N"] | tuple[Float[np.ndarray, " N"], Float[np.ndarray, " N"]]:
        """The mean of y at each row, and with `return_std` its standard deviation, noise included.

        `predict_latent` gives mean and variance of the function without the noise.
        """
        rows = self._rows(X)
        with on_device(self.device):
            mean, variance = prediction.moments(
                self._likelihood, self.posterior_, self._standardiser, rows
            )
        mean, variance = self._in_units_of_y(mean, variance)
        return (mean, np.sqrt(variance)) if return_std else mean

    def predict_quantiles(self, X: Any, levels: Any = (0.025, 0.5, 0.975)) -> Any:
        """The values that y stays below with these probabilities: a column for each level."""
        levels = np.asarray(levels, np.float64)
        if levels.ndim != 1 or not np.all((levels > 0) & (levels < 1)):
            raise ValueError(f"levels must be probabilities between 0 and 1, got {levels}.")
        rows = self._rows(X)
        with on_device(self.device):
            found = prediction.quantiles(
                levels, self._likelihood, self.posterior_, self._standardiser, rows
            )
        return (found * self._target_scale + self._target_mean).T

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

    def _restore_targets(self, header: dict[str, Any], known: KnownClasses) -> None:
        encoded = header["likelihood"]
        mean, scale = (value_of(header, name, float) for name in ("mean", "scale"))
        if encoded == "gaussian":  # in files of format 1
            encoded = {"class": "Gaussian", "fields": {"noise": value_of(header, "noise", float)}}
        elif not isinstance(encoded, dict):
            raise ModelFileError(f"unknown likelihood {quoted(encoded)}.")
        if scale <= 0:
            raise ModelFileError(f"its scale is {scale:g}, not above zero.")
        dtype = self.posterior_.points.dtype
        likelihood = decode_likelihood(encoded, known)
        self._likelihood = jax.tree.map(lambda value: np.asarray(value, dtype), likelihood)
        self._target_mean, self._target_scale = mean, scale
        self._set_likelihood()
