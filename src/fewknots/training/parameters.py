"""The coordinates that optimisers move, and the way back to a kernel and inducing points.

Kernel parameters are moved as logarithms, Z in units of the kernel's lengthscales: there every
coordinate of Z bends the bound alike, relevant input or not, and L-BFGS needs about half the
iterations. What must not move is kept, in its own units, in `frozen`.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..arrays import AnyArray
from ..kernels import Kernel

Named = dict[str, Any]

# Each parameter of the kernel stays within this factor of its start: an irrelevant input's
# lengthscale would otherwise drift to infinity, along a direction in which nothing changes.
_LOG_RANGE = float(np.log(1e5))


def encode(
    kernel: Kernel, Z: Float[np.ndarray, "M D"], learn_kernel: bool, learn_inducing: bool
) -> tuple[Named, Named]:
    """(free, frozen): what the optimiser moves and what it must leave alone."""
    free: Named = {}
    frozen: Named = {}
    if learn_kernel:
        free["kernel"] = jax.tree.map(np.log, kernel)
    else:
        frozen["kernel"] = kernel
    if learn_inducing:
        free["Z"] = Z / _unit(kernel)
    else:
        frozen["Z"] = Z
    return free, frozen


def decode(free: Named, frozen: Named) -> tuple[Kernel, Float[AnyArray, "M D"]]:
    """The kernel and Z that `free` and `frozen` stand for."""
    kernel = frozen["kernel"] if "kernel" in frozen else jax.tree.map(jnp.exp, free["kernel"])
    Z = frozen["Z"] if "Z" in frozen else free["Z"] * _unit(kernel)
    return kernel, Z


def limits(free: Named) -> tuple[Named, Named]:
    """How far each free parameter may go: the kernel's logarithms a set range, others anywhere."""

    def reach(name: str, parameter):
        return jax.tree.map(
            lambda p: np.full_like(p, _LOG_RANGE if name == "kernel" else np.inf), parameter
        )

    reaches = {name: reach(name, parameter) for name, parameter in free.items()}
    lowest = jax.tree.map(np.subtract, free, reaches)
    highest = jax.tree.map(np.add, free, reaches)
    return lowest, highest


def _unit(kernel: Kernel) -> Float[AnyArray, "..."] | float:
    scale = kernel.input_scale()
    return 1.0 if scale is None else scale
