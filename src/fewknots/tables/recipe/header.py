"""Reads a recipe from the header of a file; every entry may be of any type."""

import math
from collections.abc import Callable
from typing import Any, TypeVar

from ...exceptions import ModelFileError

T = TypeVar("T")


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
