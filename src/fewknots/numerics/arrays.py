"""Support for functions that take both NumPy and JAX arrays."""

from typing import TYPE_CHECKING, Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

if TYPE_CHECKING:
    AnyArray: TypeAlias = Any  # NumPy and JAX arrays have no common type
else:
    AnyArray = jax.Array | np.ndarray


def array_module(*arrays: Any) -> Any:
    """The module for this array: NumPy for a NumPy array, else jax.numpy.

    A few numbers are computed once, before a fit. JAX would compile a program for each operation:
    ten milliseconds for an addition.
    """
    return jnp if any(isinstance(array, jax.Array) for array in arrays) else np
