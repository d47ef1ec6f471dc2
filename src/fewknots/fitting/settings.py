"""The settings of a fit: an estimator's arguments, read once and checked.

As scikit-learn asks, arguments are checked here and not in the constructor. Messages say what to
pass instead.

The tables of all methods and optimizers by name are here, too: a new one is one line.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from numbers import Integral, Real
from types import SimpleNamespace
from typing import Any

import numpy as np

from .. import inducing
from ..data.targets import shown
from ..inference.ep import EP
from ..inference.fitc_ep import FitcEP
from ..inference.full_kl import FullKL
from ..inference.ivm import IVM
from ..inference.laplace import Laplace
from ..inference.mean_field import MeanField
from ..inference.method import Capabilities, Method
from ..inference.regression import SVI, Exact, Titsias
from ..inference.sparse_kl import SparseKL
from ..inference.sparse_mean_field import SparseMeanField
from ..inference.two_stage import TwoStage
from ..kernels import as_kernels, count_kernels
from ..likelihoods import (
    LIKELIHOODS,
    LINKS,
    Bernoulli,
    Gaussian,
    Likelihood,
    MultinomialProbit,
    Ordinal,
    Softmax,
)
from ..local.method import Local
from ..optimize import lbfgsb, scg
from ..training.steps import STOCHASTIC
from .combination import Combined

AnyMethod = Method | Local  # the local method has its own training
CLASSIFICATION: dict[str, type[AnyMethod]] = {
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
REGRESSION: dict[str, type[AnyMethod]] = {
    "exact": Exact,
    "titsias": Titsias,
    "svi": SVI,
    "full_kl": FullKL,
    "sparse_kl": SparseKL,
    "local": Local,
}
METHODS = {"classes": CLASSIFICATION, "numbers": REGRESSION}  # by what is learned
ROUNDS = "rounds"
# Outer optimizers of full-batch training, for kernel and inducing points.
FULL_BATCH: dict[str, lbfgsb.Maximise] = {"collapsed": lbfgsb.maximise, "scg": scg.maximise}
CLASS_LIKELIHOODS = ("auto", *LINKS, "softmax", "ordinal")
NUMBER_LIKELIHOODS = {n: cls for n, cls in LIKELIHOODS.items() if cls.targets == "numbers"}
_SWITCHES = (
    *("ard", "learn_kernel", "learn_inducing", "store_rows", "standardize"),
    *("resume", "warm_start", "learn_noise"),
)


def fitted_methods(targets: str) -> dict[str, type[Capabilities]]:
    """The possible values of `method_`: a comparison may end in a combination."""
    return {**METHODS[targets], Combined.name: Combined}


def optimizers() -> tuple[str, ...]:
    """Every value that the argument `optimizer` may have."""
    return ("auto", *FULL_BATCH, "lbfgs", ROUNDS, *STOCHASTIC)


@dataclass(frozen=True)
class FitSettings:
    """All arguments that a fit depends on, with the user's names and values.

    Arguments that an estimator does not have are at their defaults. The docstrings of GPClassifier
    and GPRegressor explain each.

    targets : what is learned, "classes" or "numbers".
    names : the arguments that the estimator has; checkpoints are compared by them.
    """

    targets: str
    names: tuple[str, ...]
    kernel: Any
    ard: bool
    likelihood: Any
    method: str
    n_inducing: Any
    inducing_points: Any
    inducing_init: str
    learn_kernel: bool
    learn_inducing: bool
    store_rows: bool
    max_iter: Any
    tol: float
    standardize: bool
    jitter: Any
    dtype: Any
    device: str
    random_state: Any
    verbose: int
    callback: Any
    method_options: Any = None
    n_neighbors: Any = "auto"
    optimizer: str = "auto"
    batch_size: Any = "auto"
    max_time: Any = None
    validation_fraction: Any = None
    checkpoint: Any = None
    resume: bool = False
    warm_start: bool = False
    class_weight: Any = None
    noise: Any = None
    learn_noise: bool = True
    warp: Any = None

    @classmethod
    def of(cls, targets: str, arguments: Mapping[str, Any]) -> "FitSettings":
        """Read and check an estimator's arguments."""
        known = {field.name: field.default for field in fields(cls)}
        mine = {name: value for name, value in arguments.items() if name in known}
        _check(targets, SimpleNamespace(**known | mine))
        mine |= {name: bool(mine[name]) for name in _SWITCHES if name in mine}
        return cls(targets, tuple(mine), **mine | {"tol": float(mine["tol"])})

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments, to make such an estimator."""
        return {name: getattr(self, name) for name in self.names}

    def for_classes(self, classes: np.ndarray | None) -> "FitSettings":
        """The settings for these classes: "auto" becomes probit for two classes, else softmax.

        Methods for the multinomial probit (the largest of noisy functions) have probit for any
        number.
        """
        if classes is None:
            return self
        several = len(classes) > 2
        by_probit = [n for n, m in CLASSIFICATION.items() if m.several_latent == "largest_leads"]
        if self.likelihood == "auto":
            softmax = several and self.method not in by_probit
            return replace(self, likelihood="softmax" if softmax else "probit")
        if several and self.likelihood == "probit" and self.method not in by_probit:
            raise ValueError(
                f"y holds {len(classes)} classes, and only "
                f"method={' or '.join(map(repr, by_probit))} has likelihood='probit' for more than "
                "two. Use likelihood='softmax', or 'auto'."
            )
        if several and self.likelihood == "logit":
            raise ValueError(
                f"likelihood='logit' is for two classes, and y holds {len(classes)}. Use "
                "likelihood='softmax', or 'auto'."
            )
        return self

    def starting_likelihood(self, classes: np.ndarray | None) -> Likelihood:
        """The initial likelihood, for these classes or for numbers."""
        if not isinstance(self.likelihood, str):
            return self.likelihood
        if self.likelihood == "probit" and classes is not None and len(classes) > 2:
            return MultinomialProbit(len(classes))
        if self.likelihood in LINKS:
            return Bernoulli(self.likelihood)
        if classes is not None:
            ordered = self.likelihood == "ordinal"
            return (Ordinal.starting if ordered else Softmax)(len(classes))
        cls = NUMBER_LIKELIHOODS[self.likelihood]
        return Gaussian(self.noise) if cls is Gaussian else cls()

    @property
    def likelihood_name(self) -> str:
        """The likelihood's name for methods that are derived for one; two classes are assumed if
        unknown.
        """
        given = "probit" if self.likelihood == "auto" else self.likelihood
        return given if isinstance(given, str) else type(given).__name__.lower()

    @property
    def n_kernels(self) -> int:
        """The number of kernels: one for each class, or 1 for all classes."""
        return 1 if self.chooses_kernel else count_kernels(as_kernels(self.kernel))

    @property
    def chooses_inducing(self) -> bool:
        """Whether the fit chooses the inducing points: neither their number nor their places are
        given.
        """
        return _is_auto(self.n_inducing) and self.inducing_points is None

    @property
    def chooses_kernel(self) -> bool:
        """Whether the kernel is the default one."""
        return _is_auto(self.kernel)


def _check(targets: str, given: Any) -> None:
    one_of("inducing_init", given.inducing_init, inducing.METHODS)
    if not _is_auto(given.n_inducing):
        whole_number("n_inducing", given.n_inducing, 1)
    if given.max_iter is not None:
        whole_number("max_iter", given.max_iter, 1)
    number("tol", given.tol, positive=False)
    for name in ("jitter", "max_time", "validation_fraction", "noise"):
        if getattr(given, name) is not None:
            number(name, getattr(given, name), positive=True)
    for name in _SWITCHES:
        switch(name, getattr(given, name))
    if given.callback is not None and not callable(given.callback):
        raise ValueError(f"callback must be callable or None, got {given.callback!r}.")
    _check_likelihood(targets, given.likelihood)
    if given.noise is not None and given.likelihood != "gaussian":
        raise ValueError("noise is for likelihood='gaussian'. Leave it out.")
    one_of("method", given.method, ("auto", *METHODS[targets]))
    one_of("optimizer", given.optimizer, optimizers())
    if given.warp is not None and not _is_auto(given.warp):
        raise ValueError(f"warp must be 'auto' or None, got {shown(given.warp)}.")
    for name in ("batch_size", "n_neighbors"):
        if not _is_auto(getattr(given, name)):
            whole_number(name, getattr(given, name), 1)
    if given.validation_fraction is not None and given.validation_fraction >= 1.0:
        raise ValueError(
            f"validation_fraction must be below 1, got {shown(given.validation_fraction)}."
        )
    if given.resume and given.checkpoint is None:
        raise ValueError("resume=True needs the folder of the run to resume: checkpoint='...'.")


def _check_likelihood(targets: str, likelihood: Any) -> None:
    if targets == "classes" and isinstance(likelihood, Likelihood):
        listed = ", ".join(map(repr, CLASS_LIKELIHOODS))
        raise ValueError(
            f"likelihood of a GPClassifier must be a name, one of {listed}, got "
            f"{shown(likelihood)}. A likelihood of your own is for GPRegressor, which takes two "
            "classes as the numbers 0 and 1 (docs/extending.md)."
        )
    if targets == "classes":
        one_of("likelihood", likelihood, CLASS_LIKELIHOODS)
    elif not isinstance(likelihood, Likelihood):
        one_of("likelihood", likelihood, tuple(NUMBER_LIKELIHOODS))
    elif likelihood.targets != targets:
        raise ValueError(
            f"likelihood is a {type(likelihood).__name__}, which is for classes. Use GPClassifier, "
            "or a likelihood of numbers."
        )


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def one_of(name: str, value: Any, allowed: Collection[str]) -> None:
    """Check a text that must be one of a few."""
    if not isinstance(value, str) or value not in allowed:
        listed = ", ".join(repr(option) for option in allowed)
        raise ValueError(f"{name} must be one of {listed}, got {shown(value)}.")


def whole_number(name: str, value: Any, least: int) -> None:
    """Check an int (not a bool) of at least `least`."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {shown(value)}.")


def number(name: str, value: Any, *, positive: bool) -> None:
    """Check a finite real number, positive or at least zero."""
    fits = (
        isinstance(value, Real)
        and not isinstance(value, bool | np.bool_)
        and np.isfinite(float(value))
        and (float(value) > 0 if positive else float(value) >= 0)
    )
    if not fits:
        wanted = "a positive number" if positive else "a number of at least 0"
        raise ValueError(f"{name} must be {wanted}, got {shown(value)}.")


def switch(name: str, value: Any) -> None:
    """Check True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {shown(value)}.")
