"""The history of a fit, as a picture wants it."""

import numpy as np
from jaxtyping import Float

_EARLY = 0.1  # the share of moments whose bound may leave the picture
_MARGIN = 0.05


def clock(history: dict[str, np.ndarray]) -> tuple[Float[np.ndarray, " T"], str]:
    """What to draw a history against, and its name: seconds, or iterations if it has none."""
    for name, unit in (("seconds", "seconds"), ("iteration", "iterations")):
        if name in history:
            return np.asarray(history[name], np.float64), unit
    return np.arange(1.0, len(history["bound"]) + 1.0), "moments"


def settled_range(values: Float[np.ndarray, " T"]) -> tuple[float, float]:
    """The range of a curve without its first moments, which are often far off."""
    later = values[int(_EARLY * len(values)) :]
    low, high = float(np.min(later)), float(np.max(later))
    margin = _MARGIN * (high - low) or max(1e-3 * abs(high), 1e-6)
    return low - margin, high + margin
