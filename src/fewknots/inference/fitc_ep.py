r"""Generalized FITC: expectation propagation under the FITC prior (Naish-Guzman & Holden 2007).

The prior is section 2's p(f) ≈ N(0, Q + diag(K - Q)); the rest is EP (ep.py). Kernel and Z
maximise the EP evidence, which is not a bound: the paper's experiments show the effect on Z.

Equal rows share a_nᵀv but each has its own ε_n, so equal rows are never merged.

| symbol | name here  | shape  |
|--------|------------|--------|
| A, κ   | features.* | N×M, N |
| b, g   | sites.*    | N, N   |

Cost: O(NM²) per sweep, without any N×N array.
"""

from dataclasses import dataclass
from typing import ClassVar

from .ep import Sweeps, solve_ep, tilted_gradient
from .features import project
from .method import Evaluated, HeldByPoints, OverPoints
from .priors import FitcPrior


@dataclass(frozen=True)
class FitcEP(OverPoints):
    """GPClassifier(method="fitc_ep")."""

    name = "fitc_ep"
    is_bound = False
    weights = "whole"
    OPTIONS: ClassVar = {"sweeps": ("parallel", "sequential")}
    sweeps: Sweeps = "parallel"

    def evaluate(self, kernel, Z, likelihood, rows, memory, jitter, budget) -> Evaluated:
        features, pullback = project(kernel, Z, rows.X, jitter)
        prior = FitcPrior(features)
        found = solve_ep(prior, likelihood, rows, memory, self.sweeps, *budget)
        d_kernel, d_points = pullback(prior.cotangents(found.belief, found.sites))
        return Evaluated(
            found.evidence,
            d_kernel,
            d_points,
            tilted_gradient(likelihood, rows, found),
            found.sites,
            HeldByPoints(features.whitener, found.belief.gaussian),
            features.jitter,
            features.ok,
            found.solved,
        )
