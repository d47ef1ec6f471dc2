"""MFSp, the sparse mean field method of section 3.1: mean_field.py under Q = A Aᵀ.

Eq. (mf_sub) bounds p(y, g), and (MF) in mean_field.py is the bound that follows; symbols and shapes
are there. The Gaussian predictor is section 3.1's N(Σ Kmm⁻¹ Kmn ḡ, Σ) in whitened coordinates:
v given g is N(G Aᵀ g, G), G = (I + AᵀA)⁻¹.

Cost: O(NM²) a Newton step and for the gradient; no N×N array is ever made.
"""

from dataclasses import dataclass

import jax.numpy as jnp

from ..posterior import MixturePosterior
from .features import project
from .mean_field import Factors, HoldsFactors, LowRankNoisyPrior, solve_mean_field
from .method import Evaluated, HeldByPoints, OverPoints
from .sites import WhitenedGaussian


@dataclass(frozen=True)
class SparseMeanField(HoldsFactors, OverPoints):
    """GPClassifier(method="sparse_mean_field")."""

    name = "sparse_mean_field"

    def evaluate(self, kernel, Z, likelihood, rows, memory, jitter, budget) -> Evaluated:
        features, pullback = project(kernel, Z, rows.X, jitter)
        prior = LowRankNoisyPrior.of(features)
        found = solve_mean_field(prior, rows.y, memory, *budget)
        d_kernel, d_points = pullback(prior.cotangents(found.mean, found.variance))
        # v given g is N(G Aᵀ g, G): regression on g with unit noise.
        from_g = prior.factor.T @ (prior.factor @ features.explained.T)
        q = WhitenedGaussian((from_g @ found.mean)[None], prior.factor[None], -prior.log_det)
        sigma = 1.0 / jnp.sqrt(prior.own_precision)
        return Evaluated(
            found.bound,
            d_kernel,
            d_points,
            likelihood,
            found.centre,
            (HeldByPoints(features.whitener, q), Factors(found.centre, sigma, rows.y, from_g)),
            features.jitter,
            features.ok,
            found.solved,
        )

    def posterior(self, kernel, Z, rows, held):
        regression, factors = held
        if self.predictor == "gaussian":
            return regression.posterior(kernel, Z)
        sampled = regression.q._replace(mean=factors.sampled_means())
        return regression._replace(q=sampled).posterior(kernel, Z, MixturePosterior)
