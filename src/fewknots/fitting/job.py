"""A fit with all choices made (`Job`), its callbacks (`FitContext`) and its result
(`FittedModel`).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..combined import CombinedPosterior
from ..data.standardise import Standardiser, steady
from ..exceptions import NumericalWarning, warn
from ..kernels import Hyperbolic, Kernel, as_kernels
from ..kernels.automatic import automatic_kernel
from ..likelihoods import Likelihood
from ..numerics.precision import resolve_jitter
from ..optimize.lbfgsb import Status
from ..posterior import Posterior
from ..progress import Progress, Reporter
from ..stopping import Interruption, TimeLimit
from ..tables.recipe.input_columns import InputColumns
from ..training.full_batch import EvidenceGradient, Fitted
from ..training.row_sources import RowSource, Table
from .plan import FitPlan
from .settings import FitSettings
from .warps import Shape


@dataclass(frozen=True)
class FittedModel:
    """The result of a fit; the estimators' docstrings explain the attributes.

    gradient : in the user's units, as `evidence` is.
    target_mean, target_scale : for numbers, which are standardised for the likelihood.
    contest, contest_gain : if methods were compared.
    combination : for an average of fits, the weight of each.
    columns : of the user's table, if features were made from them; None: they are the features.
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
    columns: InputColumns | None = None
    combination: dict[str, float] | None = None

    def encoded(self, targets: Any) -> Any:
        """Codes of classes, or numbers in the user's units, encoded for the likelihood."""
        if self.likelihood.targets == "numbers":
            return (targets - self.target_mean) / self.target_scale
        return self.likelihood.encoded(targets)

    def members(self) -> "list[FittedModel]":
        """The fits in a combination, in order; otherwise this fit alone."""
        if not isinstance(self.posterior, CombinedPosterior) or self.combination is None:
            return [self]
        pairs = zip(self.combination, self.posterior.members, strict=True)
        return [
            replace(self, method=name, posterior=part, kernel=part.kernel, combination=None)
            for name, part in pairs
        ]

    def combined(self, members: "list[FittedModel]") -> "FittedModel":
        """The same combination of these fits."""
        assert isinstance(self.posterior, CombinedPosterior)
        parts = tuple(member.posterior for member in members)
        stored = max(member.stored_rows or 0 for member in members)
        return replace(
            members[0],
            method=self.method,
            posterior=replace(self.posterior, members=parts),
            combination=self.combination,
            is_bound=False,
            gradient=None,
            stored_rows=stored,
        )


class FitContext(NamedTuple):
    """The surroundings of a fit: callbacks that are informed and that may end it, and time limits.

    task : a second callback, for scikit-learn's callbacks.
    show : makes the model that callbacks get.
    """

    limit: TimeLimit | None
    interruption: Interruption
    task: Callable[[Progress], bool] | None = None
    show: Callable[[FittedModel], Any] = lambda model: model


class Encoding(NamedTuple):
    """The initial likelihood, and the targets as it encodes them; numbers are standardised."""

    likelihood: Likelihood
    encode: Callable[[Any], Any]
    mean: float = 0.0
    scale: float = 1.0


Trained = tuple[Fitted, Reporter]


@dataclass(frozen=True)
class Job:
    """Everything that a trainer needs.

    source : the rows for training
    warm : an earlier fit to start from
    shape : which inputs are warped
    learned_kernel : the kernel that another method learned from these rows, to start from
    """

    settings: FitSettings
    context: FitContext
    source: RowSource
    fit_plan: FitPlan
    encoding: Encoding
    standardiser: Standardiser
    warm: FittedModel | None
    shape: Shape | None = None
    learned_kernel: Kernel | None = None

    @cached_property
    def table(self) -> Table:
        """The rows in the fit's units."""
        return self.source.table(self.standardiser, self.encoding.encode)

    @cached_property
    def kernel(self) -> Kernel:
        """The user's kernel or the default one, with the warps of its inputs around it."""
        settings, source = self.settings, self.source
        if not settings.chooses_kernel:
            kernel = as_kernels(settings.kernel, source.feature_names)
        else:
            standard = Standardiser.identity(source.n_features)
            inputs = standard if settings.standardize else source.spread()
            spread = inputs.scale if self.shape is None else np.asarray(self.shape.spread)
            kernel = automatic_kernel(spread, settings.ard, self._learns_smoothness)
        return kernel if self.shape is None else self.shape.around(kernel)

    @property
    def _learns_smoothness(self) -> bool:
        """Whether the default kernel learns its smoothness: for neighbours, or if the kernel it
        starts from does.
        """
        known = self.learned_kernel if self.warm is None else self.warm.kernel
        if known is None:
            return self.fit_plan.method.looks_up_neighbours
        return any(isinstance(part, Hyperbolic) for part in known.parts())

    def report(self) -> Reporter:
        """The progress reporter of the training that starts now."""
        limit, interruption, task, _ = self.context
        heard = self.settings.callback, self.settings.verbose, self.fit_plan.iterations
        return Reporter(*heard, limit, interruption, task, self._as_of)

    def _as_of(self, now: Progress, fitted: Fitted) -> Any:
        """The model that callbacks get during training."""
        moment = {"iteration": now.iteration, "seconds": now.seconds, "bound": now.bound}
        history = {name: np.array([value]) for name, value in moment.items()}
        return self.context.show(self._model(fitted._replace(iterations=now.iteration), history))

    def done_by(self, train: Callable[["Job"], Trained]) -> FittedModel:
        """Train, and give warnings about difficulties."""
        fitted, reporter = train(self)
        _warn_of_trouble(fitted, self.settings.jitter)
        return self._model(fitted, reporter.history())

    def _model(self, fitted: Fitted, history: dict[str, np.ndarray]) -> FittedModel:
        source, method, gradient = self.source, self.fit_plan.method, fitted.gradient
        evidence = fitted.evidence
        if self.encoding.scale != 1.0:
            # For each row: density of y = density of standardised y / scale.
            total = source.total_weight
            total = float(steady(total)) if self.fit_plan.in_rounds else total  # as on a cluster
            evidence -= total * float(np.log(self.encoding.scale))
        if gradient is not None and gradient.inducing_points is not None:
            points = gradient.inducing_points / self.standardiser.scale
            gradient = gradient._replace(inducing_points=points)
        return FittedModel(
            method=method.name,
            kernel=fitted.model.kernel,
            likelihood=fitted.model.likelihood,
            posterior=fitted.posterior,
            standardiser=self.standardiser,
            n_features=source.n_features,
            feature_names=source.feature_names,
            classes=source.classes,
            evidence=evidence,
            is_bound=method.is_bound and not fitted.is_estimate,
            gradient=gradient,
            iterations=fitted.iterations,
            evaluations=fitted.evaluations,
            converged=fitted.status is Status.CONVERGED,
            stored_rows=fitted.stored_rows,
            history=history,
            target_mean=self.encoding.mean,
            target_scale=self.encoding.scale,
            columns=source.columns,
        )


def _warn_of_trouble(fitted: Fitted, jitter: float | None) -> None:
    """Warn if the jitter had to be raised, or if the fit did not converge."""
    jitter = resolve_jitter(jitter, fitted.posterior.points.dtype)
    if fitted.jitter > 1.5 * jitter:
        warn(
            f"the inducing points' covariance needed a jitter of {fitted.jitter:.0e} instead "
            f"of {jitter:.0e}: some points are nearly equal for this kernel and dtype. The fit is "
            "valid; fewer inducing points or dtype='float64' avoid this.",
            NumericalWarning,
        )
    if fitted.status is Status.MAX_ITER:
        warn(
            f"the fit had not converged after max_iter={fitted.iterations} iterations; the model "
            "is usable; a larger max_iter or tol avoids this warning.",
            ConvergenceWarning,
        )
