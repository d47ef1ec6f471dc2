r"""The informative vector machine: it uses a few chosen rows only (Lawrence et al. 2003).

Rows are added one at a time by assumed density filtering: the row's site is that of EP (ep.py)
with the posterior so far, N(μ, ζ), as its cavity. The next row is the one that lowers the entropy
most,

    Δ_n = -½ log(1 - c_n ζ_n),      c_n = -∂² log Ẑ_n/∂μ_n²,

after which, with s the posterior covariance of all rows with the chosen one,

    ζ ← ζ - c s²,     μ ← μ + α s,     log Z ← log Z + log Ẑ.

The covariance is never formed: s = k(X, x) - V V_nᵀ, and V gets the new column √c s. By default the
sites of the chosen rows are then updated until they are those of EP. The evidence is that of the
chosen labels only; training/ivm.py says what this means for learning the kernel.

| symbol | name here | shape |
|--------|-----------|-------|
| μ, ζ   | mean, variance | N |
| V      | columns   | N×M   |

Cost: O(NM²) to choose M rows, then O(M³) per sweep.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int

from ..kernels import Kernel
from ..likelihoods import Likelihood
from .ep import EP
from .method import Evaluated, HeldByRows, OverRows, without_jitter
from .priors import FullPrior
from .sites import Rows, Sites, log_partition, prior_sites


class Chosen(NamedTuple):
    """The active rows in the order of their choice, with their sites."""

    indices: Int[Array, " M"]
    sites: Sites
    log_evidence: Float[Array, ""]  # Σ log Ẑ


class Filtered(NamedTuple):
    """Sites of the active rows, and the constant to add to their log partition for the evidence."""

    sites: Sites
    offset: Float[Array, ""]


def choose_rows(kernel: Kernel, likelihood: Likelihood, rows: Rows, count: int) -> Chosen:
    """Choose `count` rows by assumed density filtering, each with the largest entropy reduction."""
    X, y = jnp.asarray(rows.X), jnp.asarray(rows.y)

    class FilterState(NamedTuple):
        mean: Array
        variance: Array
        columns: Array
        left: Array
        chosen: Chosen

    def take(i, state: FilterState) -> FilterState:
        tilted = likelihood.tilted(y, state.mean[None], state.variance[None])
        reduction = -0.5 * jnp.log1p(-tilted.curvature[0] * state.variance)
        n = jnp.argmax(jnp.where(state.left, reduction, -jnp.inf))
        slope, c = tilted.slope[0, n], tilted.curvature[0, n]
        kept = 1.0 - state.variance[n] * c
        s = kernel(X, X[n][None])[:, 0] - state.columns @ state.columns[n]
        chosen = Chosen(
            state.chosen.indices.at[i].set(n),
            Sites(
                state.chosen.sites.precision.at[0, i].set(c / kept),
                state.chosen.sites.linear.at[0, i].set((slope + c * state.mean[n]) / kept),
            ),
            state.chosen.log_evidence + tilted.log_prob[n],
        )
        return FilterState(
            state.mean + slope * s,
            state.variance - c * jnp.square(s),
            state.columns.at[:, i].set(jnp.sqrt(c) * s),
            state.left.at[n].set(False),
            chosen,
        )

    nothing = Chosen(
        jnp.zeros(count, int),
        jax.tree.map(jnp.asarray, prior_sites(count, y.dtype)),
        jnp.zeros((), y.dtype),
    )
    start = FilterState(
        jnp.zeros_like(y),
        kernel.diagonal(X),
        jnp.zeros((len(y), count), y.dtype),
        jnp.asarray(rows.weights) > 0,
        nothing,
    )
    return lax.fori_loop(0, count, take, start).chosen


@dataclass(frozen=True)
class IVM(OverRows):
    """GPClassifier(method="ivm"); `evaluate` uses the chosen rows only."""

    name = "ivm"
    chooses_rows = True
    is_bound = False
    weights = "whole"
    OPTIONS: ClassVar = {"revisits": bool}
    revisits: bool = True

    def start(self, rows, n_latent=1):
        return Filtered(prior_sites(len(rows.y), rows.y.dtype), rows.y.dtype.type(0))

    def evaluate(self, kernel, Z, likelihood, rows, memory, jitter, budget) -> Evaluated:
        if self.revisits:
            found = EP().evaluate(kernel, Z, likelihood, rows, memory.sites, jitter, budget)
            return found._replace(memory=Filtered(found.memory, memory.offset))
        prior, pullback = FullPrior.over(kernel, rows.X)
        belief = prior.belief(memory.sites)
        evidence = log_partition(belief, memory.sites) + memory.offset
        return Evaluated(
            evidence,
            pullback(prior.cotangent(belief, memory.sites)),
            None,
            jax.tree.map(jnp.zeros_like, likelihood),  # the sites are those of the filtering
            memory,
            HeldByRows.of(belief.gaussian),
            *without_jitter(evidence),
        )
