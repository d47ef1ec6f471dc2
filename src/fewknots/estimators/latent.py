"""Predictions of the latent function itself: moments, samples, draws of functions."""

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .. import leave_one_out, prediction
from ..data.row_checks import check_finite
from ..data.standardise import Standardiser
from ..data.tables import column_name
from ..fitting.settings import FitSettings, whole_number
from ..inference.sites import Rows
from ..joint import Joint
from ..numerics.precision import on_device
from ..pathwise import FunctionDraws
from ..training.row_sources import RowsInMemory
from . import new_gaps

_FEATURES = 1024  # of each draw


class LatentPredictions:
    """Mixin of both estimators. A regressor converts to the units of y."""

    _target_mean, _target_scale = 0.0, 1.0
    _standardiser: Standardiser
    device: Any
    posterior_: Any
    _predicted: Callable[..., Any]
    _rows: Callable[[Any], Float[np.ndarray, "N D"]]
    _column_names: Any
    _likelihood: Any
    method_: str
    _rows_in_memory: Callable[..., RowsInMemory]
    _settings: Callable[[], FitSettings]
    classes_: np.ndarray

    def predict_latent(self, X: Any, return_cov: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of the latent function f at each row, in the units of y.

        If the likelihood has L > 1 latent functions, there is a column for each; in regression the
        first has the units of y.

        return_cov : bool, default False
            Return the covariance between rows instead of variances: shape (N, N); with L latent
            functions (N, N, L), or (N, N, L, L) if they are correlated in the posterior
            (method="laplace" with three or more classes; predictor "monte_carlo"). O(N²).
        """
        if return_cov:
            mean, spread = self._together(X, prediction.joint)
        else:
            mean, spread = self._predicted(prediction.marginals, new_gaps.mixture_moments, X)
        level, scale = self._units(len(mean))
        with np.errstate(over="ignore"):
            mean = mean * scale[:, None] + level[:, None]
            if spread.ndim == 4:
                spread = spread * np.outer(scale, scale)[..., None, None]
            else:
                spread = (spread.T * np.square(scale)).T
        check_finite((mean, spread), self.posterior_.points.dtype)
        spread = np.moveaxis(spread, (-2, -1), (0, 1)) if return_cov else spread.T
        return (mean[0], spread[..., 0]) if len(mean) == 1 else (mean.T, spread)

    def sample_latent(
        self, X: Any, n_samples: Any = 1, random_state: Any = 0
    ) -> Float[np.ndarray, "N ... n"]:
        """Samples of the latent function at all rows together, in the units of y.

        An array of shape (N, n_samples), with L > 1 latent functions (N, L, n_samples). Exact, by a
        Cholesky factor of the covariance of all rows: O(N³) time and O(N²) memory. To evaluate one
        function again at other rows, use `sample_functions`.
        """
        _, f = self._samples(X, n_samples, random_state)
        level, scale = self._units(f.shape[1])
        f = f * scale[:, None] + level[:, None]
        return f[:, 0].T if f.shape[1] == 1 else f.transpose(2, 1, 0)

    def sample_functions(
        self, n_functions: Any = 1, random_state: Any = None, *, n_features: Any = _FEATURES
    ) -> FunctionDraws:
        """Draws of the latent function as functions, which can be evaluated at any rows.

            draws = model.sample_functions(5, random_state=0)
            draws(X)  # (N, 5); with L > 1 latent functions (N, L, 5)

        The method is described in `fewknots.pathwise`: the part that depends on the data is exact;
        the prior part is, for most kernels, a sum of `n_features` random waves. Mean and
        covariance over draws are exact, and the more waves, the closer a draw is to Gaussian. With
        JAX arrays a draw can be differentiated.
        """
        check_is_fitted(self)
        for name, value in (("n_functions", n_functions), ("n_features", n_features)):
            whole_number(name, value, 1)
        posterior = prediction.joint_posterior(self.posterior_)
        with on_device(self.device):
            paths = posterior.functions(n_functions, n_features, check_random_state(random_state))
        fixed = copy(self)  # later fits of this estimator do not change it
        return FunctionDraws(
            paths,
            self._standardiser,
            fixed._rows_without_gaps,
            *self._units(len(paths)),
        )

    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None) -> Float[np.ndarray, " N"]:
        """Log p(y_n | all other rows) of each row of the fit, without another fit.

        X, y, sample_weight : the same as in `fit`.

        Exact at the learned kernel for Gaussian noise and for method="local". For other likelihoods
        each row's factor of the approximation is removed (`fewknots.leave_one_out`). In the units
        of y.
        """
        check_is_fitted(self)
        known = {"classes": self.classes_} if hasattr(self, "classes_") else {}
        rows = self._rows_in_memory(self._settings(), X, y, sample_weight, **known, reset=False)
        codes = self._likelihood.targets == "classes"
        targets = self._likelihood.encoded(rows.y) if codes else rows.y
        targets = (targets - self._target_mean) / self._target_scale
        standardised = Rows(self._standardiser(rows.X), targets, rows.weights)
        with on_device(self.device):
            found = leave_one_out.log_densities(
                self.method_, self._likelihood, self.posterior_, standardised
            )
        return found - np.log(self._target_scale)

    def _samples(
        self, X: Any, n_samples: Any, random_state: Any
    ) -> tuple[np.random.RandomState, Float[np.ndarray, "n L N"]]:
        """Samples in the fit's units, and the random generator after them."""
        whole_number("n_samples", n_samples, 1)
        random = check_random_state(random_state)

        def sampled(posterior, standardiser, rows) -> np.ndarray:
            together: Joint = prediction.joint_posterior(posterior).joint(standardiser(rows))
            return together.sampled(n_samples, random)

        found = self._together(X, sampled)
        check_finite((found,), self.posterior_.points.dtype)
        return random, found

    def _together(self, X: Any, predict: Any) -> Any:
        """`predict` of posterior, standardiser and rows; refuses new gaps."""
        check_is_fitted(self)
        rows = self._rows_without_gaps(X)
        with on_device(self.device):
            return predict(self.posterior_, self._standardiser, rows)

    def _rows_without_gaps(self, X: Any) -> Float[np.ndarray, "N D"]:
        """New rows, checked. Refuses a gap in a column without gaps at `fit`."""
        rows = self._rows(X)
        if new_gaps.have_gaps(rows):
            row, column = np.argwhere(np.isnan(rows))[0]
            raise ValueError(
                f"row {row} of X has no value in {column_name(int(column), self._column_names)}, "
                "and no row of the fit had a gap there. Covariances, samples and function draws "
                "need a value: fill it in."
            )
        return rows

    def _units(self, n_latent: int) -> tuple[np.ndarray, np.ndarray]:
        """Level and scale of each latent function in the user's units."""
        level, scale = np.zeros(n_latent), np.ones(n_latent)
        level[0], scale[0] = self._target_mean, self._target_scale
        return level, scale
