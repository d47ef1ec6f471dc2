"""A model as one file: its format version, and a clear message for every failure.

container.py defines the file format. This module does not know the kinds of models: the caller
passes `restore`, which makes a model from a header and arrays and trusts nothing in them.

`field` and its like read an entry of a header, which may be of any type.
"""

import math
from collections.abc import Callable
from os import PathLike
from typing import Any, TypeVar

import numpy as np

from ..exceptions import ModelFileError
from ..version import __version__
from . import container
from .container import Arrays, Header, shown

FORMAT_VERSION = 2  # 2: the arrays of a Gaussian posterior have an axis for latent functions
_MALFORMED = (
    KeyError,
    TypeError,
    ValueError,
    AttributeError,
    IndexError,
    OverflowError,
    RecursionError,
)

Restore = Callable[[Header, Arrays], Any]
T = TypeVar("T")


def write(
    path: str | PathLike[str], cls: type, header: Header, arrays: Arrays, restore: Restore
) -> None:
    """Write a model of class `cls`; raise an error now if `read` could not load it."""
    header = {"format": FORMAT_VERSION, "fewknots": __version__} | header
    arrays = {name: np.asarray(array) for name, array in arrays.items()}
    try:
        again = restore(container.as_read(header), arrays)
        if type(again) is not cls:
            raise ModelFileError(f"it is a {cls.__qualname__} of another module.")
    except _MALFORMED as error:
        raise ValueError(f"this model cannot be saved: {_reason(error)}") from error
    container.write(path, header, arrays)


def read(path: str | PathLike[str], restore: Restore) -> Any:
    """The model in a file; a `ModelFileError` says why a file holds no model."""
    header, arrays = container.read(path)
    version = header.get("format")
    if not isinstance(version, int) or version < 1:
        raise ModelFileError(f"{path} is not a fewknots model file: it has no format version.")
    if version > FORMAT_VERSION:
        writer = shown(header.get("fewknots")).strip("'")
        raise ModelFileError(
            f"{path} has format {shown(version)}, written by fewknots {writer}; this fewknots "
            f"reads up to format {FORMAT_VERSION}. Upgrade fewknots to load it."
        )
    try:
        return restore(header, arrays)
    except _MALFORMED as error:
        raise ModelFileError(f"{path} is not a valid model: {_reason(error)}") from error


def checked_array(arrays: Arrays, name: str, dtype, shape, complete: bool = True) -> np.ndarray:
    """An array that must have this dtype and shape and, if `complete`, only finite numbers."""
    array = arrays[name]
    if array.dtype != dtype or array.shape != shape:
        raise ModelFileError(
            f"array {name!r} is {array.dtype} of shape {array.shape}, not {np.dtype(dtype)} of "
            f"shape {shape}."
        )
    if complete and not np.all(np.isfinite(array)):
        raise ModelFileError(f"array {name!r} holds NaN or infinity.")
    return array


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, ModelFileError) else f"{shown(error)}."


def field(header: Any, name: str, kind: type[T]) -> T:
    """The entry of this name, which must be of this type (True is not an int)."""
    value = header.get(name) if isinstance(header, dict) else None
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ModelFileError(f"its recipe has no {kind.__name__} {name!r}.")
    return value


def optional(
    header: dict[str, Any], name: str, read: Callable[[dict[str, Any], str], T]
) -> T | None:
    """The entry, or None if it is missing or null."""
    return None if header.get(name) is None else read(header, name)


def finite(header: dict[str, Any], name: str) -> float:
    """A number other than NaN and infinity."""
    value = header.get(name)
    if not isinstance(value, float | int) or isinstance(value, bool) or not math.isfinite(value):
        raise ModelFileError(f"its recipe's {name!r} is not a finite number.")
    return float(value)


def text(header: dict[str, Any], name: str) -> str:
    """A text."""
    return field(header, name, str)


def flag(header: dict[str, Any], name: str) -> bool:
    """A boolean; False in older files, which do not have the entry."""
    return field(header, name, bool) if name in header else False


def texts(header: dict[str, Any], name: str) -> tuple[str, ...]:
    """A list of texts."""
    values = field(header, name, list)
    if not all(isinstance(value, str) for value in values):
        raise ModelFileError(f"its recipe's {name!r} holds something other than texts.")
    return tuple(values)
