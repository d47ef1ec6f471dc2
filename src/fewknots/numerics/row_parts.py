"""Processing rows in parts, so that intermediate results stay in a processor's cache."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array


def in_row_parts(function: Callable[..., Any], n_rows: int, size: int, *arrays: Any) -> Any:
    """Apply `function` to trees of arrays whose last axis is rows, `size` rows at a time.

    `function` returns such a tree. The last part is padded with zeros.
    """
    if n_rows <= size:
        return function(*arrays)
    n_parts = -(-n_rows // size)

    def in_parts(column: Array) -> Array:
        missing = n_parts * size - n_rows
        column = jnp.pad(column, [(0, 0)] * (column.ndim - 1) + [(0, missing)])
        return jnp.moveaxis(column.reshape(*column.shape[:-1], n_parts, size), -2, 0)

    def joined(parts: Array) -> Array:
        parts = jnp.moveaxis(parts, 0, -2)
        return parts.reshape(*parts.shape[:-2], n_parts * size)[..., :n_rows]

    found = lax.map(lambda part: function(*part), jax.tree.map(in_parts, arrays))
    return jax.tree.map(joined, found)
