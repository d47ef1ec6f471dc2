"""Which floating-point type a computation runs in, without touching JAX's global settings.

JAX computes in float32 unless its global flag `jax_enable_x64` is set, and a library that sets
that flag at import changes every other JAX program in the process. So each public entry point
of fewknots opens `computing_in(dtype)`, which changes the setting for its own thread and block.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import jax
import numpy as np

DTypeName = str | type | np.dtype | None


def resolve_dtype(dtype: DTypeName) -> np.dtype:
    """The dtype to compute in: float64 on a CPU and float32 on a GPU unless the user chose."""
    if dtype is None:
        return np.dtype(np.float64 if jax.default_backend() == "cpu" else np.float32)
    try:
        resolved = np.dtype(dtype)
    except TypeError:
        resolved = None
    if resolved not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ValueError(f"dtype must be 'float32', 'float64' or None, got {dtype!r}.")
    return resolved


@contextmanager
def computing_in(dtype: np.dtype) -> Iterator[None]:
    """Within the block JAX has 64-bit types exactly when `dtype` is float64, and full products.

    "Full" because on a GPU JAX may otherwise round the factors of a float32 product to 10 bits,
    which no Cholesky factor of a kernel matrix survives.
    """
    with jax.enable_x64(dtype == np.float64), jax.default_matmul_precision("highest"):
        yield
