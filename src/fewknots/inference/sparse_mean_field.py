"""MFSp, the sparse mean field method of section 3.1: mean_field.py under Q = A Aᵀ.

Eq. (mf_sub) bounds p(y, g), and (MF) in mean_field.py is the bound that follows; symbols and shapes
are there. The Gaussian predictor is section 3.1's N(Σ Kmm⁻¹ Kmn ḡ, Σ) in whitened coordinates:
v given g is N(G Aᵀ g, G), G = (I + AᵀA)⁻¹.

Cost: O(NM²) per Newton step and for the gradient, without any N×N array.
"""

from dataclasses import dataclass

import jax.numpy as jnp

from ..posterior import MixturePosterior
from .features import project
from .mean_field import HoldsFactors, cut_off, solve_mean_field
from .method import Evaluated, HeldByPoints, OverPoints
from .noisy_prior import LowRankNoisyPrior
from .sites import WhitenedGaussian


@dataclass(frozen=True)
class SparseMeanField(HoldsFactors, OverPoints):
    """GPClassifier(method="sparse_mean_field")."""

    name = "sparse_mean_field"

    def evaluate(self, kernel, Z, likelihood, rows, memory, jitter, budget) -> Evaluated:
        features, pullback = project(kernel, Z, rows.X, jitter)
        prior = LowRankNoisyPrior.of(features)
        cut = cut_off(likelihood, rows.y)
        found = solve_mean_field(prior, cut, memory, *budget)
        d_kernel, d_points = pullback(cut.total(prior.cotangents, prior, found))
        # v given g is N(G Aᵀ g, G): regression on g with unit noise.
        from_g = prior.factor.T @ (prior.factor @ features.explained.T)
        means = jnp.atleast_2d(found.mean)
        q = WhitenedGaussian(means @ from_g.T, prior.factor[None], -prior.log_det)
        sigma = 1.0 / jnp.sqrt(prior.own_precision)
        return Evaluated(
            found.bound,
            d_kernel,
            d_points,
            likelihood,
            found.centre,
            (HeldByPoints(features.whitener, q), cut.factors(found.centre, sigma, from_g)),
            features.jitter,
            features.ok,
            found.solved,
        )

    def posterior(self, kernel, Z, rows, held):
        regression, factors = held
        q = regression.q._replace(factor=self.for_each(regression.q.factor, regression.q.mean))
        regression = regression._replace(q=q)
        if self.predictor == "gaussian":
            return regression.posterior(kernel, Z)
        sampled = q._replace(mean=factors.sampled_means())
        return regression._replace(q=sampled).posterior(kernel, Z, MixturePosterior)
