"""From the argument `method` to an inference method and the training that goes with it."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..data.label_values import shown
from ..inference.ep import EP
from ..inference.fitc_ep import FitcEP
from ..inference.full_kl import FullKL
from ..inference.ivm import IVM
from ..inference.laplace import Laplace
from ..inference.mean_field import MeanField
from ..inference.method import Method
from ..inference.regression import SVI, Exact, Titsias
from ..inference.sparse_kl import SparseKL
from ..inference.sparse_mean_field import SparseMeanField
from ..inference.two_stage import TwoStage
from ..likelihoods import Gaussian, Likelihood
from ..local.method import Local
from ..optimize import lbfgsb, scg
from ..progress import Report
from ..training.full_batch import Fitted, Problem, fit_collapsed
from ..training.ivm import ivm_trainer
from ..training.joint import fit_jointly
from ..training.schedule import Plan
from ..training.steps import STOCHASTIC

AnyMethod = Method | Local  # the local one has a training of its own
CLASSIFICATION: dict[str, Callable[..., AnyMethod]] = {
    "sparse_kl": SparseKL,
    "full_kl": FullKL,
    "ep": EP,
    "fitc_ep": FitcEP,
    "mean_field": MeanField,
    "sparse_mean_field": SparseMeanField,
    "two_stage": TwoStage,
    "laplace": Laplace,
    "ivm": IVM,
    "local": Local,
}
REGRESSION: dict[str, Callable[..., Method]] = {
    "exact": Exact,
    "titsias": Titsias,
    "svi": SVI,
    "full_kl": FullKL,
    "sparse_kl": SparseKL,
}
ROUNDS = "rounds"
OPTIMIZERS = ("auto", "collapsed", "lbfgs", "scg", ROUNDS, *STOCHASTIC)
MOST_ROWS_FULL_BATCH = 20_000  # above, minibatches reach the same bound sooner
_MEAN_FIELD = (MeanField, SparseMeanField)  # better by scaled conjugate gradients, section 3.1
_PROBIT_ONLY = (*_MEAN_FIELD, TwoStage)  # a step function seen through Gaussian noise


class FitPlan(NamedTuple):
    """How a fit is done: in full batch by `train`, or by minibatches after `plan`."""

    method: AnyMethod
    train: Callable[[Problem, Report], Fitted] = fit_collapsed
    maximise: lbfgsb.Maximise = lbfgsb.maximise
    iterations: int = 1000  # at most, unless the user says
    plan: Plan | None = None


def plan_to_fit(method: AnyMethod, optimizer: str, n_active: int) -> FitPlan:
    """The full-batch training that `optimizer` means for this method."""
    if optimizer == "lbfgs":
        _check_has_q(method, optimizer)
        return FitPlan(method, fit_jointly)
    by_scg = optimizer == "scg" or (optimizer == "auto" and isinstance(method, _MEAN_FIELD))
    train = ivm_trainer(n_active) if isinstance(method, IVM) else fit_collapsed
    return FitPlan(method, train, scg.maximise if by_scg else lbfgsb.maximise)


def stochastic_optimizer(
    method: AnyMethod, optimizer: str, n_rows: int, streamed: bool
) -> str | None:
    """The optimizer that goes by minibatches; None if the fit is to be in full batch."""
    if optimizer in (ROUNDS, *STOCHASTIC) and not (streamed and optimizer == ROUNDS):
        _check_has_q(method, optimizer)
        return optimizer
    if streamed:
        if not isinstance(method, SparseKL) or optimizer != "auto":
            raise ValueError(
                "rows from a stream are trained on by minibatches, which takes method='sparse_kl' "
                f"and an optimizer out of 'auto', {', '.join(map(repr, STOCHASTIC))}; got "
                f"method={method.name!r}, optimizer={optimizer!r}."
            )
        return "natural_gradient"
    many = optimizer == "auto" and n_rows > MOST_ROWS_FULL_BATCH
    return "natural_gradient" if many and isinstance(method, SparseKL) else None


def rounds_optimizer(method: AnyMethod, optimizer: str) -> str:
    """The optimizer that goes by rounds over rows on a cluster."""
    if not isinstance(method, SparseKL) or optimizer not in ("auto", ROUNDS, *STOCHASTIC):
        raise ValueError(
            "rows in a Dask collection are trained on in rounds, which takes method='sparse_kl' "
            f"and an optimizer out of 'auto', 'rounds', {', '.join(map(repr, STOCHASTIC))}; got "
            f"method={method.name!r}, optimizer={optimizer!r}."
        )
    return ROUNDS if optimizer == "auto" else optimizer


def _check_has_q(method: AnyMethod, optimizer: str) -> None:
    if not isinstance(method, SparseKL):
        raise ValueError(
            f"optimizer={optimizer!r} moves q(u) together with the kernel, which "
            f"method={method.name!r} does not have; use optimizer='auto'."
        )


def plan_to_regress(name: str, likelihood: Likelihood) -> FitPlan:
    """The Gaussian limiting cases, and the bounds for any likelihood; "svi" searches for q(u)."""
    if name in ("exact", "titsias") and not isinstance(likelihood, Gaussian):
        raise ValueError(
            f"method={name!r} is for Gaussian noise, and the likelihood is "
            f"{type(likelihood).__name__}. Use method='sparse_kl' or 'full_kl'."
        )
    train = fit_jointly if name == "svi" else fit_collapsed
    return FitPlan(REGRESSION[name](), train)


def check_link(method: AnyMethod, link: str) -> None:
    """Some methods are derived for the probit."""
    if isinstance(method, _PROBIT_ONLY) and link != "probit":
        raise ValueError(
            f"method={method.name!r} is derived for likelihood='probit', got {link!r}. Use that, "
            "or another method."
        )


def check_inducing(method: AnyMethod, n_inducing: Any, inducing_points: Any) -> None:
    """A method must not be given inducing points that it would not use."""
    if isinstance(method, IVM) and inducing_points is not None:
        raise ValueError(
            "method='ivm' chooses its points from the rows of X, but inducing_points was given. "
            "Say how many with n_inducing, or use method='sparse_kl'."
        )
    if method.sparse or isinstance(method, IVM):
        return
    given = "inducing_points" if inducing_points is not None else "n_inducing"
    if inducing_points is not None or n_inducing != "auto":
        raise ValueError(
            f"method={method.name!r} has no inducing points, but {given} was given. Leave it out, "
            "or use a sparse method."
        )


def check_not_local(method: AnyMethod, n_neighbors: Any) -> None:
    """A number of neighbours must not be given to a method that would not use it."""
    if n_neighbors != "auto":
        raise ValueError(
            f"n_neighbors is for method='local', but the method is {method.name!r}. Leave it out."
        )


def with_options(cls: Callable[..., AnyMethod], name: str, options: Any) -> AnyMethod:
    """The method with its options, or an error that lists what it has."""
    if options is None:
        return cls()
    allowed = getattr(cls, "OPTIONS", {})
    if not isinstance(options, Mapping):
        raise ValueError(f"method_options must be a dict or None, got {options!r}.")
    for option, value in options.items():
        if option not in allowed:
            listed = ", ".join(map(repr, allowed)) or "none"
            raise ValueError(f"method={name!r} has no option {option!r}; it has {listed}.")
        choices = allowed[option]
        fits = value in choices if isinstance(choices, tuple) else isinstance(value, choices)
        if not fits:
            wanted = choices if isinstance(choices, tuple) else choices.__name__
            raise ValueError(
                f"option {option!r} of method={name!r} must be {wanted}, got {shown(value)}."
            )
    return cls(**options)


def check_weights(method: AnyMethod, weights: np.ndarray) -> None:
    """Refuse weights that the method's mathematics does not allow."""
    others = "method='full_kl' or 'sparse_kl', which take any weights"
    if method.weights == "whole" and np.any(weights != np.round(weights)):
        odd = weights[weights != np.round(weights)][0]
        raise ValueError(
            f"method={method.name!r} repeats a row as often as its weight says, so weights must be "
            f"whole numbers, but one is {odd:g}. Scale them, or use {others}."
        )
    used = weights[weights > 0]
    if method.weights == "copies" and np.any(used < 1.0):
        raise ValueError(
            f"method={method.name!r} takes a weight as a number of copies of the row, so weights "
            f"must be 0 or at least 1, but one is {used.min():g}. Scale them up, or use {others}."
        )
