"""The kinds of fields of kernels and likelihoods: dataclasses whose fields are one of three kinds.

    lengthscale: Any = positive(None, one_per_input="ard", start=...)   learned, positive
    degree: int = setting(2)                                            set by the user, not learned
    columns: Any = column_choice()                                      the inputs that it uses

A field with a plain default, `variance: Any = 1.0`, means `positive(1.0)`. A field may also hold
another kernel, as in a sum. Learned parameters are the leaves of the pytree; the other fields are
its static structure: other values need another compiled program.

`register` makes the pytree. `jax.tree_util.register_dataclass` would be simpler, but in JAX 0.10
to 0.12 the structures of two different classes registered by it are equal if their fields are
equal. A compiled function finds its program by this structure. With two kernels that differ only in
their class it sometimes used the program of the other kernel (only sometimes, because a hash table
compares only keys with equal hashes).
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import jax
import numpy as np
from jaxtyping import Float

_ROLE = "fewknots"  # the key in a field's metadata
Start = Callable[[Float[np.ndarray, " D"], bool], Any]
_T = TypeVar("_T")


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

    Examples
    --------
    >>> from fewknots.kernels import Kernel, positive
    >>> class Level(Kernel):
    ...     variance: float = positive(1.0)
    >>> Level(2.0).variance
    2.0
    """
    role = Positive(default, one_per_input, start, unit)
    return dataclasses.field(default=default, metadata={_ROLE: role})


def setting(default: bool | int | float | str) -> Any:
    """Declare a value that is not learned; it must be of the type of its default.

    Examples
    --------
    >>> from fewknots.kernels import Kernel, setting
    >>> class Steps(Kernel):
    ...     count: int = setting(3)
    >>> Steps(count=5).count
    5
    """
    return dataclasses.field(default=default, metadata={_ROLE: Setting(type(default))})


def column_choice() -> Any:
    """Declare the field `columns`: names or numbers of inputs, or None for all of them.

    Examples
    --------
    >>> from fewknots.kernels import RBF
    >>> RBF(columns=["age", "income"]).columns
    ['age', 'income']
    """
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


def register(cls: type[_T], leaves: tuple[str, ...], structure: tuple[str, ...] = ()) -> type[_T]:
    """Make `cls` a pytree: fields `leaves` are its leaves, fields `structure` its static part."""

    def flatten_with_keys(tree: Any):
        keys = [(jax.tree_util.GetAttrKey(name), getattr(tree, name)) for name in leaves]
        return keys, tuple(getattr(tree, name) for name in structure)

    def flatten(tree: Any):
        values = tuple(getattr(tree, name) for name in leaves)
        return values, tuple(getattr(tree, name) for name in structure)

    def unflatten(kept, values):
        tree = object.__new__(cls)  # without the constructor: JAX may pass any object as a leaf
        for name, value in zip((*leaves, *structure), (*values, *kept), strict=True):
            object.__setattr__(tree, name, value)  # works for frozen dataclasses too
        return tree

    jax.tree_util.register_pytree_with_keys(cls, flatten_with_keys, unflatten, flatten)
    return cls


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


def numbered_columns(label: str, columns: Any, names: Sequence[str]) -> tuple[int, ...]:
    """The choice as column numbers; `names` are the names of all columns."""
    known = {name: place for place, name in enumerate(names)}
    unknown = [c for c in _listed(label, columns) if isinstance(c, str) and c not in known]
    if unknown:
        shown = ", ".join(map(str, names[:10])) + (", ..." if len(names) > 10 else "")
        raise ValueError(
            f"{label} names the unknown column {unknown[0]!r}; the columns of X are {shown}."
        )
    return tuple(known[c] if isinstance(c, str) else c for c in _listed(label, columns))


def checked_columns(label: str, columns: Any, n_inputs: int) -> tuple[int, ...]:
    """The choice as column numbers, each of which is checked to exist."""
    for column in (plain := _listed(label, columns)):
        if isinstance(column, str):
            raise ValueError(
                f"{label} names the column {column!r}, but X has no column names. Pass a table "
                "with named columns, or choose columns by number."
            )
        if not 0 <= column < n_inputs:
            raise ValueError(
                f"{label} chooses column {column}, but X has columns 0 to {n_inputs - 1}."
            )
    return tuple(int(column) for column in plain)


def _listed(label: str, columns: Any) -> tuple[int | str, ...]:
    """The choice as a tuple of different names or numbers."""
    if isinstance(columns, str | bytes) or np.ndim(columns) != 1 or len(columns) == 0:
        raise ValueError(
            f"{label} must be a list of column names or numbers, as in ['age', 'income'] or "
            f"[0, 2], or None for all columns; got {columns!r}."
        )
    plain = tuple(c.item() if isinstance(c, np.generic) else c for c in columns)
    for column in plain:
        if isinstance(column, bool) or not isinstance(column, int | str):
            raise ValueError(f"{label} must hold column names or numbers, got {column!r}.")
    if len(set(plain)) < len(plain):
        raise ValueError(f"{label} names a column twice: {list(plain)!r}.")
    return plain
