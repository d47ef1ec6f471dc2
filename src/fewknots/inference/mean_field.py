r"""Mean field: factorised truncated Gaussians over g, full or sparse (section 3.1, MFSp).

The probit is a step function seen through unit noise, p(y|g) = 1[yg > 0], g = f + N(0, 1), so
that g ~ N(0, K + I) (eq. twostage). With Q = A Aᵀ in place of K, eq. (titsias) bounds p(g) and
eq. (mf_sub) follows; with Q = K, κ = 0, the same lines are the full method. Under a factorised
q(g) the best factors are Gaussians N(a_n, σ̃²_n) cut off at zero, σ̃²_n = 1/C_nn, C = (Q + I)⁻¹.
With z = y a/σ̃, h = φ(z)/Φ(z), the mean ḡ = a + y σ̃ h and the variance σ̃² r, r = 1 - h(z + h), the
section's bound becomes, after C_nn σ̃²_n = 1 cancels,

    Σ_n [log Φ(z_n) + ½ log σ̃²_n + ½ h_n²] - ½ ḡᵀCḡ - ½ log|Q + I| - ½ Σ_n κ_n.          (MF)

As a function of ḡ it is concave with Hessian -(C + D), D = (1 - r)/(r σ̃²), so Newton's method
with a line search finds the a_n from anywhere; the step in a is the step in ḡ divided by r. At
the best q the derivative for the kernel and Z is that of E_q log N(g|0, Q + I) - ½ Σ κ alone:

    ½ tr(R dQ) - ½ Σ dκ,   R = C (ḡḡᵀ + diag(σ̃² r)) C - C.

**Prediction.** f given g is Gaussian: regression on g with unit noise. `gaussian` puts ḡ for g
(Nickisch & Rasmussen 2008; O(M²) a row). `monte_carlo` averages eq. (mf_pred) over samples of g,
each brought to M numbers once: O(M² + M·samples) a row, however many rows were learned from.

Nothing is clipped: where the bound is bad (the paper's "Large" entries) it is reported as it is.

| symbol | name here      | shape |
|--------|----------------|-------|
| A, κ   | features.*     | N×M, N|
| G      | (I + AᵀA)⁻¹    | M×M   |
| C      | (Q + I)⁻¹      | never formed when sparse: C x = x - A G Aᵀ x |
| a      | centre         | N     |
| ḡ, σ̃²  | mean, spread   | N     |

Cost: O(NM²) a Newton step (full: O(N³)).
"""

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, Protocol, runtime_checkable

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.linalg import cho_solve
from jaxtyping import Array, Bool, Float, Int
from scipy.special import log_ndtr, ndtri_exp

from ..numerics.linalg import precision_factor
from ..numerics.normal import lower_tail
from ..posterior import MixturePosterior
from .features import FeatureCotangents, Features
from .method import Evaluated, HeldByRows, Method, OverRows, without_jitter
from .natural_gradient import rounding
from .priors import FullPrior
from .sites import Sites

_SMALLEST_STEP = 1e-6


@runtime_checkable
class NoisyPrior(Protocol):
    """g ~ N(0, Q + I), by what mean field needs of C = (Q + I)⁻¹."""

    @property
    def log_det(self) -> Float[Array, ""]:
        """log|Q + I|."""
        ...

    @property
    def own_precision(self) -> Float[Array, " N"]:
        """C_nn."""
        ...

    @property
    def slack(self) -> Float[Array, ""]:
        """½ Σ κ."""
        ...

    def precision_times(self, x: Float[Array, " N"]) -> Float[Array, " N"]: ...

    def newton_step(
        self, D: Float[Array, " N"], residual: Float[Array, " N"]
    ) -> Float[Array, " N"]: ...


class LowRankNoisyPrior(NamedTuple):
    """Q = A Aᵀ."""

    features: Features
    factor: Float[Array, "M M"]  # G = factorᵀ factor
    log_det: Float[Array, ""]
    own_precision: Float[Array, " N"]
    slack: Float[Array, ""]

    @classmethod
    def of(cls, features: Features) -> "LowRankNoisyPrior":
        A = features.explained
        factor, log_det = precision_factor(jnp.eye(A.shape[1], dtype=A.dtype) + A.T @ A)
        own_precision = 1.0 - jnp.sum(jnp.square(A @ factor.T), axis=1)
        return cls(features, factor, log_det, own_precision, 0.5 * jnp.sum(features.unexplained))

    def precision_times(self, x):
        A = self.features.explained
        return x - A @ (self.factor.T @ (self.factor @ (A.T @ x)))

    def newton_step(self, D, residual):
        """(C + D)⁻¹ x = E x + E A (I + Aᵀ(1 - E)A)⁻¹ Aᵀ E x, with E = 1/(1 + D)."""
        A, E = self.features.explained, 1.0 / (1.0 + D)
        identity = jnp.eye(A.shape[1], dtype=A.dtype)
        factor, _ = precision_factor(identity + (A * (1.0 - E)[:, None]).T @ A)
        scaled = E * residual
        return scaled + E * (A @ (factor.T @ (factor @ (A.T @ scaled))))

    def cotangents(self, mean, variance) -> FeatureCotangents:
        """R A and -½, with C A = A G."""
        A, G = self.features.explained, self.factor.T @ self.factor
        pull = self.precision_times(mean)
        CA = A @ G
        scaled = variance[:, None] * CA
        explained = jnp.outer(pull, A.T @ pull) + scaled - CA @ (A.T @ scaled) - CA
        return FeatureCotangents(explained, jnp.full_like(mean, -0.5))


class DenseNoisyPrior(NamedTuple):
    """Q = K, κ = 0."""

    precision: Float[Array, "N N"]  # C
    log_det: Float[Array, ""]
    own_precision: Float[Array, " N"]
    slack: Float[Array, ""]

    @classmethod
    def of(cls, covariance: Float[Array, "N N"]) -> "DenseNoisyPrior":
        identity = jnp.eye(covariance.shape[0], dtype=covariance.dtype)
        inverse, log_det = precision_factor(covariance + identity)
        C = inverse.T @ inverse
        return cls(C, log_det, jnp.diagonal(C), jnp.zeros_like(log_det))

    def precision_times(self, x):
        return self.precision @ x

    def newton_step(self, D, residual):
        return cho_solve((jnp.linalg.cholesky(self.precision + jnp.diag(D)), True), residual)

    def cotangent(self, mean, variance) -> Float[Array, "N N"]:
        """½ R."""
        C, pull = self.precision, self.precision @ mean
        return 0.5 * (jnp.outer(pull, pull) + (C * variance) @ C - C)


class Truncated(NamedTuple):
    """The factors q(g_n) and the bound they give."""

    centre: Float[Array, " N"]  # a
    mean: Float[Array, " N"]  # ḡ
    variance: Float[Array, " N"]  # σ̃² r
    bound: Float[Array, ""]
    step: Float[Array, " N"]  # Newton's, for a
    solved: Bool[Array, ""]  # no further step would help


def solve_mean_field(
    prior: NoisyPrior,
    y: Float[Array, " N"],
    start: Float[Array, " N"],
    tolerance: Float[Array, ""],
    max_passes: Int[Array, ""] | int,
) -> Truncated:
    """The best factors, to within about `tolerance` nats."""

    class MeanFieldState(NamedTuple):
        best: Truncated
        length: Array
        gain: Array
        passes: Array

    def improving(state: MeanFieldState):
        return (state.gain > tolerance) & (state.length > _SMALLEST_STEP)

    def unfinished(state: MeanFieldState):
        return improving(state) & (state.passes < max_passes)

    def advance(state: MeanFieldState) -> MeanFieldState:
        new = look(prior, y, state.best.centre + state.length * state.best.step)
        gain = new.bound - state.best.bound
        accepted = gain > -rounding(state.best.bound)
        best = lax.cond(accepted, lambda: new, lambda: state.best)
        length = jnp.where(accepted, jnp.minimum(4.0 * state.length, 1.0), 0.25 * state.length)
        return MeanFieldState(best, length, jnp.where(accepted, gain, jnp.inf), state.passes + 1)

    first = look(prior, y, start)
    one = jnp.ones_like(first.bound)
    start_state = MeanFieldState(first, one, jnp.inf * one, jnp.asarray(0))
    last = lax.while_loop(unfinished, advance, start_state)
    return last.best._replace(solved=~improving(last))


def look(prior: NoisyPrior, y: Float[Array, " N"], centre: Float[Array, " N"]) -> Truncated:
    """(MF) at the given centres, and Newton's step from there."""
    spread = 1.0 / prior.own_precision
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


# --- prediction -----------------------------------------------------------------------------------

Predictor = Literal["gaussian", "monte_carlo"]
_SAMPLES = 400


class Factors(NamedTuple):
    """q(g), and the map from g to the posterior's coordinates."""

    centre: Float[Array, " N"]
    sigma: Float[Array, " N"]
    y: Float[Array, " N"]
    from_g: Float[Array, "M N"]

    def sampled_means(self) -> Float[np.ndarray, "S 1 M"]:
        """The posterior's mean for samples of g, drawn by the inverse of each factor's cdf.

        With z = y a/σ̃ and u uniform, yg/σ̃ = z - Φ⁻¹(u Φ(z)), in logarithms so that no tail is
        ever empty.
        """
        centre, sigma, y, from_g = (np.asarray(part, np.float64) for part in self)
        z = y * centre / sigma
        log_uniform = -np.random.default_rng(0).exponential(size=(_SAMPLES, len(y)))
        g = y * sigma * (z - ndtri_exp(log_uniform + log_ndtr(z)))
        return (g @ from_g.T)[:, None].astype(self.centre.dtype)


@dataclass(frozen=True)
class HoldsFactors(Method):
    """What both mean field methods say of themselves; centres are their memory."""

    # a step function seen through Gaussian noise
    likelihoods: ClassVar[tuple[str, ...] | None] = ("probit",)
    optimizer = "scg"  # scaled conjugate gradients do better, section 3.1
    is_bound = True
    weights = "whole"
    OPTIONS: ClassVar = {"predictor": ("gaussian", "monte_carlo")}
    predictor: Predictor = "gaussian"

    def start(self, rows, n_latent=1):
        return np.zeros_like(rows.y)


@dataclass(frozen=True)
class MeanField(HoldsFactors, OverRows):
    """GPClassifier(method="mean_field")."""

    name = "mean_field"

    def evaluate(self, kernel, Z, likelihood, rows, memory, jitter, budget) -> Evaluated:
        full, pullback = FullPrior.over(kernel, rows.X)
        prior = DenseNoisyPrior.of(full.covariance)
        found = solve_mean_field(prior, rows.y, memory, *budget)
        regression = full.belief(Sites(jnp.ones_like(found.mean)[None], found.mean[None]))
        held = HeldByRows.of(regression.gaussian)
        sigma = 1.0 / jnp.sqrt(prior.own_precision)
        return Evaluated(
            found.bound,
            pullback(prior.cotangent(found.mean, found.variance)),
            None,
            likelihood,
            found.centre,
            (held, Factors(found.centre, sigma, rows.y, held.projection[0])),
            *without_jitter(found.bound),
            found.solved,
        )

    def posterior(self, kernel, Z, rows, held):
        regression, factors = held
        if self.predictor == "gaussian":
            return regression.posterior(kernel, rows)
        sampled = regression._replace(mean=factors.sampled_means())
        return sampled.posterior(kernel, rows, MixturePosterior)
