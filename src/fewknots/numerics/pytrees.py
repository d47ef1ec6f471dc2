"""Dataclasses as JAX pytrees, told apart by their class.

`jax.tree_util.register_dataclass` would be the plain way, but in JAX 0.10 the structures of two
different classes registered by it are equal if their fields are. A compiled function looks its
programs up by structure; with kernels that differ in their class alone it then found, once in a
while, the program of another kernel (hash tables compare only what falls into one slot).
"""

from typing import Any, TypeVar

import jax

_T = TypeVar("_T")


def register(cls: type[_T], leaves: tuple[str, ...], structure: tuple[str, ...] = ()) -> type[_T]:
    """Make `cls` a pytree whose leaves are the fields named first; the others are structure."""

    def flatten_with_keys(tree: Any):
        keys = [(jax.tree_util.GetAttrKey(name), getattr(tree, name)) for name in leaves]
        return keys, tuple(getattr(tree, name) for name in structure)

    def flatten(tree: Any):
        values = tuple(getattr(tree, name) for name in leaves)
        return values, tuple(getattr(tree, name) for name in structure)

    def unflatten(kept, values):
        tree = object.__new__(cls)  # not by its constructor: leaves may be anything here
        for name, value in zip((*leaves, *structure), (*values, *kept), strict=True):
            object.__setattr__(tree, name, value)  # also where it is frozen
        return tree

    jax.tree_util.register_pytree_with_keys(cls, flatten_with_keys, unflatten, flatten)
    return cls
