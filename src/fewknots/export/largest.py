r"""The multinomial probit as ONNX operations: the probability that one of several Gaussians is the
largest.

    p_c = ∫ N_c(s) Π_{j≠c} Φ((s - m_j)/√w_j) ds,     w_j = 1 + v_j

by equal steps in s, as fine as in `numerics/largest.py`. Probabilities only need a fixed absolute
error e^{-E}. So the same range of s serves all classes: it starts where one class is certainly
above s, and ends where no class is above s. All rows have as many steps as the row that needs
most, at most 4096: enough for variances v from 0 to 1000.
"""

import math

import numpy as np

from ..numerics.normal import ERFCX_CENTRE, ERFCX_COEFFICIENTS
from .graph import Tensor, absolute, exp, horner, log, sqrt, square, where
from .softmax import most_of_any_row, numbers

_NATS = {np.dtype(np.float64): 26.5, np.dtype(np.float32): 14.0}  # E
_STEP = 0.9  # step, in units of the integrand's least standard deviation
_MOST = 4096  # steps
_LEAST = 1e-300  # of Φ


def probability_of_largest(
    mean: Tensor, variance: Tensor, n_classes: int, dtype: np.dtype
) -> Tensor:
    """The N×C probabilities, accurate to 1e-10, or to 1e-5 if the result is float32."""
    reach = math.sqrt(2.0 * (_NATS[dtype] + math.log(n_classes)))
    sd = sqrt(1.0 + variance)
    first = (mean - reach * sd).largest(axis=1)
    span = (mean + reach * sd).largest(axis=1) - first
    steps = most_of_any_row(span * sqrt((1.0 / square(sd)).sum(axis=1)) / _STEP, _MOST)
    s = first + span * (numbers(0.0, steps + 1.0) / steps)
    x = (s.unsqueezed(1) - mean.unsqueezed(2)) / sd.unsqueezed(2)
    log_below = log(normal_tails(x)[1].maximum(_LEAST))
    others = log_below.sum(axis=1) - log_below
    p = (exp(others - 0.5 * square(x)) / sd.unsqueezed(2)).sum(axis=2, keep=False)
    return p / p.sum(axis=1)


def normal_tails(z: Tensor) -> tuple[Tensor, Tensor]:
    """1 - Φ(z) and Φ(z), both accurate: onnxruntime's own Erf has only seven digits."""
    t = absolute(z) * math.sqrt(0.5)
    p = (t - ERFCX_CENTRE) / (t + ERFCX_CENTRE)
    total = horner(ERFCX_COEFFICIENTS, p)
    smaller = 0.5 * exp(-0.5 * square(z)) * total / (1.0 + 2.0 * t)
    positive = z > 0.0
    return where(positive, smaller, 1.0 - smaller), where(positive, 1.0 - smaller, smaller)
