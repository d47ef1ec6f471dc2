"""Saving and loading fitted models (container.py says what such a file is made of).

The header says: format version, estimator and its arguments, kernel, likelihood, classes,
feature names, training summary. Kernels are looked up by name in a fixed table, arrays are
checked for dtype and shape before use, and every failure is a `ModelFileError` that says what is
wrong: loading never runs anything that a file brings along.
"""

import dataclasses
import re
from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from . import container
from .data.standardise import Standardiser
from .exceptions import ModelFileError
from .kernels import KERNELS, Kernel, Product, Sum
from .likelihoods import LINKS, Bernoulli
from .local.model import RULES
from .local.posterior import LocalPosterior
from .posterior import GaussianPosterior, MixturePosterior, Posterior

if TYPE_CHECKING:
    from .estimators.base import GPEstimator

FORMAT_VERSION = 1
_KERNEL_CLASSES = {cls.__name__: cls for cls in (*KERNELS.values(), Sum, Product)}
_POSTERIORS = {cls.__name__: cls for cls in (GaussianPosterior, MixturePosterior, LocalPosterior)}
_HISTORY = {"iteration": np.int64, "seconds": np.float64, "bound": np.float64}
_HISTORY_OF_SOME = {"held_out_nlp": np.float64}
_LABEL_DTYPE = re.compile(r"\|b1|[<|][iu][1248]|<f[248]|<U\d{1,4}|object")


def save(estimator: "GPEstimator", path: str | PathLike[str]) -> None:
    """Write a fitted estimator to one file."""
    from . import __version__

    standardiser = estimator._standardiser
    arrays = {f"posterior.{k}": v for k, v in estimator.posterior_.arrays().items()}
    arrays |= {"standardiser.mean": standardiser.mean, "standardiser.scale": standardiser.scale}
    arrays |= {f"history.{k}": v for k, v in estimator.history_.items()}
    names = getattr(estimator, "feature_names_in_", None)
    header = {
        "format": FORMAT_VERSION,
        "fewknots": __version__,
        "estimator": type(estimator).__name__,
        "arguments": encode_arguments(estimator.get_params(deep=False)),
        "kernel": _encode_kernel(estimator.kernel_),
        "posterior": type(estimator.posterior_).__name__,
        "local": _local_settings(estimator.posterior_),
        "targets": estimator._targets_header(_encode_array),
        "n_features": estimator.n_features_in_,
        "feature_names": None if names is None else list(names),
        "training": {
            "method": estimator.method_,
            "log_evidence": estimator.log_evidence_,
            "evidence_is_bound": estimator.evidence_is_bound_,
            "n_iter": estimator.n_iter_,
            "n_evaluations": estimator.n_evaluations_,
            "converged": estimator.converged_,
        },
    }
    container.write(path, header, arrays)


def load(path: str | PathLike[str]) -> "Any":
    """Read a fitted `GPClassifier` or `GPRegressor` that its `save` wrote.

    Nothing in the file is executed. A file that is cut off, changed, foreign or of a newer format
    raises `fewknots.ModelFileError`.
    """
    header, arrays = container.read(path)
    version = header.get("format")
    if not isinstance(version, int) or version < 1:
        raise ModelFileError(f"{path} is not a fewknots model file: it has no format version.")
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"{path} has format {version}, written by fewknots {header.get('fewknots')}; this "
            f"fewknots reads up to format {FORMAT_VERSION}. Upgrade fewknots to load it."
        )
    try:
        return _restore(header, arrays)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise ModelFileError(f"{path} is not a valid model: {error!r}.") from error


def _restore(header: container.Header, arrays: container.Arrays) -> "GPEstimator":
    from .estimators import GPClassifier, GPRegressor
    from .estimators.fitted_attributes import set_points

    classes = {cls.__name__: cls for cls in (GPClassifier, GPRegressor)}
    cls = _named("estimator", header["estimator"], classes)
    estimator = cls(**_decode_arguments(header["arguments"]))
    n_features = header["n_features"]
    estimator.n_features_in_ = n_features
    if header["feature_names"] is not None:
        estimator.feature_names_in_ = np.array(header["feature_names"], dtype=object)
    estimator._standardiser = Standardiser(
        *(_array(arrays, f"standardiser.{k}", np.float64, (n_features,)) for k in ("mean", "scale"))
    )
    estimator.kernel_ = _decode_kernel(header["kernel"])
    estimator.posterior_ = _restore_posterior(header, arrays, estimator.kernel_)
    set_points(estimator)
    estimator._restore_targets(header["targets"], _decode_array)
    training = header["training"]
    estimator.method_ = str(training["method"])
    estimator.log_evidence_ = float(training["log_evidence"])
    estimator.evidence_is_bound_ = bool(training["evidence_is_bound"])
    estimator.n_iter_ = int(training["n_iter"])
    estimator.n_evaluations_ = int(training["n_evaluations"])
    estimator.converged_ = bool(training["converged"])
    length = arrays["history.bound"].shape
    some = {k: d for k, d in _HISTORY_OF_SOME.items() if f"history.{k}" in arrays}
    columns = _HISTORY | some
    estimator.history_ = {k: _array(arrays, f"history.{k}", d, length) for k, d in columns.items()}
    return estimator


def _restore_posterior(header, arrays, kernel: Kernel) -> Posterior:
    cls = _named("posterior", header["posterior"], _POSTERIORS)
    points = arrays["posterior.points"]
    dtype = points.dtype
    if dtype not in (np.float32, np.float64):
        raise ModelFileError(f"the posterior's dtype is {dtype}, not a float32 or float64.")
    if cls is LocalPosterior:
        return _restore_local(header, arrays, kernel)
    shapes = {
        "points": (len(points), header["n_features"]),
        "projection": (len(points), len(points)),
        "shrink": (len(points),),
    }
    if cls is MixturePosterior:
        shapes["means"] = (len(arrays["posterior.means"]), len(points))
    else:
        shapes["mean"] = (len(points),)
    parts = {k: _array(arrays, f"posterior.{k}", dtype, shape) for k, shape in shapes.items()}
    return cls(kernel, **parts)


def _local_settings(posterior: Posterior) -> dict[str, int | str] | None:
    return posterior.settings() if isinstance(posterior, LocalPosterior) else None


def _restore_local(header, arrays, kernel: Kernel) -> LocalPosterior:
    settings = header["local"]
    n_rows, dtype = len(arrays["posterior.points"]), arrays["posterior.points"].dtype
    signs = _array(arrays, "posterior.signs", np.int8, (n_rows,))
    if not np.all(np.abs(signs) == 1):
        raise ModelFileError("array 'posterior.signs' holds other numbers than -1 and 1.")
    n_neighbors = settings["n_neighbors"]
    if not isinstance(n_neighbors, int) or n_neighbors < 1:
        raise ModelFileError(f"n_neighbors is {n_neighbors!r}, not a number of rows.")
    return LocalPosterior(
        kernel,
        _array(arrays, "posterior.points", dtype, (n_rows, header["n_features"])),
        signs,
        _array(arrays, "posterior.weights", dtype, (n_rows,)),
        _array(arrays, "posterior.mean", dtype, ()),
        _array(arrays, "posterior.sharpness", dtype, ()),
        n_neighbors,
        _named("local inference", settings["rule"], {rule: rule for rule in RULES}),
        Bernoulli(_named("likelihood", settings["link"], {link: link for link in LINKS})),
    )


def _named(what: str, name: Any, known: Mapping[str, Any]) -> Any:
    """The class of that name, out of a fixed table."""
    if name not in known:
        raise ModelFileError(f"this fewknots has no {what} {name!r}.")
    return known[name]


def _array(arrays, name, dtype, shape) -> np.ndarray:
    array = arrays[name]
    if array.dtype != dtype or array.shape != shape:
        raise ModelFileError(
            f"array {name!r} is {array.dtype} of shape {array.shape}, not {np.dtype(dtype)} of "
            f"shape {shape}."
        )
    if not np.all(np.isfinite(array)):
        raise ModelFileError(f"array {name!r} holds NaN or infinity.")
    return array


# --- arguments, kernels and small arrays as JSON --------------------------------------------------


def encode_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    """Constructor arguments as JSON, without those that are not part of a model."""
    encoded = {}
    for name, value in arguments.items():
        if name == "callback":
            continue
        if isinstance(value, PathLike):
            value = str(value)
        if name == "random_state" and not isinstance(value, int | np.integer | None):
            continue  # a generator's state is not part of the model
        encoded[name] = _encode(value)
    return encoded


def _decode_arguments(encoded: dict[str, Any]) -> dict[str, Any]:
    return {name: _decode(value) for name, value in encoded.items()}


def _encode(value: Any) -> Any:
    """JSON for what constructor arguments may be; other things say so by name."""
    if isinstance(value, Kernel):
        return {"kernel": _encode_kernel(value)}
    if isinstance(value, dict):
        return {"dict": [[_encode(k), _encode(v)] for k, v in value.items()]}
    if isinstance(value, np.dtype | type):
        return np.dtype(value).name
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return {"array": _encode_array(np.asarray(value))}


def _decode(encoded: Any) -> Any:
    if not isinstance(encoded, dict):
        return encoded
    if "kernel" in encoded:
        return _decode_kernel(encoded["kernel"])
    if "dict" in encoded:
        return {_decode(key): _decode(value) for key, value in encoded["dict"]}
    return _decode_array(encoded["array"])


def _encode_kernel(kernel: Kernel) -> dict[str, Any]:
    fields = {f.name: _encode(getattr(kernel, f.name)) for f in dataclasses.fields(kernel)}  # type: ignore[arg-type]
    return {"class": type(kernel).__name__, "fields": fields}


def _decode_kernel(encoded: dict[str, Any]) -> Kernel:
    cls = _named("kernel", encoded["class"], _KERNEL_CLASSES)
    return cls(**{name: _decode(value) for name, value in encoded["fields"].items()})


def _encode_array(array: np.ndarray) -> dict[str, Any]:
    dtype = "object" if array.dtype == object else array.dtype.newbyteorder("<").str
    if not _LABEL_DTYPE.fullmatch(dtype):
        raise ValueError(f"an array of dtype {array.dtype} cannot be saved in a model file.")
    values = array.ravel().tolist()
    if not all(isinstance(value, bool | int | float | str) for value in values):
        raise ValueError("labels other than texts, numbers and booleans cannot be saved.")
    return {"dtype": dtype, "shape": list(array.shape), "values": values}


def _decode_array(encoded: dict[str, Any]) -> np.ndarray:
    if not _LABEL_DTYPE.fullmatch(encoded["dtype"]):
        raise ModelFileError(f"unknown dtype {encoded['dtype']!r}.")
    return np.array(encoded["values"], dtype=encoded["dtype"]).reshape(encoded["shape"])
