"""The kinds of fields of kernels and likelihoods: dataclasses whose fields are one of three kinds.

    lengthscale: Any = positive(None, one_per_input="ard", start=...)   learned, positive
    degree: int = setting(2)                                            set by the user, not learned
    columns: Any = column_choice()                                      the inputs that it uses

A field with a plain default, `variance: Any = 1.0`, means `positive(1.0)`. A field may also hold
another kernel, as in a sum. Learned parameters are the leaves of the pytree; the other fields are
its static structure: other values need another compiled program.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

_ROLE = "fewknots"  # the key in a field's metadata
Start = Callable[[Float[np.ndarray, " D"], bool], Any]


class Positive(NamedTuple):
    """A learned parameter."""

    default: Any = None
    one_per_input: str | None = None  # name of the setting that decides; None: a single number
    start: Start | None = None
    unit: int = 0


class Setting(NamedTuple):
    """A bool, an integer ≥ 1, a positive number or a text, of the type of its default."""

    kind: type


class ColumnChoice(NamedTuple):
    """Which of the inputs a kernel uses."""


Role = Positive | Setting | ColumnChoice


def positive(
    default: Any = None,
    *,
    one_per_input: str | None = None,
    start: Start | None = None,
    unit: int = 0,
) -> Any:
    """Declare a parameter that is learned, and positive.

    one_per_input : name of a setting; if that is True, there is one number for each input.
    start : function that gives the start of training if the value is None, instead of the default:
        `start(spread, each)`, with the standard deviations of the inputs, returns an array if
        `each` (one number for each input), else a single number.
    unit : the power of the input's unit in which it is measured, for reports: 1 for a length, -2
        for a variance per squared unit.
    """
    role = Positive(default, one_per_input, start, unit)
    return dataclasses.field(default=default, metadata={_ROLE: role})


def setting(default: bool | int | float | str) -> Any:
    """Declare a value that is not learned; it must be of the type of its default."""
    return dataclasses.field(default=default, metadata={_ROLE: Setting(type(default))})


def column_choice() -> Any:
    """Declare the field `columns`: names or numbers of inputs, or None for all of them."""
    return dataclasses.field(default=None, kw_only=True, metadata={_ROLE: ColumnChoice()})


def roles_of(cls: type) -> dict[str, Role]:
    """The kind of each field, in order."""
    return {field.name: _role(cls, field) for field in dataclasses.fields(cls)}


def _role(cls: type, field: Any) -> Role:
    label = f"{cls.__name__}.{field.name}"
    role = field.metadata.get(_ROLE)
    if role is None:
        if isinstance(field.default, bool | int | str):
            raise TypeError(
                f"{label} = {field.default!r} is not declared. Write setting({field.default!r}) if "
                "it is chosen by the user, positive(1.0) if it is learned "
                "(both from fewknots.kernels or fewknots.likelihoods)."
            )
        return Positive(None if field.default is dataclasses.MISSING else field.default)
    if isinstance(role, ColumnChoice) and field.name != "columns":
        raise TypeError(f"{label} chooses columns, so it must be called `columns`.")
    return role


# --- checks of values -----------------------------------------------------------------------------


def checked_setting(label: str, kind: type, value: Any) -> Any:
    """Check a setting's type; integers must be at least 1, other numbers positive and finite."""
    plain = value.item() if isinstance(value, np.generic) else value
    if kind is bool:
        if not isinstance(plain, bool):
            raise ValueError(f"{label} must be True or False, got {value!r}.")
    elif kind is int:
        if not isinstance(plain, int) or isinstance(plain, bool) or plain < 1:
            raise ValueError(f"{label} must be a whole number of at least 1, got {plain!r}.")
    elif kind is float:
        is_number = isinstance(plain, int | float) and not isinstance(plain, bool)
        if not (is_number and 0 < plain < np.inf):
            raise ValueError(f"{label} must be a positive and finite number, got {plain!r}.")
    elif not isinstance(plain, kind):
        raise ValueError(f"{label} must be a {kind.__name__}, got {plain!r}.")
    return kind(plain)


def checked_parameter(
    label: str, value: Any, default: Any, size: int | None
) -> Float[np.ndarray, "..."]:
    """A parameter as an array of `size` values; of a single value if `size` is None."""
    plain = value.item() if isinstance(value, np.generic) else value
    try:
        array = np.asarray(default if value is None else value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{label} must be a number or an array, got {plain!r}.") from None
    if not np.all(np.isfinite(array)) or np.any(array <= 0):
        raise ValueError(f"{label} must be positive and finite, got {plain!r}.")
    if array.ndim > 1 or (array.ndim == 1 and array.size not in (1, size)):
        wanted = "one value" if size is None else f"one value or {size}, one per input"
        raise ValueError(f"{label} must have {wanted}, got an array of shape {array.shape}.")
    if size is None:
        return array.reshape(())
    return np.broadcast_to(array, (size,)).copy()
