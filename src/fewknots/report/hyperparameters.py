"""The kernel's parameters in the units of the user's columns.

The kernel sees inputs z = (x - mean) / scale. A distance in z is `scale` times as long in x, so a
lengthscale ℓ is ℓ · scale there; a linear part's variance is that of a slope, v / scale².
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from jaxtyping import Float

from ..kernels import Kernel, Linear, Product, Sum


def per_input(kernel: Kernel, scale: Float[np.ndarray, " D"]) -> dict[str, Float[np.ndarray, " D"]]:
    """A column for each parameter that belongs to inputs, by a name such as "RBF lengthscale"."""
    found: dict[str, Float[np.ndarray, " D"]] = {}
    for name, part in _parts(kernel):
        if isinstance(part, Linear):
            found[f"{name} variance per unit²"] = np.asarray(part.variance, float) / scale**2
        elif (lengthscale := part.input_scale()) is not None:
            found[f"{name} lengthscale"] = np.asarray(lengthscale, float) * scale
    return found


def of_the_whole(kernel: Kernel) -> dict[str, float]:
    """The variances that belong to no single input: those of the latent function itself."""
    return {
        f"{name} variance": float(part.variance)
        for name, part in _parts(kernel)
        if not isinstance(part, Linear)
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
    return type(kernel).__name__


def _parts(kernel: Kernel) -> list[tuple[str, Any]]:
    """The parts without inner kernels; where two are of one kind they are numbered."""
    leaves = list(_leaves(kernel))
    kinds = [type(leaf).__name__ for leaf in leaves]
    named = []
    for place, (kind, leaf) in enumerate(zip(kinds, leaves, strict=True)):
        number = f" {kinds[: place + 1].count(kind)}" if kinds.count(kind) > 1 else ""
        named.append((kind + number, leaf))
    return named


def _leaves(kernel: Kernel) -> Iterator[Kernel]:
    if isinstance(kernel, Sum | Product):
        yield from _leaves(kernel.k1)
        yield from _leaves(kernel.k2)
    else:
        yield kernel
