"""The choice of method and training, from the settings and the number of rows."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..data.targets import shown
from ..inducing import automatic_count, count_for_minibatches
from ..likelihoods import Likelihood
from ..numerics.precision import for_platform
from ..optimize import lbfgsb
from ..progress import Report
from ..training.full_batch import Fitted, Problem, fit_collapsed
from ..training.ivm import ivm_trainer
from ..training.joint import fit_jointly
from ..training.schedule import Plan, automatic_plan
from ..training.steps import STOCHASTIC
from .settings import FULL_BATCH, METHODS, ROUNDS, AnyMethod, FitSettings

MOST_ROWS_FULL_BATCH = 2000  # above, minibatches predict as well in much less time
FEWEST_ROWS_TO_COMPETE = 2000  # above, inducing points are faster and, except on ringnorm, better
_MOST_ROWS_FULL = 300  # most rows for which "auto" chooses a method with all rows
_MOST_ITERATIONS = 1000  # in full batch
_MOST_ROWS_EXACT = 1000  # and in regression
_MOST_ROWS_TITSIAS = 10_000  # above, minibatches, if methods are not compared
_ORDINAL = ("full_kl", "sparse_kl")  # methods with this optimizer
_LOCAL_BATCH, _LOCAL_STEPS = 256, 150
# twice as many are slightly better and take twice the time
_NEIGHBORS = {"cpu": 48, "gpu": 96}
# while learning the kernel, which hardly depends on them; a step costs their square
_NEIGHBORS_TO_LEARN = {"cpu": 32, "gpu": 96}


class FitPlan(NamedTuple):
    """How to fit: in full batch by `train`, or in steps or rounds by `plan`."""

    method: AnyMethod
    train: Callable[[Problem, Report], Fitted] = fit_collapsed
    maximise: lbfgsb.Maximise = lbfgsb.maximise
    iterations: int = _MOST_ITERATIONS  # most iterations, steps or rounds
    plan: Plan | None = None

    @property
    def by_minibatches(self) -> bool:
        """Whether a step uses some of the rows only."""
        return self.plan is not None and self.plan.optimizer != ROUNDS

    @property
    def in_rounds(self) -> bool:
        """Whether each step sees all rows, wherever they are."""
        return self.plan is not None and self.plan.optimizer == ROUNDS

    @classmethod
    def after(cls, method: AnyMethod, plan: Plan) -> "FitPlan":
        """The plan of training in steps or rounds."""
        return cls(method, iterations=plan.steps, plan=plan)


def choose_plan(
    settings: FitSettings, n_rows: int, where: str = "memory", n_latent: int = 1
) -> FitPlan:
    """The plan that the settings ask for, or the best one for this number of rows and their
    place.
    """
    name = settings.method
    if name == "auto":
        name = _automatic_method(settings, n_rows, where)
    method = _with_options(METHODS[settings.targets][name], settings.method_options)
    _check_method(method, settings)
    _check_kernels(method, settings, where, n_latent)
    if method.looks_up_neighbours:
        return FitPlan.after(method, _local_plan(settings, n_rows, where))
    counted = n_rows * n_latent**0.5
    optimizer = _optimizer_in_steps(method, settings.optimizer, counted, where)
    _check_bound(method, settings, optimizer or settings.optimizer, where)
    if optimizer is not None:
        n_points = count_points(settings, n_rows, n_latent, optimizer != ROUNDS)
        asked = settings.batch_size, settings.max_iter, settings.max_time
        return FitPlan.after(method, automatic_plan(optimizer, n_rows, n_points, *asked))
    return _full_batch_plan(method, settings, n_rows)


def _automatic_method(settings: FitSettings, n_rows: int, where: str) -> str:
    if settings.targets == "numbers":
        whole = settings.chooses_inducing and n_rows <= _MOST_ROWS_EXACT and settings.store_rows
        if settings.optimizer in (ROUNDS, *STOCHASTIC) or where != "memory":
            return "sparse_kl"
        if settings.n_neighbors != "auto":
            return "local"
        if settings.likelihood_name == "gaussian" and n_rows <= _MOST_ROWS_TITSIAS:
            return "exact" if whole else "titsias"
        likelihood = settings.starting_likelihood(None)
        quick = likelihood.log_concave and likelihood.curved  # else a pass costs three times
        return "full_kl" if whole and quick else "sparse_kl"
    if settings.n_neighbors != "auto":
        return "local"
    free_choice = (
        settings.chooses_inducing
        and settings.optimizer not in ("lbfgs", ROUNDS, *STOCHASTIC)
        and settings.store_rows
        and where == "memory"
        and not settings.warm_start
    )
    return "full_kl" if free_choice and n_rows <= _MOST_ROWS_FULL else "sparse_kl"


def _full_batch_plan(method: AnyMethod, settings: FitSettings, n_rows: int) -> FitPlan:
    iterations = _MOST_ITERATIONS if settings.max_iter is None else int(settings.max_iter)
    optimizer = method.optimizer if settings.optimizer == "auto" else settings.optimizer
    if optimizer == "lbfgs":
        _check_has_q(method, optimizer)
        return FitPlan(method, fit_jointly, iterations=iterations)
    train: Callable[[Problem, Report], Fitted] = fit_collapsed
    if method.chooses_rows:
        automatic = settings.n_inducing == "auto"
        train = ivm_trainer(2 * automatic_count(n_rows) if automatic else settings.n_inducing)
    return FitPlan(method, train, FULL_BATCH[optimizer], iterations)


def _optimizer_in_steps(method: AnyMethod, optimizer: str, n_rows: float, where: str) -> str | None:
    """The optimizer for minibatches or rounds; None for full batch.

    n_rows : each row counts √L times, with L latent functions.
    """
    listed = ", ".join(map(repr, STOCHASTIC))
    if where == "cluster":
        if not method.sums_rows or optimizer not in ("auto", ROUNDS, *STOCHASTIC):
            raise ValueError(
                "Dask collections are trained in rounds, which needs method='sparse_kl' and one of "
                f"the optimizers 'auto', 'rounds', {listed}; got "
                f"method={method.name!r}, optimizer={optimizer!r}."
            )
        return ROUNDS if optimizer == "auto" else optimizer
    if optimizer in (ROUNDS, *STOCHASTIC) and not (where == "stream" and optimizer == ROUNDS):
        _check_has_q(method, optimizer)
        return optimizer
    if where == "stream":
        if not method.streams or optimizer != "auto":
            raise ValueError(
                "streams are trained with minibatches, which needs method='sparse_kl' and one of "
                f"the optimizers 'auto', {listed}; got method={method.name!r}, "
                f"optimizer={optimizer!r}."
            )
        return "natural_gradient"
    free_choice = optimizer == "auto" and method.optimizer == "collapsed" and method.has_q
    return "natural_gradient" if free_choice and n_rows > MOST_ROWS_FULL_BATCH else None


def _local_plan(settings: FitSettings, n_rows: int, where: str) -> Plan:
    """By default 150 batches of 256 rows; fewer if nothing more is gained."""
    if where == "cluster":
        raise ValueError(
            "method='local' keeps all rows of its fit in one place, so it does not fit to "
            "Dask collections. Fit it in memory to a sample of the rows, for instance "
            "X.sample(frac=0.01).compute() of a dataframe; the fitted model can predict for Dask "
            "collections. Or use method='sparse_kl', which fits to them."
        )
    if settings.optimizer not in ("auto", "adam"):
        raise ValueError(
            f"method='local' is trained by optimizer='adam', got {settings.optimizer!r}. Leave "
            "it at 'auto'."
        )
    size = _LOCAL_BATCH if settings.batch_size == "auto" else int(settings.batch_size)
    steps = _LOCAL_STEPS if settings.max_time is None else 10**9
    most = steps if settings.max_iter is None else int(settings.max_iter)
    return Plan("adam", min(size, n_rows), most)


def count_points(settings: FitSettings, n_rows: int, n_latent: int, by_minibatches: bool) -> int:
    """An upper bound of the number of inducing points."""
    if settings.inducing_points is not None:
        return len(settings.inducing_points)
    if settings.n_inducing != "auto":
        return int(settings.n_inducing)
    return count_for_minibatches(n_rows, n_latent) if by_minibatches else automatic_count(n_rows)


def count_neighbors(settings: FitSettings, to_learn: bool = False) -> int:
    """Number of rows in a neighbourhood, for prediction or while the kernel is learned."""
    auto = settings.n_neighbors == "auto"
    automatic = _NEIGHBORS_TO_LEARN if to_learn else _NEIGHBORS
    return for_platform(automatic) if auto else int(settings.n_neighbors)


def competes(settings: FitSettings, n_rows: int, where: str = "memory") -> bool:
    """Whether two methods are compared: no given argument belongs to only one of them."""
    by_minibatches = n_rows > MOST_ROWS_FULL_BATCH
    repeatable = isinstance(settings.random_state, int | np.integer)
    return (
        where == "memory"
        and settings.method == "auto"
        and n_rows > FEWEST_ROWS_TO_COMPETE
        and settings.store_rows
        and settings.chooses_inducing
        and settings.n_neighbors == "auto"
        and settings.method_options is None
        and settings.optimizer == "auto"
        and settings.batch_size == "auto"
        and settings.max_iter is None
        and settings.learn_kernel
        and _is_for_neighbours(settings)
        and settings.n_kernels == 1
        and not settings.warm_start
        and (by_minibatches or settings.validation_fraction is None)
        # a resumed run must hold out the same rows
        and (settings.checkpoint is None or (by_minibatches and repeatable))
    )


def _is_for_neighbours(settings: FitSettings) -> bool:
    """Whether the local method can use this likelihood; for numbers it needs a mode."""
    if settings.targets == "classes":
        return settings.likelihood != "ordinal"
    likelihood = settings.starting_likelihood(None)
    knows_modes = type(likelihood).at is not Likelihood.at and likelihood.curved
    return likelihood.log_concave and knows_modes and likelihood.n_latent == 1


def may_be_gathered(settings: FitSettings) -> bool:
    """Whether one process may fit a cluster's small table: no argument asks for rounds.

    Arguments that a cluster refuses are refused for any size; `max_iter` counts rounds there.
    """
    return (
        settings.optimizer == "auto"
        and settings.method in ("auto", "sparse_kl")
        and settings.n_neighbors == "auto"
        and settings.n_kernels == 1
        and settings.batch_size == "auto"
        and settings.max_iter is None
        and settings.checkpoint is None
        and settings.validation_fraction is None
    )


# --- what a method cannot do --------------------------------------------------------------------


def _with_options(cls: type[AnyMethod], options: Any) -> AnyMethod:
    """The method with its options, or an error that lists what it has."""
    if options is None:
        return cls()
    if not isinstance(options, Mapping):
        raise ValueError(f"method_options must be a dict or None, got {options!r}.")
    for option, value in options.items():
        if option not in cls.OPTIONS:
            listed = ", ".join(map(repr, cls.OPTIONS)) or "none"
            raise ValueError(f"method={cls.name!r} has no option {option!r}; it has {listed}.")
        choices = cls.OPTIONS[option]
        fits = value in choices if isinstance(choices, tuple) else isinstance(value, choices)
        if not fits:
            wanted = choices if isinstance(choices, tuple) else choices.__name__
            raise ValueError(
                f"option {option!r} of method={cls.name!r} must be {wanted}, got {shown(value)}."
            )
    return cls(**options)


def _check_method(method: AnyMethod, settings: FitSettings) -> None:
    """Refuse arguments that the method would ignore, and tasks that it cannot do."""
    name = f"method={method.name!r}"
    if method.stores_rows and not settings.store_rows:
        raise ValueError(
            f"{name} keeps rows of X in the fitted model, which store_rows=False forbids. Use "
            "method='auto' or 'sparse_kl', or store_rows=True."
        )
    if settings.likelihood == "softmax" and not method.several_latent:
        raise ValueError(
            f"{name} is for two classes and likelihood='probit' or 'logit'; for the softmax of "
            "any number of classes use method='auto', 'sparse_kl', 'full_kl', 'laplace' or 'local'."
        )
    if settings.likelihood == "ordinal" and method.name not in _ORDINAL:
        listed = " or ".join(map(repr, _ORDINAL))
        raise ValueError(f"{name} has no likelihood='ordinal'. Use method='auto', {listed}.")
    if method.likelihoods is not None and settings.likelihood_name not in method.likelihoods:
        if settings.targets == "numbers":
            raise ValueError(
                f"{name} is for Gaussian noise, and the likelihood is "
                f"{type(settings.starting_likelihood(None)).__name__}. Use method='sparse_kl' or "
                "'full_kl'."
            )
        raise ValueError(
            f"{name} is derived for likelihood={method.likelihoods[0]!r}, got "
            f"{settings.likelihood!r}. Use that, or another method."
        )
    if settings.targets == "numbers" and not method.any_curvature:
        likelihood = settings.starting_likelihood(None)
        if not likelihood.log_concave:
            raise ValueError(
                f"{name} is for likelihoods whose logarithm is concave, and that of "
                f"{type(likelihood).__name__} is not. Use method='sparse_kl' or 'full_kl'."
            )
        if method.looks_up_neighbours and not _is_for_neighbours(settings):
            raise ValueError(
                f"{name} needs a smooth likelihood with one latent function, which "
                f"{type(likelihood).__name__} is not. Use method='sparse_kl' or 'full_kl'."
            )
    if method.chooses_rows and settings.inducing_points is not None:
        raise ValueError(
            f"{name} chooses its points from the rows of X, but inducing_points was given. "
            "Give their number with n_inducing, or use method='sparse_kl'."
        )
    if not (method.sparse or method.chooses_rows or settings.chooses_inducing):
        given = "inducing_points" if settings.inducing_points is not None else "n_inducing"
        raise ValueError(
            f"{name} has no inducing points, but {given} was given. Leave it out, "
            "or use a sparse method."
        )
    if not method.looks_up_neighbours and settings.n_neighbors != "auto":
        raise ValueError(
            f"n_neighbors is for method='local', but the method is {method.name!r}. Leave it out."
        )


def _check_kernels(method: AnyMethod, settings: FitSettings, where: str, n_latent: int) -> None:
    """A kernel for each class needs as many classes, and a method that supports it."""
    count = settings.n_kernels
    if count == 1:
        return
    if not method.own_kernels:
        raise ValueError(
            f"method={method.name!r} has one kernel for all latent functions, and a kernel for "
            "each class was given. Use method='sparse_kl' or 'full_kl', or one kernel."
        )
    if where == "cluster" or settings.optimizer == ROUNDS:
        raise ValueError(
            "training in rounds, as on a Dask cluster, has one kernel for all classes, and a "
            "kernel for each was given. Use one kernel, or rows in memory or in a stream."
        )
    if count != n_latent:
        raise ValueError(
            f"{count} kernels were given, one for each class, and there "
            f"{'is 1 latent function' if n_latent == 1 else f'are {n_latent} classes'}. Give one "
            "kernel for all, or as many as there are classes; two classes have one latent "
            "function, unless likelihood='softmax'."
        )


def _check_bound(method: AnyMethod, settings: FitSettings, optimizer: str, where: str) -> None:
    """Refuse the tighter bound for trainings that do not support it."""
    if method.bound == "standard":
        return
    optimizer = method.optimizer if optimizer == "auto" else optimizer
    by_rows = optimizer == "lbfgs" and settings.likelihood_name == "gaussian"
    known = optimizer in (*FULL_BATCH, "natural_gradient") or by_rows
    if where == "cluster" or not known:
        raise ValueError(
            "bound='tight' is trained in full batch by optimizer='collapsed' or 'scg', with "
            "Gaussian noise by 'lbfgs', too, and by minibatches with 'natural_gradient', but not "
            f"on a Dask cluster; got optimizer={optimizer!r} for rows in {where!r}. Leave the "
            "optimizer at 'auto', or use bound='standard'."
        )


def _check_has_q(method: AnyMethod, optimizer: str) -> None:
    if not method.has_q:
        raise ValueError(
            f"optimizer={optimizer!r} optimises q(u) and the kernel together, which "
            f"method={method.name!r} cannot do. Use optimizer='auto', or method='sparse_kl'."
        )


def check_weights(method: AnyMethod, weights: np.ndarray) -> None:
    """Refuse weights that the method's mathematics does not allow."""
    others = "method='full_kl' or 'sparse_kl', which take any weights"
    if method.weights == "whole" and np.any(weights != np.round(weights)):
        odd = weights[weights != np.round(weights)][0]
        raise ValueError(
            f"method={method.name!r} uses each row as many times as its weight, so weights must be "
            f"whole numbers, but one is {odd:g}. Scale them, or use {others}."
        )
    used = weights[weights > 0]
    if method.weights == "copies" and np.any(used < 1.0):
        raise ValueError(
            f"method={method.name!r} uses a weight as a number of copies of the row, so weights "
            f"must be 0 or at least 1, but one is {used.min():g}. Scale them up, or use {others}."
        )
