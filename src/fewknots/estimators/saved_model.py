"""Writing a fitted estimator to a model file, and reading it back.

The header contains: estimator and its arguments, kernel, likelihood, classes, feature names,
training summary (written as described in files/header_values.py). Arrays are checked for dtype and
shape before use, and every failure is a `ModelFileError` that says what is wrong. Loading never
runs code from a file.
"""

from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from ..combined import CombinedPosterior
from ..data.standardise import Standardiser
from ..exceptions import ModelFileError
from ..files import container, model_format
from ..files.container import shown
from ..files.header_values import (
    KnownClasses,
    check_fitted,
    classes_in,
    decode_arguments,
    decode_kernel,
    decode_likelihood,
    encode_arguments,
    encode_array,
    encode_kernel,
    encode_likelihood,
    known_classes,
    named,
    value_of,
)
from ..files.model_format import checked_array
from ..fitting.job import FittedModel
from ..fitting.settings import METHODS, fitted_methods
from ..kernels import Kernel
from ..likelihoods import Likelihood
from ..local.model import RULES
from ..local.posterior import LocalPosterior, label_dtype, label_name
from ..numerics.precision import DEVICES
from ..posterior import CoupledPosterior, GaussianPosterior, MixturePosterior, Posterior
from ..tables.recipe.input_columns import InputColumns

if TYPE_CHECKING:
    from .base import GPEstimator

_ESTIMATORS: dict[str, "type[GPEstimator]"] = {}
_HELD_BY_POINTS = (GaussianPosterior, MixturePosterior, CoupledPosterior)
_POSTERIORS = {cls.__name__: cls for cls in (*_HELD_BY_POINTS, LocalPosterior)}
_HISTORY = {"iteration": np.int64, "seconds": np.float64, "bound": np.float64}
_HISTORY_OF_SOME = {"held_out_nlp": np.float64}
# Folders belong to the machine that trained the model: a new fit must not write there.
_NOT_OF_THE_MODEL = ("checkpoint", "resume")


def loadable(*classes: "type[GPEstimator]") -> None:
    """Register the estimators that a file may contain; any other name is refused."""
    _ESTIMATORS.update((cls.__name__, cls) for cls in classes)


def save(estimator: "GPEstimator", path: str | PathLike[str]) -> None:
    """Write a fitted estimator to one file."""
    restore = partial(restored, known=classes_of(estimator))
    model_format.write(path, type(estimator), *contents(estimator), restore)


def classes_of(estimator: "GPEstimator") -> KnownClasses:
    """The classes that may appear in the file: those of fewknots and those the user must give to
    `load`.
    """
    kernels = classes_in(estimator.kernel) | classes_in(estimator.kernel_)
    try:
        return known_classes(kernels, {type(estimator._likelihood)})
    except ValueError as error:
        raise ValueError(f"this model cannot be saved: {error}") from error


def contents(estimator: "GPEstimator") -> tuple[container.Header, container.Arrays]:
    """Header and arrays of a fitted estimator."""
    standardiser = estimator._standardiser
    arrays = {f"posterior.{k}": v for k, v in estimator.posterior_.arrays().items()}
    arrays |= {"standardiser.mean": standardiser.mean, "standardiser.scale": standardiser.scale}
    arrays |= {f"history.{k}": v for k, v in estimator.history_.items()}
    columns = estimator._columns
    names = getattr(estimator, "feature_names_in_", None)
    if columns is not None:
        names = columns.feature_names
    header = {
        "estimator": type(estimator).__name__,
        "arguments": _of_the_model(encode_arguments(estimator.get_params(deep=False))),
        "kernel": encode_kernel(estimator.kernel_),
        **_kind(estimator.posterior_),
        "combination": _combination_header(estimator),
        "targets": estimator._targets_header(encode_array),
        "n_features": estimator._fitted.n_features,
        "feature_names": None if names is None else list(names),
        "columns": None if columns is None else columns.header(),
        "training": {
            "method": estimator.method_,
            "log_evidence": estimator.log_evidence_,
            "evidence_is_bound": estimator.evidence_is_bound_,
            "n_iter": estimator.n_iter_,
            "n_evaluations": estimator.n_evaluations_,
            "converged": estimator.converged_,
            "stored_rows": estimator.stored_rows_,
            "contest": contest_header(estimator),
        },
    }
    return header, arrays


def restored(
    header: container.Header, arrays: container.Arrays, known: KnownClasses
) -> "GPEstimator":
    """The estimator from header and arrays, all of which are checked."""
    cls = named("estimator", header["estimator"], _ESTIMATORS)
    estimator = cls(**_of_the_model(decode_arguments(header["arguments"], known)))
    if estimator.device not in DEVICES:
        raise ModelFileError(f"its device is {shown(estimator.device)}.")
    n_features = value_of(header, "n_features", int)
    if (names := header["feature_names"]) is not None:
        is_list = isinstance(names, list) and all(isinstance(name, str) for name in names)
        if not is_list or len(names) != n_features:
            raise ModelFileError(f"its feature names are not {n_features} texts.")
        names = np.array(names, dtype=object)
    columns = _restored_columns(header, n_features)
    mean, scale = (
        checked_array(arrays, f"standardiser.{k}", np.float64, (n_features,))
        for k in ("mean", "scale")
    )
    if not np.all(scale > 0):
        raise ModelFileError("array 'standardiser.scale' is not positive.")
    kernel = decode_kernel(header["kernel"], known)
    check_fitted(kernel, n_features)
    training = header["training"]
    method = value_of(training, "method", str)
    named("method", method, fitted_methods(cls._learns))
    members = header.get("combination")  # older files do not have it
    dtype = arrays["posterior.points" if members is None else "posterior.0.points"].dtype
    if dtype not in (np.float32, np.float64):
        raise ModelFileError(f"the posterior's dtype is {dtype}, not a float32 or float64.")
    targets = cls._restored_targets(header["targets"], dtype, known)
    likelihood, combination = targets["likelihood"], None
    posterior: Posterior
    if members is None:
        posterior = _restore_posterior(header, arrays, kernel, likelihood, known)
    else:
        posterior, combination = _restore_combination(header, arrays, likelihood, known)
    contest, gain = _restored_contest(training.get("contest"))
    estimator._take_in(
        FittedModel(
            method=method,
            kernel=kernel,
            posterior=posterior,
            standardiser=Standardiser(mean, scale),
            n_features=n_features,
            feature_names=names,
            evidence=value_of(training, "log_evidence", float),
            is_bound=value_of(training, "evidence_is_bound", bool),
            gradient=None,
            iterations=value_of(training, "n_iter", int),
            evaluations=value_of(training, "n_evaluations", int),
            converged=value_of(training, "converged", bool),
            stored_rows=_restored_stored_rows(training, posterior),
            history=_restored_history(arrays),
            contest=contest,
            contest_gain=gain,
            combination=combination,
            columns=columns,
            **{"classes": None} | targets,
        )
    )
    return estimator


def _restored_columns(header: container.Header, n_features: int) -> InputColumns | None:
    """The table's columns that the features were made from; None in files of older versions."""
    if header.get("columns") is None:
        return None
    columns = InputColumns.from_header(value_of(header, "columns", dict))
    if (found := len(columns.feature_names)) != n_features:
        raise ModelFileError(f"its recipe makes {found} inputs of a row, not {n_features}.")
    return columns


def _restored_history(arrays: container.Arrays) -> dict[str, np.ndarray]:
    length = (arrays["history.bound"].size,)
    some = {k: d for k, d in _HISTORY_OF_SOME.items() if f"history.{k}" in arrays}
    return {
        # None before the first score
        k: checked_array(arrays, f"history.{k}", d, length, complete=k not in _HISTORY_OF_SOME)
        for k, d in (_HISTORY | some).items()
    }


def _kind(posterior: Posterior) -> dict[str, Any]:
    """What describes a posterior besides kernel and arrays."""
    settings: dict[str, Any] | None = None
    if isinstance(posterior, LocalPosterior):
        settings = dict(posterior.settings())
        if posterior.likelihood.targets == "numbers":  # it has its own noise, also in a combination
            settings["likelihood"] = encode_likelihood(posterior.likelihood)
    return {"posterior": type(posterior).__name__, "local": settings}


def _combination_header(estimator: "GPEstimator") -> list[dict[str, Any]] | None:
    """The members of a combination; the names of their arrays start with their numbers."""
    posterior = estimator.posterior_
    if not isinstance(posterior, CombinedPosterior):
        return None
    weights: dict[str, float] = estimator.combination_
    return [
        {"method": name, "weight": weight, "kernel": encode_kernel(member.kernel), **_kind(member)}
        for (name, weight), member in zip(weights.items(), posterior.members, strict=True)
    ]


def _of_the_model(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if name not in _NOT_OF_THE_MODEL}


def _restore_posterior(
    header, arrays, kernel: Kernel, likelihood: Likelihood, known: KnownClasses
) -> Posterior:
    cls = named("posterior", header["posterior"], _POSTERIORS)
    points = arrays["posterior.points"]
    dtype = points.dtype
    if cls is LocalPosterior:
        return _restore_local(header, arrays, kernel, likelihood, known)
    if header["format"] == 1:  # format 1 had one latent function, without an axis
        axes = {"projection": 0, "mean": 0, "means": 1, "shrink": 0}
        arrays = arrays | {
            name: np.expand_dims(arrays[name], axis)
            for part, axis in axes.items()
            if (name := f"posterior.{part}") in arrays
        }
    L, M = len(arrays["posterior.projection"]), len(points)
    shapes: dict[str, tuple[int, ...]] = {
        "points": (M, header["n_features"]),
        "projection": (L, M, M),
    }
    shapes |= {"shift": (M, M)} if cls is CoupledPosterior else {"shrink": (L, M)}
    if cls is MixturePosterior:
        shapes["means"] = (len(arrays["posterior.means"]), L, M)
    else:
        shapes["mean"] = (L, M)
    parts = {
        k: checked_array(arrays, f"posterior.{k}", dtype, shape) for k, shape in shapes.items()
    }
    if any(part.size == 0 for part in parts.values()):
        raise ModelFileError("its posterior is empty.")
    if likelihood.n_latent != L:
        raise ModelFileError(f"its posterior has {L} latent functions, not {likelihood.n_latent}.")
    return cls(kernel, **parts)


def _restore_combination(
    header, arrays, likelihood: Likelihood, known: KnownClasses
) -> tuple[CombinedPosterior, dict[str, float]]:
    told = value_of(header, "combination", list)
    members, weights = [], {}
    for number, part in enumerate(told):
        prefix = f"posterior.{number}."
        own = {
            f"posterior.{name.removeprefix(prefix)}": array
            for name, array in arrays.items()
            if name.startswith(prefix)
        }
        kernel = decode_kernel(part["kernel"], known)
        check_fitted(kernel, header["n_features"])
        members.append(_restore_posterior(header | part, own, kernel, likelihood, known))
        method = value_of(part, "method", str)
        named("method", method, METHODS[likelihood.targets])
        weights[method] = value_of(part, "weight", float)
    shares = np.array(list(weights.values()))
    if len(weights) != len(told) or not (np.all(shares > 0) and abs(shares.sum() - 1.0) < 1e-9):
        raise ModelFileError("the weights of its combination are not positive with the sum 1.")
    return CombinedPosterior(tuple(members), tuple(shares.tolist())), weights


def _restore_local(
    header, arrays, kernel: Kernel, likelihood: Likelihood, known: KnownClasses
) -> LocalPosterior:
    settings, L = header["local"], likelihood.n_latent
    n_rows, dtype = len(arrays["posterior.points"]), arrays["posterior.points"].dtype
    if likelihood.targets == "numbers":
        own = decode_likelihood(value_of(settings, "likelihood", dict), known)
        if type(own) is not type(likelihood):
            raise ModelFileError("its neighbourhoods have another likelihood than the model.")
        likelihood = jax.tree.map(lambda value: np.asarray(value, dtype), own)
    if n_rows == 0:
        raise ModelFileError("its posterior is empty.")
    name, allowed = label_name(likelihood), (-1, 1) if L == 1 else range(L)
    labels = checked_array(arrays, f"posterior.{name}", label_dtype(likelihood, dtype), (n_rows,))
    if name != "numbers" and not np.isin(labels, list(allowed)).all():
        raise ModelFileError(f"array 'posterior.{name}' has values that are not codes of classes.")
    n_slots = settings.get("n_slots", 1)  # older files have no slots
    if not isinstance(n_slots, int) or not 1 <= n_slots <= L:
        raise ModelFileError(f"n_slots is {n_slots!r}, not a number of classes.")
    n_neighbors = settings["n_neighbors"]
    if not isinstance(n_neighbors, int) or n_neighbors < 1:
        raise ModelFileError(f"n_neighbors is {n_neighbors!r}, not a number of rows.")
    return LocalPosterior(
        kernel,
        checked_array(arrays, "posterior.points", dtype, (n_rows, header["n_features"])),
        labels,
        checked_array(arrays, "posterior.weights", dtype, (n_rows,)),
        checked_array(arrays, "posterior.mean", dtype, () if L == 1 else (L,)),
        checked_array(arrays, "posterior.sharpness", dtype, ()),
        n_neighbors,
        named("local inference", settings["rule"], {rule: rule for rule in RULES}),
        likelihood,
        n_slots,
    )


def contest_header(estimator: Any) -> dict[str, Any] | None:
    """The scores of compared methods, as JSON; None if there was no comparison.

    An infinite NLP (of a method that could not be fitted) is written as None, too.
    """
    if not hasattr(estimator, "contest_"):
        return None
    nlp = {name: nlp if np.isfinite(nlp) else None for name, nlp in estimator.contest_.items()}
    return {"nlp": nlp, "gain": estimator.contest_gain_}


def _restored_contest(told: Any) -> tuple[dict[str, float] | None, dict[str, Any] | None]:
    """Read and check what `contest_header` wrote."""
    if told is None:
        return None, None
    nlp, gain = value_of(told, "nlp", dict), told["gain"]
    scores = {name: np.inf if nlp[name] is None else value_of(nlp, name, float) for name in nlp}
    if gain is None:
        return scores, None
    low, high = value_of(gain, "interval", list)
    return scores, {
        "nlp": value_of(gain, "nlp", float),
        "interval": [value_of({"end": end}, "end", float) for end in (low, high)],
        "rows": value_of(gain, "rows", int),
    }


def _restored_stored_rows(training: dict[str, Any], posterior: Posterior) -> int | None:
    """How many of the posterior's points are rows; None in files of older versions."""
    if training.get("stored_rows") is None:
        return None
    stored = value_of(training, "stored_rows", int)
    members = posterior.members if isinstance(posterior, CombinedPosterior) else [posterior]
    n_points = max(len(member.points) for member in members)
    if not 0 <= stored <= n_points:
        raise ModelFileError(f"it says that {stored} of its {n_points} points are rows.")
    return stored
