r"""The kernel of "auto": a smooth part, a linear part and a constant, each with a prior.

    k(a, b) = Matern32(r) + Σ_d v a_d b_d + c,   r² = Σ_d (a_d - b_d)² / ℓ_d²

With few rows and many parameters the evidence has its maximum where the parameters fit noise. So
each parameter has a prior (training adds it to the objective), in units of the inputs' standard
deviations:

| parameter             | start | median | spread of the logarithm |
|-----------------------|-------|--------|-------------------------|
| ℓ_d, one per input    | √D    | √D     | 0.5                     |
| variance of Matern32  | 1     | 0.1    | 2                       |
| v, one for all inputs | 1/D   | 0.1/D  | 2                       |
| c                     | 1     | 1      | 2                       |

Distances between rows grow with √D. The narrow prior of ℓ_d says that all inputs matter equally
unless the rows show otherwise. With a spread of 1 many lengthscales fit noise: on generated tables
of 50 to 300 rows the NLP was worse nearly everywhere (benchmarks/small_tables.py). The wide priors
of the variances favour small values: if labels are noise, probabilities stay close to the base
rate.

The local method has many rows, so the smoothness of the function can be learned, too. Its smooth
part is `Hyperbolic`, whose corner has a prior with median 1 and spread 2; the prior of its variance
is that of Matern32.

The linear part alone is Bayesian logistic (probit) regression. If labels depend on the inputs only
linearly, the fit ends close to that model.
"""

from typing import Any

import numpy as np
from jaxtyping import Float

from .base import Kernel
from .combine import Sum
from .constraints import LogNormal
from .linear import Constant, Linear
from .stationary import Hyperbolic, Matern32

_SPREAD_OF_LENGTHSCALES = 0.5
_VARIANCE = 0.1  # prior median of both variances; the fit starts at 1
_SPREAD = 2.0
_LEAST_SLOPE = 1e-30  # finite in float32, too


def automatic_kernel(
    spread: Float[np.ndarray, " D"], ard: bool = True, any_smoothness: bool = False
) -> Sum:
    """The kernel and its priors, for inputs with these standard deviations."""
    size, largest = len(spread), np.max(spread)
    typical = largest * np.sqrt(np.mean((spread / largest) ** 2))  # squares could overflow
    lengthscales = np.sqrt(size) * (spread if ard else typical)
    own: dict[str, Any] = {
        "lengthscale": LogNormal(lengthscales, _SPREAD_OF_LENGTHSCALES),
        "variance": LogNormal(_VARIANCE, _SPREAD, start=1.0),
        "ard": ard,
        "columns": None,
    }
    corner = LogNormal(1.0, _SPREAD)
    smooth = Hyperbolic(**own, corner=corner) if any_smoothness else Matern32(**own)
    slope = max(1.0 / size / typical / typical, _LEAST_SLOPE)
    slopes = LogNormal(_VARIANCE * slope, _SPREAD, start=slope)
    straight = Linear(variance=slopes, ard=False, columns=None)
    return Sum(Sum(smooth, straight), Constant(variance=LogNormal(1.0, _SPREAD)))


def lengthscales_of(kernel: Any) -> Any:
    """Lengthscales of the smooth part of the kernel above (prepared or learned)."""
    return kernel.k1.k1.lengthscale


def with_lengthscales(kernel: Any, lengthscales: Any) -> Kernel:
    """A copy with these lengthscales."""
    smooth = type(kernel.k1.k1)(**kernel.k1.k1.get_params() | {"lengthscale": lengthscales})
    return Sum(Sum(smooth, kernel.k1.k2), kernel.k2)
