"""Kernels over chosen columns: names to numbers, and values per column to values per input."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..numerics.arrays import AnyArray

if TYPE_CHECKING:
    from .base import Kernel


def listed(label: str, columns: Any) -> tuple[int | str, ...]:
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


def numbered(label: str, columns: Any, names: Sequence[str]) -> tuple[int, ...]:
    """The choice as column numbers; `names` are the names of all columns."""
    known = {name: place for place, name in enumerate(names)}
    unknown = [c for c in listed(label, columns) if isinstance(c, str) and c not in known]
    if unknown:
        shown = ", ".join(map(str, names[:10])) + (", ..." if len(names) > 10 else "")
        raise ValueError(
            f"{label} names the unknown column {unknown[0]!r}; the columns of X are {shown}."
        )
    return tuple(known[c] if isinstance(c, str) else c for c in listed(label, columns))


def checked(label: str, columns: Any, n_inputs: int) -> tuple[int, ...]:
    """The choice as column numbers, each of which is checked to exist."""
    for column in (plain := listed(label, columns)):
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


def over_inputs(
    kernel: "Kernel", values: Float[AnyArray, "..."], n_inputs: int, elsewhere: Any
) -> Float[AnyArray, " D"]:
    """Expand values for a kernel's chosen columns to one value for each input.

    elsewhere : value for the other inputs, a single number or one for each input.
    """
    xp = jnp if isinstance(values, jax.Array) else np
    if kernel.columns is None:
        return xp.broadcast_to(values, (n_inputs,))
    chosen = np.asarray(kernel.columns)
    place = np.zeros(n_inputs, int)
    place[chosen] = np.arange(len(chosen))
    own = xp.broadcast_to(values, (len(chosen),))[place]
    return xp.where(np.isin(np.arange(n_inputs), chosen), own, elsewhere)


def scale_of_inputs(
    kernel: "Kernel", n_inputs: int, elsewhere: float
) -> Float[AnyArray, "..."] | None:
    """`input_scale` of a sum or product, for each input; None if no part has one.

    If several parts use an input, the first one decides. `elsewhere` is the scale of inputs that no
    such part uses. A single number holds for all inputs.
    """
    found = None
    for part in reversed(kernel.parts()):
        scale = part.input_scale()
        if scale is None:
            continue
        if part.columns is None:
            found = scale
        else:
            found = over_inputs(part, scale, n_inputs, elsewhere if found is None else found)
    return found
