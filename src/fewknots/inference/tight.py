r"""A tighter bound: the part of f that the inducing points do not explain learns from the rows,
too.

Eq. (klsparse) is the bound for q(f, u) = p(f|u) q(u): given u, f keeps its prior, which at the
rows is N(A v, D), D = K - A Aᵀ with the diagonal κ (features.py). Let q(f|u) have the covariance R
V Rᵀ instead, with any root R of D = R Rᵀ and V = diag(v) (Titsias 2025, arXiv 2502.08730;
Bui, Ashman & Turner 2025, arXiv 2502.04750). The mean is unchanged, and u cancels:

    KL[q(f|u) ‖ p(f|u)] = ½ Σ_n (v_n - 1 - log v_n)                                     (price)

is the only cost of the smaller variances in the bound's sum over rows.

**One v for all rows.** R V Rᵀ = vD, so the marginals of q(f) have the variance vκ_n + a_nᵀ S a_n:

    log p(y) ≥ Σ_n w_n E_q[log p(y_n|f_n)] - N/2 (v - 1 - log v) - KL[q(u) ‖ p(u)].     (tight)

With β_n as in sparse_kl.py the derivative with respect to v is ½ N/v - ½ (N + Σ w_n β_n κ_n), so
the best v is

    1/v = 1 + (1/N) Σ_n b_n κ_n,      b_n = w_n β_n,                                    (shrink)

and v = 1 gives (klsparse). N is the number of rows with positive weight.

**One v for each row, if log p is a parabola in f.** With Gaussian noise the rows' sum is linear
in the variances: -½ Σ b_n (R V Rᵀ)_nn with b_n = w_n/σ². The root R = B^(-½) (B^½ D B^½)^½,
B = diag(b), makes that -½ Σ v_n b_n κ_n, and with the best v_n = 1/(1 + b_n κ_n) the trace term of
eq. (titsias)

    -½ Σ b_n κ_n    becomes    -½ Σ log(1 + b_n κ_n).                                   (log trace)

For other likelihoods each variance matters, and the variances of R V Rᵀ depend on all of D: a
q(f|u) with variances v_n κ_n at this cost may not exist, and the result may not be a bound.

The sites b determine v, so the solver (natural_gradient.py) needs no change: this is a bound for
any sites, and at the optimal sites v is optimal. The derivatives with respect to A and κ at fixed
q and v are those of sparse_kl.py, except ∂/∂κ = -½ v wβ.

Predictions are those of (klsparse): they use κ of the prior, since v says nothing about new rows.

| symbol | name here | shape      |                                        |
|--------|-----------|------------|----------------------------------------|
| v      | shrink    | L×1 or L×N | one for each latent function; ≤ 1      |
| 1/v    | rest      | L×1        | what minibatches average, as they do Λ |
| κ      | unexplained | N or L×N |                                        |
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ..likelihoods import Likelihood
from ..numerics.arrays import AnyArray
from .features import Features
from .priors import CommonShift, SparsePrior
from .sites import Belief, Rows, Sites


class ShrinkingPrior(NamedTuple):
    """`SparsePrior`, in which sites also shrink the variance that v does not explain.

    counted : which rows have positive weight.
    each_row : one factor for each row, if log p is a parabola.
    """

    features: Features
    counted: Bool[Array, " N"]
    each_row: bool

    def belief(self, sites: Sites) -> Belief:
        """With (price) included in `log_det`, the objective of natural_gradient.py is (tight)."""
        plain = SparsePrior(self.features).belief(sites)
        per_row = sites.precision * self.features.unexplained
        if self.each_row:
            rest = 1.0 + per_row
        else:
            total = jnp.sum(per_row, axis=1, keepdims=True)
            rest = rest_of(total, jnp.sum(self.counted))
        shrink = 1.0 / rest
        variance = shrink * self.features.unexplained + plain.reached
        return plain._replace(
            variance=variance,
            log_det=plain.log_det + 2.0 * jnp.sum(prices(shrink, self.counted)),
            gaussian=plain.gaussian._replace(shrink=shrink),
        )

    def common_shift(self) -> CommonShift | None:
        """The same as without shrinking, since it concerns the means."""
        return SparsePrior(self.features).common_shift()

    def response(self, belief: Belief, change: Float[Array, "L N"]) -> Float[Array, "L N"]:
        """The response of the explained part, plus by (shrink) κ_n v²/N Σ_m κ_m change_m."""
        kappa, shrink = self.features.unexplained, belief.gaussian.shrink
        mean = jnp.sum(kappa * change, axis=-1, keepdims=True) / jnp.sum(self.counted)
        through_v = SparsePrior(self.features).response(belief, change)
        return through_v + jnp.square(shrink) * kappa * mean


def rest_of(
    total: Float[AnyArray, "L 1"], count: Float[AnyArray, ""] | Int[AnyArray, ""]
) -> Float[Array, "L 1"]:
    """1/v of (shrink) from Σ b_n κ_n and the number of rows.

    If log p is not concave the sum may be negative; then v is 1.
    """
    return 1.0 + jnp.maximum(total / jnp.maximum(count, 1), 0.0)


def prices(shrink: Float[Array, "L K"], counted: Bool[Array, " N"]) -> Float[Array, "L N"]:
    """(price) of each row."""
    return jnp.where(counted, 0.5 * (shrink - 1.0 - jnp.log(shrink)), 0.0)


def own_shrink(
    likelihood: Likelihood,
    rows: Rows,
    mean: Float[Array, "L N"],
    unexplained: Float[Array, "*L N"],
) -> Float[Array, "L N"]:
    """The best v of each row, if log p is a parabola."""
    curvature = likelihood.at(jnp.asarray(rows.y), mean).curvature
    return 1.0 / (1.0 + rows.weights * curvature * unexplained)
