r"""q(g) for two classes: each q(g_n) is a Gaussian N(a_n, σ̃²_n) truncated at zero (mean_field.py).

With z = y a/σ̃ and h = φ(z)/Φ(z) the mean is a + y σ̃ h and the variance σ̃² r, r = 1 - h(z + h).
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float
from scipy.special import log_ndtr, ndtri_exp

from ..numerics.normal import lower_tail
from .noisy_prior import NoisyPrior

SAMPLES = 400


class Truncated(NamedTuple):
    """The factors q(g_n) and their bound; with several classes, each has its own g."""

    centre: Float[Array, "*C N"]  # a
    mean: Float[Array, "*C N"]  # ḡ
    variance: Float[Array, "*C N"]  # σ̃² r
    bound: Float[Array, ""]
    step: Float[Array, "*C N"]  # Newton's step for a
    solved: Bool[Array, ""]  # converged


@runtime_checkable
class Factors(Protocol):
    """q(g), and the map from g to the posterior's coordinates."""

    def sampled_means(self) -> Float[np.ndarray, "S C M"]:
        """The posterior's mean for samples of g."""
        ...


@runtime_checkable
class Cut(Protocol):
    """The truncation of q(g) by the labels."""

    def look(self, prior: NoisyPrior, centre: Float[Array, "*C N"]) -> Truncated:
        """(MF) at the given centres, and Newton's step."""
        ...

    def total(self, of_one: Callable[[Array, Array], Any], prior: NoisyPrior, found: Truncated):
        """The sum of `of_one`(mean, variance) over the functions."""
        ...

    def factors(
        self, centre: Float[Array, "*C N"], sigma: Float[Array, " N"], from_g: Float[Array, "M N"]
    ) -> Factors: ...


class AtZero(NamedTuple):
    """y g > 0, y ∈ {-1, +1}."""

    y: Float[Array, " N"]

    def look(self, prior: NoisyPrior, centre: Float[Array, " N"]) -> Truncated:
        y, spread = self.y, 1.0 / prior.own_precision
        sigma = jnp.sqrt(spread)
        log_cdf, ratio, excess = lower_tail(y * centre / sigma)
        mean = centre + y * sigma * ratio
        kept = 1.0 - ratio * excess  # r
        pull = prior.precision_times(mean)
        bound = (
            jnp.sum(log_cdf + 0.5 * jnp.log(spread) + 0.5 * jnp.square(ratio))
            - 0.5 * mean @ pull
            - 0.5 * prior.log_det
            - prior.slack
        )
        D = (1.0 - kept) / (kept * spread)
        step = prior.newton_step(D, y * ratio / sigma - pull) / kept
        return Truncated(centre, mean, spread * kept, bound, step, jnp.asarray(False))

    def total(self, of_one: Callable[[Array, Array], Any], prior: NoisyPrior, found: Truncated):
        return of_one(found.mean, found.variance)

    def factors(self, centre, sigma, from_g) -> "HalfLines":
        return HalfLines(centre, sigma, self.y, from_g)


class HalfLines(NamedTuple):
    """`Factors` of two classes."""

    centre: Float[Array, " N"]
    sigma: Float[Array, " N"]
    y: Float[Array, " N"]
    from_g: Float[Array, "M N"]

    def sampled_means(self) -> Float[np.ndarray, "S 1 M"]:
        """Samples by the inverse cdf of each factor.

        With z = y a/σ̃ and u uniform, yg/σ̃ = z - Φ⁻¹(u Φ(z)), computed in logarithms so that
        tails are accurate.
        """
        centre, sigma, y, from_g = (np.asarray(part, np.float64) for part in self)
        z = y * centre / sigma
        log_uniform = -np.random.default_rng(0).exponential(size=(SAMPLES, len(y)))
        g = y * sigma * (z - ndtri_exp(log_uniform + log_ndtr(z)))
        return (g @ from_g.T)[:, None].astype(self.centre.dtype)
