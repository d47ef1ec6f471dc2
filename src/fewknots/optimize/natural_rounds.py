r"""Natural-gradient steps for q(v) from sums over rows: few steps, as each is a pass over all rows.

inference/natural_gradient.py solves for sites, two numbers per row, which would have to be stored
with the rows. If q is given by (Λ, λ) alone, only sums over rows are needed. At a point

    R = Λ̂ - Λ,   Λ̂ = Λ₀ + Aᵀ diag(wβ) A,      r = ∂bound/∂m = λ̂ - Λ̂ m,

and a step goes to Λ' = Λ + ρR and m' = m + Λ'⁻¹ r: a Newton step for the mean, and a fixed-point
iteration for Λ, damped by ρ. Where the kernel variance is large, R changes its sign from step to
step, R' ≈ -cR. Two steps give an estimate of c, and ρ = 1/(1 + c) ends the oscillation.

The gain of a step can be predicted to second order, in the metric of q:

    ½ rᵀ Λ'⁻¹ r + ¼ |F R Fᵀ|²,    S = FᵀF,                                            (promise)

so that no pass over the rows is spent on a step with too small a gain. A step that lowers the bound
is rejected, and a shorter one is tried. Several latent functions step together, with one ρ.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.linalg import LinAlgError, cho_factor, cho_solve

_LEAST_DAMPING = 0.05


class Seen(NamedTuple):
    """What a step needs to know about its starting point."""

    precision: Float[np.ndarray, "L M M"]  # Λ
    mean: Float[np.ndarray, "L M"]
    factor: Float[np.ndarray, "L M M"]  # F
    target_precision: Float[np.ndarray, "L M M"]  # Λ̂
    target_linear: Float[np.ndarray, "L M"]  # λ̂


class Step(NamedTuple):
    """The end point of a step, and its predicted gain in nats."""

    precision: Float[np.ndarray, "L M M"]
    linear: Float[np.ndarray, "L M"]
    promise: float


class Damping:
    """ρ, estimated from the changes of R; kept when kernel and Z change."""

    def __init__(self) -> None:
        self.rate = 1.0
        self._before: Float[np.ndarray, "L M M"] | None = None
        self._taken = 1.0

    def forget(self) -> None:
        """Kernel or Z have changed: do not compare the next R with the last one, but keep ρ."""
        self._before = None

    def learn(self, seen: Seen) -> None:
        """Update ρ from R after an accepted step."""
        residual = _residual(seen)
        if self._before is not None:
            kept = float(np.sum(residual * self._before) / np.sum(self._before**2))
            excess = (1.0 - kept) / self._taken  # R' = (1 - ρ(1 + c)) R
            self.rate = float(np.clip(1.0 / max(excess, 1.0), _LEAST_DAMPING, 1.0))
        self._before = residual
        self._taken = self.rate

    def step(self, seen: Seen, length: float) -> Step | None:
        """The step times `length`; None if its precision is not positive definite."""
        self._taken = length * self.rate
        change = seen.target_precision - seen.precision
        precision = seen.precision + self._taken * change
        slope = seen.target_linear - _times(seen.target_precision, seen.mean)
        each = zip(precision, slope, strict=True)
        try:
            newton = np.array([cho_solve(cho_factor(P, lower=True), r) for P, r in each])
        except LinAlgError:
            return None
        mean = seen.mean + length * newton
        promise = 0.5 * float(np.vdot(slope, newton)) + 0.25 * float(np.sum(_residual(seen) ** 2))
        return Step(precision, _times(precision, mean), promise)


def _times(matrices: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    return (matrices @ vectors[..., None])[..., 0]


def _residual(seen: Seen) -> Float[np.ndarray, "L M M"]:
    """F R Fᵀ."""
    return seen.factor @ (seen.target_precision - seen.precision) @ seen.factor.mT
