r"""A monotone map that shortens long tails: a power of |t| on either side of zero.

    w(t) = ± ((1 + c|t|)^power - 1) / (c · power),   power = 1 + log slope,                    (1)

with the sign of t and c = 3; for power 0 its limit, ± log(1 + c|t|)/c. The derivative is

    w'(t) = (1 + c|t|)^(log slope):                                                            (2)

It is 1 at zero for any slopes, so that the two sides meet smoothly and lengthscales have the same
meaning near zero; and it is `slope` where 1 + c|t| = e. (Yeo & Johnson 2000 have one parameter: the
two powers add up to 2, which corrects skewness. One power for each side corrects heavy tails, too.)
The inverse is

    t = ± ((1 + c · power · |w|)^(1/power) - 1) / c.                                           (3)

For a negative power w stays below 1/(c|power|). Values beyond have no t; (3) then returns FARTHEST.

Slopes are numbers, or arrays with one for each column. Arrays may be JAX's or NumPy's; NumPy's keep
their dtype whatever JAX's settings are.
"""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..numerics.arrays import AnyArray
from ..numerics.elementary import exp, horner, log1p

BEND = 3.0  # c: the map begins to bend at a third of a standard deviation
FARTHEST = 1e30  # the largest |t| of an input, in standard deviations
_FARTHEST_LOG = math.log1p(BEND * FARTHEST)
# Below these |z|, (eᶻ - 1)/z and log(1 + z)/z are computed as series.
_SMALL_EXPONENT, _SMALL_STEP = 0.5, 1e-4
_SERIES = tuple(1.0 / math.factorial(k + 1) for k in range(14))
_LOG_SERIES = (1.0, -1.0 / 2.0, 1.0 / 3.0, -1.0 / 4.0)


def warped(t: Float[AnyArray, "N d"], below: Any, above: Any) -> Float[AnyArray, "N d"]:
    """Eq. (1). Autodiff gets the derivative 1 at zero, too, although it takes that of |t| as 0
    there.
    """
    if _in_numpy(t, below, above):
        size, power = np.abs(t), 1.0 + np.log(np.where(t < 0, below, above))
        log = np.log1p(BEND * size)
        z = power * log
        grown = log * np.where(z == 0.0, 1.0, np.expm1(z) / np.where(z == 0.0, 1.0, z))
        return np.copysign(grown / BEND, t).astype(t.dtype)
    is_below, powers = t < 0, _powers(t < 0, below, above, t.dtype)
    logs = log1p(BEND * jnp.where(is_below, -t, t))
    length = logs * _growth(powers * logs) / BEND
    return jnp.where(is_below, -length, length)


def unwarped(w: Float[AnyArray, "N d"], below: Any, above: Any) -> Float[AnyArray, "N d"]:
    """Eq. (3), at most FARTHEST."""
    if _in_numpy(w, below, above):
        size, power = BEND * np.abs(w), 1.0 + np.log(np.where(w < 0, below, above))
        z = np.maximum(power * size, -1.0)
        with np.errstate(divide="ignore"):
            log = size * np.where(z == 0.0, 1.0, np.log1p(z) / np.where(z == 0.0, 1.0, z))
        return np.copysign(np.expm1(np.minimum(log, _FARTHEST_LOG)) / BEND, w).astype(w.dtype)
    is_below, powers = w < 0, _powers(w < 0, below, above, w.dtype)
    length = BEND * jnp.where(is_below, -w, w)
    inside = powers * length > -1.0
    logs = length * _shrinkage(jnp.where(inside, powers * length, 0.0))
    logs = jnp.where(inside & (logs < _FARTHEST_LOG), logs, _FARTHEST_LOG)
    found = (exp(logs) - 1.0) / BEND
    return jnp.where(is_below, -found, found)


def derivative(t: Float[np.ndarray, "N d"], below: Any, above: Any) -> Float[np.ndarray, "N d"]:
    """Eq. (2)."""
    log = np.log1p(BEND * np.abs(t))
    return np.exp(np.log(np.where(t < 0, below, above)) * log).astype(t.dtype)


def _powers(is_below: Any, below: Any, above: Any, dtype: np.dtype) -> Float[Array, "N d"]:
    return 1.0 + jnp.log(jnp.where(is_below, below, above).astype(dtype))


def _growth(z: Float[Array, "..."]) -> Float[Array, "..."]:
    """(eᶻ - 1)/z, and 1 at z = 0, with all its derivatives."""
    is_small = jnp.abs(z) < _SMALL_EXPONENT
    near, far = jnp.where(is_small, z, 0.0), jnp.where(is_small, 1.0, z)
    return jnp.where(is_small, horner(_SERIES, near), (exp(far) - 1.0) / far)


def _shrinkage(z: Float[Array, "..."]) -> Float[Array, "..."]:
    """log(1 + z)/z, and 1 at z = 0, with its first derivative."""
    is_small = jnp.abs(z) < _SMALL_STEP
    near, far = jnp.where(is_small, z, 0.0), jnp.where(is_small, 1.0, z)
    return jnp.where(is_small, horner(_LOG_SERIES, near), log1p(far) / far)


def _in_numpy(*values: Any) -> bool:
    return not any(isinstance(value, jax.Array) for value in values)
