"""What a fit leaves on an estimator, and what it has to say about it."""

from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..exceptions import InterruptedFitWarning, NumericalWarning, warn
from ..numerics.precision import resolve_jitter
from ..optimize.lbfgsb import Status
from ..training.full_batch import Fitted
from .methods import AnyMethod


def set_attributes(
    estimator: Any, fitted: Fitted, method: AnyMethod, history: dict[str, np.ndarray]
) -> None:
    """The attributes that end in an underscore; what they mean is in the estimators' docstrings."""
    standardiser = estimator._standardiser
    for name in ("contest_", "contest_gain_"):  # of an earlier fit
        estimator.__dict__.pop(name, None)
    estimator.method_ = method.name
    estimator._likelihood = fitted.model.likelihood
    estimator.posterior_ = fitted.posterior
    estimator.stored_rows_ = fitted.stored_rows
    estimator.kernel_ = fitted.model.kernel
    set_points(estimator)
    gradient = fitted.gradient
    if gradient is not None and gradient.inducing_points is not None:
        gradient = gradient._replace(inducing_points=gradient.inducing_points / standardiser.scale)
    estimator.evidence_gradient_ = gradient
    estimator.log_evidence_ = fitted.evidence
    estimator.evidence_is_bound_ = method.is_bound and not fitted.is_estimate
    estimator.n_iter_ = fitted.iterations
    estimator.n_evaluations_ = fitted.evaluations
    estimator.converged_ = fitted.status is Status.CONVERGED
    estimator.history_ = history


def set_points(estimator: Any) -> None:
    """The points that hold the posterior, in the user's units.

    Not for a local one: those are all the training rows, and a copy of them serves nobody.
    """
    estimator.__dict__.pop("inducing_points_", None)
    if not estimator._method.looks_up_neighbours:
        points = estimator._standardiser.undo(estimator.posterior_.points)
        estimator.inducing_points_ = points


def tell_of_trouble(estimator: Any, fitted: Fitted) -> None:
    """Warn of a jitter that had to grow, and of a fit that did not converge."""
    jitter = resolve_jitter(estimator.jitter, fitted.posterior.points.dtype)
    if fitted.jitter > 1.5 * jitter:
        warn(
            f"the inducing points' covariance needed a jitter of {fitted.jitter:.0e} instead "
            f"of {jitter:.0e}: points are nearly equal for this kernel and dtype. The "
            "fit is sound; fewer inducing points or dtype='float64' avoid this.",
            NumericalWarning,
        )
    if fitted.status is Status.MAX_ITER:
        warn(
            f"the fit had not converged after max_iter={fitted.iterations} iterations; the "
            "model is usable, and a larger max_iter or tol ends this warning.",
            ConvergenceWarning,
        )


def tell_of_interruption(estimator: Any) -> None:
    """Warn that Ctrl-C has ended a fit."""
    warn(
        f"interrupted after {estimator.n_iter_} iterations; the model is what had been learned by "
        "then.",
        InterruptedFitWarning,
    )
