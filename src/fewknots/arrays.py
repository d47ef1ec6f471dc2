"""Annotations for functions that take arrays from NumPy and from JAX alike."""

import jax
import numpy as np

AnyArray = jax.Array | np.ndarray
