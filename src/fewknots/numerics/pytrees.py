"""Dataclasses as JAX pytrees whose structure depends on their class.

`jax.tree_util.register_dataclass` would be simpler, but in JAX 0.10 the structures of two different
classes registered by it are equal if their fields are equal. A compiled function finds its program
by this structure. With two kernels that differ only in their class it sometimes used the program of
the other kernel (only sometimes, because a hash table compares only keys with equal hashes).
"""

from typing import Any, TypeVar

import jax

_T = TypeVar("_T")


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
