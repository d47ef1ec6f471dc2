"""For functions that take arrays from NumPy and from JAX alike."""

from typing import TYPE_CHECKING, Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

if TYPE_CHECKING:
    AnyArray: TypeAlias = Any  # there is no type for what NumPy and JAX arrays have in common
else:
    AnyArray = jax.Array | np.ndarray


def array_module(*arrays: Any) -> Any:
    """NumPy for its own arrays, else jax.numpy.

    What is computed once, before a fit, is a few numbers. JAX would compile a program for each
    operation: ten milliseconds for an addition.
    """
    return jnp if any(isinstance(array, jax.Array) for array in arrays) else np
