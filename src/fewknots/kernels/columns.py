"""Kernels over chosen columns: names to numbers, and what such a kernel says about all inputs."""

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
    """The choice as a tuple of names or numbers, none of them twice."""
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
    """The choice as numbers of the columns that have these names."""
    known = {name: place for place, name in enumerate(names)}
    unknown = [c for c in listed(label, columns) if isinstance(c, str) and c not in known]
    if unknown:
        shown = ", ".join(map(str, names[:10])) + (", ..." if len(names) > 10 else "")
        raise ValueError(
            f"{label} names the unknown column {unknown[0]!r}; the columns of X are {shown}."
        )
    return tuple(known[c] if isinstance(c, str) else c for c in listed(label, columns))


def checked(label: str, columns: Any, n_inputs: int) -> tuple[int, ...]:
    """The choice as numbers of columns that are there."""
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
    """Values that belong to the columns a kernel looks at, as one for each of all inputs.

    elsewhere : the value of the inputs that it does not look at, one or one for each input.
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
    """The distance over which functions bend along each input; None if no part says so.

    Of several parts the first that looks at an input decides; `elsewhere` is the scale of inputs
    that no such part looks at. A single number means that all inputs are alike.
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
