"""GPRegressor: the Gaussian limiting cases with scikit-learn's face."""

from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.base import RegressorMixin
from sklearn.utils.validation import _check_sample_weight

from ..data.tables import LARGEST_VALUE
from ..data.targets import check_not_negative, one_column, shown
from ..exceptions import ModelFileError
from ..files.container import shown as quoted
from ..files.header_values import value_of
from ..fitting.job import FittedModel
from ..likelihoods import Gaussian
from ..reach import check_finite
from ..training.row_sources import RowsInMemory
from .base import GPEstimator


class GPRegressor(RegressorMixin, GPEstimator):
    """Gaussian process regression with learned noise, exact or held by inducing points.

    Parameters
    ----------
    kernel, ard, n_inducing, inducing_points, inducing_init, learn_kernel, learn_inducing,
    store_rows, max_iter, tol, jitter, dtype, device, random_state, verbose, callback :
        as in `GPClassifier`.
    method : {"auto", "exact", "titsias", "svi"}, default "auto"
        "exact": the whole Gaussian process, O(N³). "titsias": the variational bound held by
        inducing points, O(NM²) (eq. titsias). "svi": the same bound with q(u) searched for instead
        of solved (eq. svigp). "auto": exact up to 1000 rows unless inducing points are asked for
        or store_rows=False.
    noise : float or None, default None
        The noise variance to start from, in the units of y²; None: a tenth of the variance of y.
    learn_noise : bool, default True
        Whether the noise variance moves.
    standardize : bool, default True
        Bring every input, and y, to mean 0 and standard deviation 1 first. Predictions and
        `log_evidence_` are in the user's units all the same; `kernel_` is in standardised ones.

    Attributes
    ----------
    noise_ : float, the learned noise variance, in the units of y²
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

    _learns = "numbers"

    def _rows_in_memory(self, settings, X, y, sample_weight, classes=None, reset=True):
        X, y = self._checked(X, one_column(y), reset)
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
        return RowsInMemory(X, y, weights, self._names)

    def _take_in(self, model: FittedModel) -> None:
        super()._take_in(model)
        self._target_mean, self._target_scale = model.target_mean, model.target_scale
        self.noise_ = float(self._likelihood.noise) * self._target_scale**2

    def predict(
        self, X: Any, return_std: bool = False
    ) -> Float[np.ndarray, " N"] | tuple[Float[np.ndarray, " N"], Float[np.ndarray, " N"]]:
        """The mean of y at each row, and with `return_std` its standard deviation, noise included.

        `predict_latent` gives mean and variance of the function without the noise.
        """
        mean, variance = self.predict_latent(X)
        if not return_std:
            return mean
        return mean, np.sqrt(variance + self.noise_)

    def predict_latent(self, X: Any) -> tuple[Float[np.ndarray, " N"], Float[np.ndarray, " N"]]:
        """Mean and variance of the function without noise at each row, in the units of y."""
        mean, variance = super().predict_latent(X)
        with np.errstate(over="ignore"):
            mean = mean * self._target_scale + self._target_mean
            variance = variance * self._target_scale**2
        check_finite((mean, variance), self.posterior_.points.dtype)
        return mean, variance

    def _targets_header(self, encode_array) -> dict[str, Any]:
        return {
            "likelihood": "gaussian",
            "noise": float(self._likelihood.noise),
            "mean": self._target_mean,
            "scale": self._target_scale,
        }

    @staticmethod
    def _restored_targets(header: dict[str, Any], dtype: np.dtype, decode_array) -> dict[str, Any]:
        if header["likelihood"] != "gaussian":
            raise ModelFileError(f"unknown likelihood {quoted(header['likelihood'])}.")
        noise, mean, scale = (value_of(header, name, float) for name in ("noise", "mean", "scale"))
        if noise <= 0 or scale <= 0:
            raise ModelFileError(f"its noise is {noise:g} and its scale {scale:g}, not above zero.")
        likelihood = Gaussian(np.asarray(noise, dtype))
        return {"likelihood": likelihood, "target_mean": mean, "target_scale": scale}
