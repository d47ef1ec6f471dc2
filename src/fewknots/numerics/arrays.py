"""Annotations for functions that take arrays from NumPy and from JAX alike."""

from typing import TYPE_CHECKING, Any, TypeAlias

import jax
import numpy as np

if TYPE_CHECKING:
    AnyArray: TypeAlias = Any  # what both can do is not written down anywhere
else:
    AnyArray = jax.Array | np.ndarray
