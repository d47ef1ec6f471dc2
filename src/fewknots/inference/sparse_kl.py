r"""KLSp: the sparse variational Gaussian of section 4, eq. (klsparse).

    log p(y) ≥ Σ_n w_n E_{q(f_n)}[log p(y_n|f_n)] - KL[q(u) ‖ p(u)]

in whitened coordinates (features.py): q(v) = N(m, S), v = L⁻¹u, so the marginals of q(f)
(eq. posterior_form) are

    μ_n = a_nᵀ m,    σ²_n = κ_n + a_nᵀ S a_n,    KL = ½(tr S + mᵀm - M - log|S|).

With α_n = E[(log p)'], β_n = -E[(log p)''] (the identities of section 4) the bound's
derivatives, for any q, are

    ∂/∂A = (wα) mᵀ - diag(wβ) A S,     ∂/∂κ = -½ wβ,
    ∂/∂m = Aᵀ(wα) - m,                 ∂/∂S = -½ Aᵀ diag(wβ) A - ½ I + ½ S⁻¹.

Where the last two are zero, the best q has the form of N sites (sites.py) with precision
b_n = w_n β_n and linear term g_n = w_n (α_n + β_n μ_n): the variational rule with the sparse
prior, which natural_gradient.py solves.

With `bound="tight"` q(f|u) differs from p(f|u), too (tight.py): vκ then replaces κ.

With L latent functions q = Π_l q_l(v_l): every q_l has its own m, S, α and β. The divergences add
up, and so do the derivatives with respect to A and κ, which all functions share unless each has
its own kernel.

| symbol | name here            | shape |                                    |
|--------|----------------------|-------|------------------------------------|
| A, κ   | features.*           | N×M, N|                                    |
| m      | q.mean               | L×M   |                                    |
| S      | Cᵀ C, q.factor = C   | L×M×M | C = R⁻¹ for S⁻¹ = R Rᵀ, any C else |
| b, g   | sites.*              | L×N   |                                    |
| μ, σ²  | mean, variance       | L×N   | of q(f_n)                          |
| w      | weights              | N     | 0 for padded rows                  |

Cost of one evaluation on all rows: two products of 2NM² flops, one M×M Cholesky, the quadrature.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..kernels import Kernel
from ..likelihoods import Expectations, Likelihood
from ..numerics.linalg import one_by_one, rows_times, sum_of_each
from .features import Features, Pullback, Whitening, added, project
from .method import Evaluated, HeldByPoints, OverPoints, expected_log_prob, likelihood_gradient
from .natural_gradient import solve_sites
from .priors import SparsePrior, explained_marginals, information
from .rules import Variational, weighted
from .sites import Rows, WhitenedGaussian
from .tight import ShrinkingPrior, own_shrink, prices

Bound = Literal["standard", "tight"]


@dataclass(frozen=True)
class SparseKL(OverPoints):
    """GPClassifier(method="sparse_kl")."""

    bound: Bound = "standard"

    name = "sparse_kl"
    has_q = streams = sums_rows = True
    is_bound = True
    weights = "any"
    several_latent = own_kernels = any_curvature = True
    OPTIONS: ClassVar = {"bound": ("standard", "tight")}

    def evaluate(self, kernel, Z, likelihood, rows, memory, jitter, budget) -> Evaluated:
        features, pullback = project(kernel, Z, rows.X, jitter)
        prior: SparsePrior | ShrinkingPrior = SparsePrior(features)
        if self.bound == "tight":
            prior = ShrinkingPrior(features, jnp.asarray(rows.weights) > 0, likelihood.quadratic)
        found = solve_sites(prior, Variational(likelihood), rows, memory, *budget)
        q, belief = found.belief.gaussian, found.belief
        d_kernel, d_points = model_gradient(pullback, q, found.terms)
        return Evaluated(
            found.objective,
            d_kernel,
            d_points,
            likelihood_gradient(
                likelihood, lambda p: expected_log_prob(p, rows, belief.mean, belief.variance)
            ),
            found.sites,
            HeldByPoints(features.whitener, q),
            features.jitter,
            features.ok,
            found.solved,
        )


# --- for a q that is not given by sites
# ------------------------------------------------------------


class Looked(NamedTuple):
    """The marginals of q(f) at some rows, and the rows' terms of the bound.

    q : as given, with `shrink` at these rows
    """

    mean: Float[Array, "L N"]
    variance: Float[Array, "L N"]
    terms: Expectations
    q: WhitenedGaussian


def look(features: Features, q: WhitenedGaussian, likelihood: Likelihood, rows: Rows) -> Looked:
    """Eq. (klsparse)'s sum over rows for any q(v), term by term."""
    mean, reached = explained_marginals(features.explained, q)
    unexplained = features.unexplained
    if q.shrink is not None and likelihood.quadratic:
        q = q._replace(shrink=own_shrink(likelihood, rows, mean, unexplained))
    variance = (unexplained if q.shrink is None else q.shrink * unexplained) + reached
    terms = weighted(rows, likelihood.expectations(jnp.asarray(rows.y), mean, variance))
    if q.shrink is not None:
        price = jnp.sum(prices(q.shrink, jnp.asarray(rows.weights) > 0), axis=0)
        terms = terms._replace(log_prob=terms.log_prob - price)
    return Looked(mean, variance, terms, q)


def divergence(q: WhitenedGaussian) -> Float[Array, ""]:
    """KL[q(v) ‖ N(0, I)]."""
    trace = jnp.sum(jnp.square(q.factor))
    return 0.5 * (trace + jnp.vdot(q.mean, q.mean) - q.mean.size - q.log_det)


def model_gradient(
    pullback: Pullback, q: WhitenedGaussian, terms: Expectations
) -> tuple[Kernel, Float[Array, "M D"]]:
    """Gradient of the bound with respect to kernel and Z at fixed q(v), for rows in a single block.

    With ∂/∂A and ∂/∂κ as above, and κ = diag - rows(A²), the total derivative with respect to A is
    Ā = (wα) mᵀ + diag(wβ) A (I - S). If Aᵀ diag(wβ) A is known, one product over the rows is
    enough:

        K̄nm = Ā L⁻¹ = (wα) (L⁻ᵀm)ᵀ + diag(wβ) A [(I - S) L⁻¹],              (through the rows)
        Lᵀ L̄ = -ĀᵀA = -m (Aᵀwα)ᵀ - (I - S) Aᵀ diag(wβ) A.                   (through the points)

    Under the tighter bound vI - S replaces I - S. If each row has its own v, this is one product
    more in either equation: diag(vwβ) A goes with I, diag(wβ) A with S.
    """
    A = pullback.features.explained
    through_rows = gradient_through_rows(pullback, q, terms)
    through_points = gradient_through_points(
        pullback.whitening,
        q,
        rows_times(terms.slope, A),
        information(A, terms.curvature),
        shrunk_information(A, q, terms),
    )
    return added(through_rows, through_points)


def gradient_through_rows(
    pullback: Pullback, q: WhitenedGaussian, terms: Expectations
) -> tuple[Kernel, Float[Array, "M D"]]:
    """The part of `model_gradient` that is a sum over rows, for some of them."""
    A, whitener = pullback.features.explained, pullback.features.whitener
    kept = terms.curvature if q.shrink is None else q.shrink * terms.curvature  # v wβ

    def one_function(A, whitener, held):
        slope, curvature, mean, learned, kept = held
        found = slope[:, None] * (mean @ whitener) + curvature[:, None] * (A @ (learned @ whitener))
        return found if kept is None else found + kept[:, None] * (A @ whitener)

    by_row = kept if q.shrinks_by_row else None
    each = terms.slope, terms.curvature, q.mean, _learned(q, q.shrinks_by_row), by_row
    if A.ndim > 2:
        own = one_by_one(lambda entry: one_function(*entry), (A, whitener, each))
        return pullback.from_rows(own, -0.5 * kept)
    return pullback.from_rows(
        sum_of_each(lambda held: one_function(A, whitener, held), each),
        -0.5 * jnp.sum(kept, axis=0),
    )


def gradient_through_points(
    whitening: Whitening,
    q: WhitenedGaussian,
    slope: Float[Array, "L M"],
    information: Float[Array, "L M M"],
    shrunk: Float[Array, "L M M"] | None = None,
) -> tuple[Kernel, Float[Array, "M D"]]:
    """The remaining part, from the sums over all rows Aᵀwα = `slope` and Aᵀ diag(wβ) A =
    `information`.

    shrunk : Aᵀ diag(v wβ) A, if each row has a v of its own
    """
    curved = _learned(q, shrunk is not None) @ information
    if shrunk is not None:
        curved = curved + shrunk
    if whitening.whitener.ndim > 2:
        return whitening.pullback(-q.mean[:, :, None] * slope[:, None, :] - curved)
    return whitening.pullback(-q.mean.T @ slope - jnp.sum(curved, axis=0))


def shrunk_information(
    explained: Float[Array, "*L N M"], q: WhitenedGaussian, terms: Expectations
) -> Float[Array, "L M M"] | None:
    """Aᵀ diag(v wβ) A, if each row has a v of its own."""
    if q.shrink is None or not q.shrinks_by_row:
        return None
    return information(explained, q.shrink * terms.curvature)


def _learned(q: WhitenedGaussian, by_row: bool) -> Float[Array, "L M M"]:
    """I - S, or vI - S; -S if each row has its own v."""
    S = q.factor.mT @ q.factor
    if by_row:
        return -S
    identity = jnp.eye(q.mean.shape[1], dtype=q.factor.dtype)
    return (identity if q.shrink is None else q.shrink[:, :, None] * identity) - S
