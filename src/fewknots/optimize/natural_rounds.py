r"""Natural-gradient steps for q(v) from sums over rows: few of them, for each is a look at all.

inference/natural_gradient.py solves for sites, two numbers a row, which here would have to live
where the rows do. With q held by (Λ, λ) alone nothing but sums is needed, and rows need no memory.
At a point

    R = Λ̂ - Λ,   Λ̂ = Λ₀ + Aᵀ diag(wβ) A,      r = ∂bound/∂m = λ̂ - Λ̂ m,

and a step goes to Λ' = Λ + ρR and m' = m + Λ'⁻¹ r: Newton's step for the mean whatever Λ' is, and a
fixed point for Λ, damped by ρ. Where the kernel's variance is large R changes its sign from step to
step, R' ≈ -cR; two steps show c, and the ρ = 1/(1 + c) that ends the oscillation.

How much a step will gain is known beforehand to second order, in the metric of q:

    ½ rᵀ Λ'⁻¹ r + ¼ |F R Fᵀ|²,    S = FᵀF,                                            (promise)

so that a look which would gain nothing worthwhile is never asked for. A step that lowers the bound
is not taken; a shorter one is tried. Several latent functions step together, by one ρ.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.linalg import LinAlgError, cho_factor, cho_solve

_LEAST_DAMPING = 0.05


class Seen(NamedTuple):
    """All that a step needs of the point it starts from."""

    precision: Float[np.ndarray, "L M M"]  # Λ
    mean: Float[np.ndarray, "L M"]
    factor: Float[np.ndarray, "L M M"]  # F
    target_precision: Float[np.ndarray, "L M M"]  # Λ̂
    target_linear: Float[np.ndarray, "L M"]  # λ̂


class Step(NamedTuple):
    """Where to go, and what that promises in nats."""

    precision: Float[np.ndarray, "L M M"]
    linear: Float[np.ndarray, "L M"]
    promise: float


class Damping:
    """ρ, learned from how R changes; remembered from one kernel and Z to the next."""

    def __init__(self) -> None:
        self.rate = 1.0
        self._before: Float[np.ndarray, "L M M"] | None = None
        self._taken = 1.0

    def forget(self) -> None:
        """Kernel or Z have moved: R is another function now, though not a very different one."""
        self._before = None

    def learn(self, seen: Seen) -> None:
        """Look at R after a step that was taken."""
        residual = _residual(seen)
        if self._before is not None:
            kept = float(np.sum(residual * self._before) / np.sum(self._before**2))
            excess = (1.0 - kept) / self._taken  # R' = (1 - ρ(1 + c)) R
            self.rate = float(np.clip(1.0 / max(excess, 1.0), _LEAST_DAMPING, 1.0))
        self._before = residual
        self._taken = self.rate

    def step(self, seen: Seen, length: float) -> Step | None:
        """The step from here; `length` = 1 is the whole of it. None if it leads out of all q."""
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
