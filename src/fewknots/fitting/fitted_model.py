"""What a fit leaves behind, and what goes on beside it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..data.standardise import Standardiser
from ..exceptions import NumericalWarning, warn
from ..kernels import Kernel
from ..likelihoods import Likelihood
from ..numerics.precision import resolve_jitter
from ..optimize.lbfgsb import Status
from ..posterior import Posterior
from ..progress import Progress
from ..stopping import Interruption, TimeLimit
from ..training.full_batch import EvidenceGradient, Fitted


class Encoding(NamedTuple):
    """Targets as the likelihood sees them; numbers are standardised."""

    likelihood: Likelihood
    encode: Callable[[Any], Any]
    mean: float = 0.0
    scale: float = 1.0


@dataclass(frozen=True)
class FittedModel:
    """All that an estimator shows after a fit; its docstring says what each means.

    gradient : in the user's units, as `evidence`.
    target_mean, target_scale : of numbers, which the likelihood sees standardised.
    contest, contest_gain : if methods competed.
    """

    method: str
    kernel: Kernel
    likelihood: Likelihood
    posterior: Posterior
    standardiser: Standardiser
    n_features: int
    feature_names: np.ndarray | None
    classes: np.ndarray | None
    evidence: float
    is_bound: bool
    gradient: EvidenceGradient | None
    iterations: int
    evaluations: int
    converged: bool
    stored_rows: int | None
    history: dict[str, np.ndarray]
    target_mean: float = 0.0
    target_scale: float = 1.0
    contest: dict[str, float] | None = None
    contest_gain: dict[str, Any] | None = None


class FitContext(NamedTuple):
    """What goes on beside a fit: who may end it, and who is told of it.

    task : a second callback, for scikit-learn's own.
    show : what callbacks get as the model of a moment.
    """

    limit: TimeLimit | None
    interruption: Interruption
    task: Callable[[Progress], bool] | None = None
    show: Callable[[FittedModel], Any] = lambda model: model


def warn_of_trouble(fitted: Fitted, jitter: float | None) -> None:
    """Warn of a jitter that had to grow, and of a fit that did not converge."""
    jitter = resolve_jitter(jitter, fitted.posterior.points.dtype)
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
