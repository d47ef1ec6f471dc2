"""Arguments, kernels, likelihoods and small arrays to JSON, and back; nothing in a file is trusted.

Kernels and likelihoods are looked up by name in tables of classes (those of fewknots and those that
the user passes to `load`), and only dtypes that this module writes are accepted. Sizes given in a
file are compared with its contents before memory of that size is used.
"""

import math
import re
from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from ..exceptions import ModelFileError
from ..kernels import KERNELS, Kernel, PerClass, Product, Sum, Warp
from ..kernels.combine import Pair
from ..kernels.constraints import CONSTRAINTS, Constraint
from ..likelihoods import LIKELIHOODS, Likelihood
from ..numerics.fields import ColumnChoice, Positive, Setting, checked_parameter
from .container import shown

_OWN_KERNELS = {cls.__name__: cls for cls in (*KERNELS.values(), Sum, Product, Warp, PerClass)}
_OWN_LIKELIHOODS = {cls.__name__: cls for cls in LIKELIHOODS.values()}
_MOST_KERNEL_PARTS = 100  # including sums and products: nested kernels mean nested calls
_DATE_DTYPE = re.compile(r"<[mM]8\[\d{0,4}(Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\]")
_ARRAY_DTYPE = re.compile(rf"\|b1|[<|][iu][1248]|<f[248]|<U\d{{1,6}}|object|{_DATE_DTYPE.pattern}")
_LARGEST_ARRAY = 256 * 2**20  # bytes; the longest header with the shortest numbers gives this


class KnownClasses(NamedTuple):
    """Which names a file may hold, and what they mean."""

    kernels: Mapping[str, type[Kernel]]
    likelihoods: Mapping[str, type[Likelihood]]


# --- to JSON --------------------------------------------------------------------------------------


def encode_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    """Constructor arguments as JSON, except arguments that are not part of a model."""
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


def encode_kernel(kernel: Kernel) -> dict[str, Any]:
    """A kernel as JSON: its class and its fields."""
    if (parts := _count_parts(kernel)) > _MOST_KERNEL_PARTS:
        raise ValueError(
            f"a kernel of {parts} parts cannot be saved: at most {_MOST_KERNEL_PARTS} are possible."
        )
    values = kernel.get_params(deep=False)
    if kernel.columns is None:
        values.pop("columns", None)  # older versions do not know the field
    fields = {name: _encode(value) for name, value in values.items()}
    return {"class": type(kernel).__name__, "fields": fields}


def encode_likelihood(likelihood: Likelihood) -> dict[str, Any]:
    """A likelihood's class and fields."""
    fields = {name: _encode(getattr(likelihood, name)) for name in likelihood.roles}
    return {"class": type(likelihood).__name__, "fields": fields}


def known_classes(
    kernels: Iterable[type[Kernel]] = (), likelihoods: Iterable[type[Likelihood]] = ()
) -> KnownClasses:
    """Tables from names to classes: those of fewknots and the given ones. Names must be unique."""
    return KnownClasses(
        _with_names("kernel", _OWN_KERNELS, kernels, Kernel),
        _with_names("likelihood", _OWN_LIKELIHOODS, likelihoods, Likelihood),
    )


def _with_names(what: str, own: Mapping[str, Any], others: Iterable[Any], base: type) -> Any:
    known = dict(own)
    for cls in others:
        if not (isinstance(cls, type) and issubclass(cls, base)):
            raise TypeError(f"{what}s must hold classes of {what}s, got {cls!r}.")
        if known.setdefault(cls.__name__, cls) is not cls:
            other = known[cls.__name__]
            raise ValueError(
                f"fewknots has no {what} {cls.__qualname__} of {cls.__module__} but another one of "
                f"that name, {other.__qualname__} of {other.__module__}. A file contains only the "
                f"name of a {what}: rename your class."
            )
    return known


def classes_in(kernel: Any) -> set[type[Kernel]]:
    """The classes of a kernel and of its inner kernels; empty for a text or a number."""
    if isinstance(kernel, list | tuple):
        return set().union(*map(classes_in, kernel))
    if not isinstance(kernel, Kernel):
        return set()
    inner = kernel.get_params(deep=False).values()
    return {type(kernel)}.union(*map(classes_in, inner))


def encode_array(array: np.ndarray) -> dict[str, Any]:
    """An array of labels or numbers as JSON: dtype, shape and values."""
    dtype = "object" if array.dtype == object else array.dtype.newbyteorder("<").str
    if not _ARRAY_DTYPE.fullmatch(dtype):
        raise ValueError(f"an array of dtype {array.dtype} cannot be saved in a model file.")
    values = array.ravel().tolist()
    if array.dtype.kind in "mM":  # as integers: Python's dates do not have all of NumPy's units
        values = array.ravel().astype(np.int64).tolist()
    if not _are_plain(values):
        raise ValueError(
            f"an array that holds {shown(values[0])} cannot be saved: only texts, numbers, "
            "booleans and NumPy dates can."
        )
    return {"dtype": dtype, "shape": list(array.shape), "values": values}


def _encode(value: Any) -> Any:
    """A constructor argument as JSON; values that JSON lacks become a dict with one named entry."""
    if isinstance(value, Kernel):
        return {"kernel": encode_kernel(value)}
    if isinstance(value, Likelihood):
        return {"likelihood": encode_likelihood(value)}
    if isinstance(value, Constraint):
        return {"constraint": {"class": type(value).__name__, "fields": vars(value)}}
    if isinstance(value, list | tuple) and classes_in(value):
        return {"list": [_encode(entry) for entry in value]}
    if isinstance(value, dict):
        return {"dict": [[_encode(k), _encode(v)] for k, v in value.items()]}
    if isinstance(value, np.dtype | type):
        return np.dtype(value).name
    if isinstance(value, np.generic) and value.dtype.kind not in "mM":
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return {"array": encode_array(np.asarray(value))}


# --- from JSON ------------------------------------------------------------------------------------


def decode_arguments(encoded: dict[str, Any], known: KnownClasses) -> dict[str, Any]:
    """Constructor arguments from JSON."""
    return {name: _decode(value, known) for name, value in encoded.items()}


def decode_kernel(encoded: Any, known: KnownClasses) -> Kernel:
    """A kernel from JSON. Its parameters are not checked yet: see `check_fitted`."""
    if _count_encoded_parts(encoded) > _MOST_KERNEL_PARTS:
        raise ModelFileError(f"its kernel has more than {_MOST_KERNEL_PARTS} parts.")
    cls = _class_of("kernel", encoded["class"], known.kernels)
    fields = {name: _decode(value, known) for name, value in encoded["fields"].items()}
    for name, value in fields.items():
        if isinstance(cls.roles.get(name), ColumnChoice) and value is not None:
            fields[name] = tuple(np.ravel(value).tolist())
    kernel = cls(**fields)
    inner: tuple[Any, ...] = (kernel.k1, kernel.k2) if isinstance(kernel, Pair) else ()
    inner = (kernel.kernel,) if isinstance(kernel, Warp) else inner
    if not all(isinstance(part, Kernel) for part in inner):
        raise ModelFileError(f"a part of its {cls.__name__} is not a kernel.")
    return kernel


def decode_likelihood(encoded: Any, known: KnownClasses) -> Likelihood:
    """A likelihood; a parameter that is None, of one that was never fitted, stays None."""
    cls = _class_of("likelihood", encoded["class"], known.likelihoods)
    fields = {name: _decode(value, known) for name, value in encoded["fields"].items()}
    for name, role in cls.roles.items():
        value, label = fields.get(name), f"{cls.__name__}.{name}"
        if isinstance(role, Positive) and value is not None:
            checked_parameter(label, value, None, None)
        elif isinstance(role, Setting) and type(value) is not role.kind:
            raise ModelFileError(f"{label} is {shown(value)}, not a {role.kind.__name__}.")
    return cls(**fields)


def _class_of(what: str, name: Any, known: Mapping[str, Any]) -> Any:
    if not isinstance(name, str) or name not in known:
        raise ModelFileError(
            f"this fewknots has no {what} {shown(name)}. If it is a class of your own, name it: "
            f"fewknots.load(path, {what}s=[ThatClass])."
        )
    return known[name]


def decode_array(encoded: dict[str, Any]) -> np.ndarray:
    """An array from JSON, with the number of values that its shape demands."""
    dtype, shape, values = encoded["dtype"], encoded["shape"], encoded["values"]
    if not _ARRAY_DTYPE.fullmatch(dtype):
        raise ModelFileError(f"unknown dtype {shown(dtype)}.")
    if not (isinstance(shape, list) and all(type(n) is int and n >= 0 for n in shape)):
        raise ModelFileError(f"an array's shape is {shown(shape)}.")
    if not isinstance(values, list) or len(values) != math.prod(shape) or not _are_plain(values):
        raise ModelFileError(f"an array of shape {shown(shape)} has other values than that.")
    if len(values) * np.dtype(dtype).itemsize > _LARGEST_ARRAY:
        raise ModelFileError(f"{len(values)} values of dtype {dtype} are more than any model has.")
    if _DATE_DTYPE.fullmatch(dtype):
        return np.array(values, dtype=np.int64).astype(dtype).reshape(shape)
    return np.array(values, dtype=dtype).reshape(shape)


def check_fitted(kernel: Kernel, n_features: int) -> None:
    """Check that every parameter is present and positive: one number, or one for each input."""
    for name, role in kernel.roles.items():
        value, label = getattr(kernel, name), f"{type(kernel).__name__}.{name}"
        if isinstance(value, Kernel):
            check_fitted(value, n_features)
        elif isinstance(role, Setting):
            if type(value) is not role.kind:
                raise ModelFileError(f"{label} is {shown(value)}, not a {role.kind.__name__}.")
        elif isinstance(role, Positive) and not _is_float(value):
            raise ModelFileError(f"{label} is {shown(value)}, not a number or an array of numbers.")
    kernel.prepared(np.ones(n_features))  # checks signs, shapes and columns


def named(what: str, name: Any, known: Mapping[str, Any]) -> Any:
    """Look up a name in a fixed table."""
    if not isinstance(name, str) or name not in known:
        raise ModelFileError(f"this fewknots has no {what} {shown(name)}.")
    return known[name]


def value_of(mapping: Any, name: str, kind: type) -> Any:
    """A value that must be present and of this type; a float must be finite."""
    value = mapping[name]
    if type(value) is not kind or (isinstance(value, float) and not math.isfinite(value)):
        raise ModelFileError(f"its {name} is {shown(value)}, not a {kind.__name__}.")
    return value


def _is_float(value: Any) -> bool:
    return isinstance(value, float) or getattr(value, "dtype", np.dtype(bool)).kind == "f"


def _decode(encoded: Any, known: KnownClasses) -> Any:
    if not isinstance(encoded, dict):
        return encoded
    if "kernel" in encoded:
        return decode_kernel(encoded["kernel"], known)
    if "likelihood" in encoded:
        return decode_likelihood(encoded["likelihood"], known)
    if "constraint" in encoded:
        constraint = encoded["constraint"]
        return named("constraint", constraint["class"], CONSTRAINTS)(**constraint["fields"])
    if "list" in encoded:
        return [_decode(entry, known) for entry in encoded["list"]]
    if "dict" in encoded:
        return {_decode_key(key): _decode(value, known) for key, value in encoded["dict"]}
    return decode_array(encoded["array"])


def _decode_key(encoded: Any) -> Any:
    """A key of a dict argument (a label); dates are stored as arrays with zero axes."""
    if isinstance(encoded, dict) and "array" in encoded:
        array = decode_array(encoded["array"])
        if array.ndim == 0:
            return array[()]
    elif _are_plain([encoded]) or encoded is None:
        return encoded
    raise ModelFileError(f"an argument holds {shown(encoded)}.")


def _are_plain(values: list[Any]) -> bool:
    return all(isinstance(value, bool | int | float | str) for value in values)


def _count_parts(kernel: Kernel) -> int:
    inner = kernel.get_params(deep=False).values()
    return 1 + sum(_count_parts(part) for part in inner if isinstance(part, Kernel))


def _count_encoded_parts(encoded: Any) -> int:
    """Number of kernels in an encoded kernel; a loop, as a file may nest them deeply."""
    count, waiting = 0, [encoded]
    while waiting and count <= _MOST_KERNEL_PARTS:
        kernel = waiting.pop()
        count += 1
        fields = kernel["fields"] if isinstance(kernel, dict) else None
        if isinstance(fields, dict):
            waiting += [
                f["kernel"] for f in fields.values() if isinstance(f, dict) and "kernel" in f
            ]
    return count
