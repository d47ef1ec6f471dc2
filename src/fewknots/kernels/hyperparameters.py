"""Kernel parameters in the units of the user's columns.

The inputs of the kernel are z = (x - mean) / scale. A distance in x is `scale` times the distance
in z, so a lengthscale ℓ becomes ℓ · scale, and the variance of a linear kernel (of a slope) v /
scale². For a warped input (kernels/warp.py) this holds near its median.
"""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from ..numerics.fields import Positive
from .base import Kernel, over_inputs
from .combine import Product, Sum
from .per_class import PerClass
from .warp import Warp

_PER_UNIT = {1: "", 0: "", -1: " per unit", -2: " per unit²"}  # by the unit's power


def per_input(kernel: Kernel, scale: Float[np.ndarray, " D"]) -> dict[str, Float[np.ndarray, " D"]]:
    """The parameters that have one value per input, by a name such as "RBF lengthscale".

    NaN where a part of the kernel does not use an input.
    """
    found: dict[str, Float[np.ndarray, " D"]] = {}
    for name, part, role in _parameters(kernel):
        if role.one_per_input is not None:
            value = np.asarray(getattr(part, name), float)
            of_inputs = over_inputs(part, value, len(scale), np.nan)
            found[f"{_named(kernel, part)} {name}{_PER_UNIT[role.unit]}"] = (
                of_inputs * scale**role.unit
            )
    return found


def global_parameters(kernel: Kernel) -> dict[str, float]:
    """The parameters that do not belong to an input, such as the variance of f."""
    return {
        f"{_named(kernel, part)} {name}": float(getattr(part, name))
        for name, part, role in _parameters(kernel)
        if role.one_per_input is None
    }


def formula(kernel: Kernel) -> str:
    """The kernel's structure: "Matern32 + Linear"."""
    if isinstance(kernel, Sum):
        return f"{formula(kernel.k1)} + {formula(kernel.k2)}"
    if isinstance(kernel, Product):
        factors = [
            f"({formula(k)})" if isinstance(k, Sum) else formula(k) for k in (kernel.k1, kernel.k2)
        ]
        return " × ".join(factors)
    if isinstance(kernel, PerClass):
        return f"{formula(kernel.k1)}, {formula(kernel.k2)}"  # one for each class
    if isinstance(kernel, Warp):
        return f"{formula(kernel.kernel)} of warped inputs"
    return type(kernel).__name__


def _parameters(kernel: Kernel) -> Iterator[tuple[str, Kernel, Positive]]:
    """Every learned parameter: its name, the part of the kernel that has it, its declaration."""
    for part in kernel.parts():
        for name, role in part.roles.items():
            if isinstance(role, Positive):
                yield name, part, role


def _named(kernel: Kernel, part: Kernel) -> str:
    """The class name of the part, with a number if several parts are of this class."""
    alike = [other for other in kernel.parts() if type(other) is type(part)]
    number = next(i for i, other in enumerate(alike, 1) if other is part)
    return type(part).__name__ + (f" {number}" if len(alike) > 1 else "")
