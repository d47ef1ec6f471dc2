r"""From marginals of the latent function to probabilities, as ONNX operations in float64.

This takes a few hundred operations per row, against M² for the posterior, so float32 models use it
too. It repeats `likelihoods/bernoulli.py`: see there for the formulas.
"""

import math

import numpy as np

from ..numerics.normal import ERFCX_CENTRE, ERFCX_COEFFICIENTS
from ..numerics.quadrature import (
    CHUNK,
    HERMITE_LARGEST_SIGMA,
    HERMITE_NODES,
    HERMITE_WEIGHTS,
    MOST_NODES,
    NODES_BY_WIDTH,
    REACH,
    STRETCH,
)
from .graph import Tensor, absolute, exp, log, sign, sqrt, square, where


def probabilities(link: str, mean: Tensor, variance: Tensor) -> tuple[Tensor, Tensor]:
    """P(-1) and P(+1) with f ~ N(mean, variance) integrated out, elementwise."""
    if link == "probit":
        return _normal_tails(mean / sqrt(1.0 + variance))
    return _expected_logistic(-mean, variance), _expected_logistic(mean, variance)


def _normal_tails(z: Tensor) -> tuple[Tensor, Tensor]:
    """1 - Φ(z) and Φ(z), each with all digits: onnxruntime's own Erf has only seven."""
    t = absolute(z) * math.sqrt(0.5)
    p = (t - ERFCX_CENTRE) / (t + ERFCX_CENTRE)
    total = p * ERFCX_COEFFICIENTS[-1] + ERFCX_COEFFICIENTS[-2]
    for coefficient in reversed(ERFCX_COEFFICIENTS[:-2]):
        total = total * p + coefficient
    smaller = 0.5 * exp(-0.5 * square(z)) * total / (1.0 + 2.0 * t)
    positive = z > 0.0
    return where(positive, smaller, 1.0 - smaller), where(positive, 1.0 - smaller, smaller)


def _expected_logistic(mean: Tensor, variance: Tensor) -> Tensor:
    """E[1/(1 + e⁻ᶠ)], f ~ N(mean, variance), by a tilted quadrature."""
    tilt = (-mean / variance.maximum(1e-30)).maximum(0.0).minimum(1.0)
    value = _expected_tilted(tilt, mean + tilt * variance, sqrt(variance))
    return exp(tilt * mean + 0.5 * square(tilt) * variance) * value


def _expected_tilted(tilt: Tensor, mean: Tensor, sigma: Tensor) -> Tensor:
    """E[e⁻ᵗᶠ s(f)] by the rule that `quadrature.expect` uses for the largest σ of the batch.

    The first axis runs over nodes. Both rules are evaluated, and one is used.
    """

    def average(f: Tensor, weight: Tensor) -> Tensor:
        log_logistic = f.minimum(0.0) - log(1.0 + exp(-absolute(f)))
        values = exp(log_logistic - tilt * f)
        return (weight * values).sum(axis=0, keep=False) / weight.sum(axis=0, keep=False)

    # Ignore rows with NaN: they must not decide for other rows.
    largest = where(sigma > 0.0, sigma, sigma.graph.number(0.0, sigma.dtype)).largest().maximum(0.0)
    hermite = average(mean + sigma * HERMITE_NODES[:, None, None], _column(HERMITE_WEIGHTS, mean))
    trapezoid = average(*_stretched_trapezoid(mean, sigma, largest))
    return where(largest <= HERMITE_LARGEST_SIGMA, hermite, trapezoid)


def _stretched_trapezoid(mean: Tensor, sigma: Tensor, largest: Tensor) -> tuple[Tensor, Tensor]:
    """Nodes and weights; their number depends on the largest σ."""
    floor = 4.0 * float(np.finfo(np.float64).eps) ** 0.5
    sigma = sigma.maximum((1.0 + absolute(mean)) * floor)
    width = _asinh(largest * (REACH / STRETCH))
    constant, linear, quadratic = NODES_BY_WIDTH
    wanted = (constant + linear * width + quadratic * square(width)) / CHUNK
    count = (wanted.graph.apply("Ceil", wanted) * CHUNK).minimum(MOST_NODES)
    first = _asinh((mean - REACH * sigma) / STRETCH)
    step = (_asinh((mean + REACH * sigma) / STRETCH) - first) / (count - 1.0)
    graph = mean.graph
    numbers = graph.apply(
        "Range", graph.number(0.0, mean.dtype), count, graph.number(1.0, mean.dtype)
    )
    numbers = graph.apply("Unsqueeze", numbers, graph.array([1, 2], np.int64))
    up = exp(first + numbers * step)
    down = 1.0 / up
    f = 0.5 * STRETCH * (up - down)
    return f, (up + down) * exp(-0.5 * square((f - mean) / sigma))


def _column(values: np.ndarray, like: Tensor) -> Tensor:
    return like.graph.array(values[:, None, None], like.dtype)


def _asinh(x: Tensor) -> Tensor:
    return sign(x) * log(absolute(x) + sqrt(square(x) + 1.0))
