"""Annotations for functions that take arrays from NumPy and from JAX alike."""

from typing import TYPE_CHECKING, Any, TypeAlias

import jax
import numpy as np

if TYPE_CHECKING:
    AnyArray: TypeAlias = Any  # there is no type for what NumPy and JAX arrays have in common
else:
    AnyArray = jax.Array | np.ndarray
