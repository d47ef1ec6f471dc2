r"""E[softmax_c] of independent f_c ~ N(m_c, v_c) as ONNX operations.

The integral is equation (2) of `numerics/gumbel.py`, over one number s:

    p_c = ∫ F_c' Π_{j≠c} F_j ds,     F_c the distribution function of f_c + Gumbel noise.

There F is computed in loops that end when a row is done. A graph should have a few large products,
so here F is a Fourier series. Gaussian and noise are independent, so at a frequency ω the density
F' has

    E[e^{iω(f + noise)}] = e^{iωm - vω²/2} Γ(1 - iω),

for any v, also 0. Over a period of 2W that begins at s₀ - W, with ω_k = πk/W,

    2W F'(s) = 1 + 2 Σ_k A_k cos(θ_k),              A_k = e^{-vω_k²/2} |Γ(1 - iω_k)|,
    F(s)     = (s - s₀ + W)/2W - Σ_k A_k (sin(θ_k) - sin(θ'_k))/(πk),

    θ_k = ω_k(m - s) + arg Γ(1 - iω_k),    θ'_k the same at the start of the period.

At s = s₀ + iW/S the sines and cosines of ω_k(s - s₀) = πki/S are the same for all rows, whatever
their W: F and F' are products of N×C×2K numbers A cos(θ), A sin(θ) at s₀ with two 2K×S matrices.

All lengths follow from one number, the error e^{-E}. It remains of

    a Gaussian beyond √(2E) σ                               (`reach`)
    the noise below -log E, where e^{-z} is e^{-E}          (`below`)
    f + noise above E + σ²/2, or above √(2E) σ for σ > √(2E) (`_tail`)
    the series beyond ω, vω²/2 + πω/2 = E                   (|Γ(1 - iω)| falls like e^{-πω/2})
    a sum over s at steps of π²/E, and more for large σ     (as in gumbel.py)

Left of s₀ = max_c(m_c - reach σ_c) - below one F_c is zero. A class with F = 1 already there has
probability zero, so its m_c may be raised until the end of its tail is at s₀. Then each F' lies
within s₀ ± W if W = reach σ + below + tail, with the largest σ of the row.

The numbers of frequencies and steps are those of the row that needs most: about 180 and 90, more
if the variances of one row are very different, at most 1024, which is enough for variances 0 and
100 in float64. For larger ones, small variances are increased (`_least_sd`), which changes p by at
most 1e-3.
"""

import math

import numpy as np
from scipy.special import loggamma

from .graph import Tensor, cos, exp, horner, joined, log, sin, sqrt, square, where

# E for two dtypes of the results, to which log C is added: the errors of C functions add up.
_NATS = {np.dtype(np.float64): 26.5, np.dtype(np.float32): 14.0}
_MOST = 1024  # frequencies, and steps
_STEP_PER_SD = 4.5  # step times E: π² for σ = 0
_LEAST = 1e-30  # F below is rounding
_PHASE_DEGREE = 30


def expected_softmax(mean: Tensor, variance: Tensor, n_classes: int, dtype: np.dtype) -> Tensor:
    """The N×C probabilities, accurate to 1e-10, or to 1e-5 if the result is float32."""
    E = _NATS[dtype] + math.log(n_classes)
    reach, below = math.sqrt(2.0 * E), math.log(E)
    sd = sqrt(variance)
    widest = sd.largest(axis=1)
    W = reach * widest + below + _tail(widest, E)
    sd = sd.maximum(_least_sd(W, E))
    variance, narrowest = square(sd), -(-sd).largest(axis=1)
    start = (mean - reach * sd).largest(axis=1) - below
    ahead = (mean - start).maximum(-_tail(sd, E))
    last = 2.0 * E / (0.5 * math.pi + sqrt(2.0 * E * square(narrowest) + 0.25 * math.pi**2))
    K = most_of_any_row(last * W / math.pi)
    S = most_of_any_row(W * E / (math.pi**2 + _STEP_PER_SD * narrowest))
    k, i = numbers(1.0, K), numbers(0.0, S)
    waves = _waves(ahead, variance, k * math.pi / W, E)
    density, distribution = _at_steps(waves, k.unsqueezed(1), i / S)
    log_below = log(distribution.maximum(_LEAST))
    others = log_below.sum(axis=1) - log_below
    p = (density.maximum(0.0) * exp(others)).sum(axis=2, keep=False)
    return p / p.sum(axis=1)


def _tail(sd: Tensor, E: float) -> Tensor:
    """The distance above its mean beyond which f + noise is negligible."""
    tilted = sd.minimum(math.sqrt(2.0 * E))
    return E + tilted * (sd - 0.5 * tilted)


def _least_sd(W: Tensor, E: float) -> Tensor:
    """The least σ for which `_MOST` frequencies and steps are enough; 0 except for the widest
    rows.
    """
    last = math.pi * _MOST / W
    squared = (2.0 * E - math.pi * last) / square(last)
    return sqrt(squared.maximum(0.0)).maximum((W * (E / _MOST) - math.pi**2) / _STEP_PER_SD)


def _waves(ahead: Tensor, variance: Tensor, frequency: Tensor, E: float) -> Tensor:
    """A cos(θ) and A sin(θ) at s₀, N×C×2K; the frequencies are N×K."""
    squared = math.pi * frequency
    # |Γ(1 - iω)|² = πω / sinh(πω)
    log_size = 0.5 * (log(2.0 * squared) - squared - log(1.0 - exp(-2.0 * squared)))
    phase = _phase(frequency, 2.0 * E / math.pi)
    frequency, log_size, phase = (t.unsqueezed(1) for t in (frequency, log_size, phase))
    size = exp(log_size - 0.5 * variance.unsqueezed(2) * square(frequency))
    angle = ahead.unsqueezed(2) * frequency + phase
    return joined(size * cos(angle), size * sin(angle), axis=2)


def _phase(frequency: Tensor, largest: float) -> Tensor:
    """The phase of Γ(1 - iω): Stirling's formula plus a polynomial of ω/(3 + ω)."""

    def stirling(x, log):
        return x * (0.5 * log(1.0 + x * x) - 1.0)

    def remainder(t):
        u = 0.5 * end * (t + 1.0)
        x = 3.0 * u / (1.0 - u)
        return loggamma(1.0 + 1j * x).imag - stirling(x, np.log)

    end = largest / (3.0 + largest)
    coefficients = np.polynomial.chebyshev.chebinterpolate(remainder, _PHASE_DEGREE)
    w = frequency.minimum(largest)  # beyond, |Γ| is negligible
    t = w * (2.0 / end) / (w + 3.0) - 1.0
    fitted = horner(np.polynomial.chebyshev.cheb2poly(coefficients).tolist(), t)
    return -(fitted + stirling(w, log))


def _at_steps(waves: Tensor, k: Tensor, share: Tensor) -> tuple[Tensor, Tensor]:
    """2W F' and F, N×C×S, from the waves; `share` is (s - s₀)/W."""
    angle = k * math.pi * share
    cosine, sine, turn = cos(angle), sin(angle), k * math.pi
    density = waves @ joined(2.0 * cosine, 2.0 * sine, axis=0) + 1.0
    integral = waves @ joined(sine / turn, (cos(turn) - cosine) / turn, axis=0)
    return density, integral + (0.5 + 0.5 * share)


def most_of_any_row(wanted: Tensor, most: int = _MOST) -> Tensor:
    """The largest number that a row needs, ignoring rows with NaN."""
    wanted = wanted.minimum(float(most))
    known = where(wanted > 0.0, wanted, wanted.graph.number(0.0, wanted.dtype))
    return known.largest().maximum(1.0).applied("Ceil")


def numbers(first: float, count: Tensor) -> Tensor:
    """`count` numbers from the first one on."""
    graph, dtype = count.graph, count.dtype
    return graph.apply("Range", graph.number(first, dtype), count + first, graph.number(1.0, dtype))
