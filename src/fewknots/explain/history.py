"""The history of a fit, prepared for plots."""

import numpy as np
from jaxtyping import Float

_EARLY = 0.1  # share of the first values that may lie outside the plot
_MARGIN = 0.05


def clock(history: dict[str, np.ndarray]) -> tuple[Float[np.ndarray, " T"], str]:
    """Values for the x axis and their name: seconds, or iterations if there are no seconds."""
    for name, unit in (("seconds", "seconds"), ("iteration", "iterations")):
        if name in history:
            return np.asarray(history[name], np.float64), unit
    return np.arange(1.0, len(history["bound"]) + 1.0), "moments"


def settled_range(values: Float[np.ndarray, " T"]) -> tuple[float, float]:
    """The range of a curve without its first values, which are often far from the others."""
    later = values[int(_EARLY * len(values)) :]
    low, high = float(np.min(later)), float(np.max(later))
    margin = _MARGIN * (high - low) or max(1e-3 * abs(high), 1e-6)
    return low - margin, high + margin
