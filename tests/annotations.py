"""Annotations of the package are checked while testing: each kind of call once, not every call.

jaxtyping and beartype check a call in some fifty microseconds, and prepare a function in several
milliseconds: for a function inside a function that is each time the outer one runs. What they find
follows from the function and the kinds of what goes in and comes out: types, of arrays also shape
and dtype, of tuples, lists and dictionaries the kinds of what they hold. So a call is checked if
the same function has not been called with these kinds and returned that kind before.
"""

import functools
import types
from collections.abc import Callable, Hashable
from typing import Any

import jax
import jaxtyping
import numpy as np

# Warnings of the package look for the user's line, and pass over jaxtyping's: these here, too.
__name__ = "jaxtyping.by_kind"

_DEEPEST = 8  # collections in collections; no annotation says more of them
_ONE_BY_ONE = 32  # the items of a longer collection have a type each, but no shapes
_jaxtyped = jaxtyping.jaxtyped
# Estimators keep any argument as it is given: `fit` looks at it, and says what is wrong.
_CHECKED_LATER = {
    ("fewknots.estimators.classifier", "__init__"),
    ("fewknots.estimators.regressor", "__init__"),
}
_known: dict[types.CodeType, "_Calls"] = {}


def check_annotations(package: str) -> None:
    """From now on, modules of this package are imported with their annotations checked."""
    jaxtyping.jaxtyped = checked_by_kind
    jaxtyping.install_import_hook(package, "beartype.beartype")


def checked_by_kind(function=None, *, typechecker):
    """Like `jaxtyping.jaxtyped`, for functions and dataclasses."""
    if function is None:
        return functools.partial(checked_by_kind, typechecker=typechecker)
    if isinstance(function, type):
        if "__dataclass_fields__" in vars(function) and "__init__" in vars(function):
            made = function.__init__
            if not hasattr(made, "__wrapped__"):  # or it is written out, and checked already
                function.__init__ = checked_by_kind(made, typechecker=typechecker)
        return function
    if (function.__module__, function.__name__) in _CHECKED_LATER:
        return function
    calls = _known.get(function.__code__)
    if calls is None or calls.annotations != function.__annotations__:
        calls = _known[function.__code__] = _Calls(function.__annotations__)
    checks: list[Callable] = []  # the function with its checks, once there is a call to check

    @functools.wraps(function)
    def call(*args, **kwargs):
        __tracebackhide__ = True
        given = calls.kind(args), tuple(kwargs), calls.kind(tuple(kwargs.values()))
        returned = calls.seen.get(given)
        if returned is None:
            if not checks:
                checks.append(_jaxtyped(function, typechecker=typechecker))
            out = checks[0](*args, **kwargs)
            calls.seen.setdefault(given, set()).add(calls.kind(out))
            return out
        out = function(*args, **kwargs)
        kind_out = calls.kind(out)
        if kind_out not in returned:
            _jaxtyped(_returning(out, function), typechecker=typechecker)(*args, **kwargs)
            returned.add(kind_out)
        return out

    return call


class _Calls:
    """What a function, or all that one line of code makes, was called with and returned."""

    def __init__(self, annotations: dict[str, Any]) -> None:
        self.annotations = annotations
        self.seen: dict[Hashable, set[Hashable]] = {}
        words_matter = "Literal" in str(annotations)
        self.kind = functools.partial(_kind, words_matter=words_matter)


def _kind(value: Any, words_matter: bool, depth: int = 0) -> Hashable:
    """All of a value that a check of annotations can depend on."""
    cls = type(value)
    if _is_array(cls):
        return cls, value.shape, value.dtype
    if cls in (tuple, dict, list, set, frozenset):
        if depth == _DEEPEST:
            return cls
        if cls is tuple:
            return cls, *[_kind(item, words_matter, depth + 1) for item in value]
        items = [*value.items()] if cls is dict else [*value]
        return cls, _kind_of_items(items, words_matter, depth + 1)
    if isinstance(value, type) or (words_matter and cls in (str, int, bool)):
        return cls, value
    return cls


def _kind_of_items(items: list, words_matter: bool, depth: int) -> Hashable:
    if len(items) <= _ONE_BY_ONE:
        return frozenset([_kind(item, words_matter, depth) for item in items])
    return frozenset(map(type, items))


@functools.cache
def _is_array(cls: type) -> bool:
    return issubclass(cls, (np.ndarray, jax.Array, jax.core.Tracer))


def _returning(value: Any, function: Callable) -> Callable:
    """A function with the same signature that has already run."""

    def same(*args, **kwargs):
        return value

    same = types.FunctionType(
        same.__code__, function.__globals__, function.__name__, None, same.__closure__
    )
    return functools.wraps(function)(same)
