r"""The terms of the bound for some rows: the sums that every trainer uses.

Eq. (klsparse) is a sum over rows minus a divergence that does not depend on rows (section 4: "the
ease of parallelizing the simple sum over N"). Everything an optimiser needs from the rows is a
sum, too. For a block of rows, at one model and one q(v):

| sum                    | name here    | shape  | what it is for                              |
|------------------------|--------------|--------|---------------------------------------------|
| Σ w                    | weight       |        | N/B, the scale of a batch                   |
| Σ w E[log p(y|f)]      | log_prob     |        | the bound                                   |
| Aᵀ diag(wβ) A          | information  | L×M×M  | natural gradient for Λ; gradient through Kmm|
| Aᵀ(wα + wβμ)           | linear       | L×M    | natural gradient for λ                      |
| Aᵀ(wα)                 | slope        | L×M    | gradient for m; gradient through Kmm        |
| through K̄nm            | d_kernel     | kernel | gradient for the kernel                     |
| through K̄nm            | d_points     | M×D    | gradient for Z                              |
| Σ w ∂E[log p(y|f)]     | d_likelihood |        | gradient for the likelihood's own parameters|
| rows with a weight     | n_counted    |        | the tighter bound (tight.py): N in (shrink) |
| Σ wβκ                  | unexplained  | L×1    | the same: 1/v                               |
| Aᵀ diag(v wβ) A        | shrunk       | L×M×M  | the same, if each row has a v of its own    |

(The last three are None without that bound.)

Computations with Kmm alone (L⁻¹ before, the gradient through it after) are done once for all blocks
(`whiten`, `model_gradient`). The compiled loop over minibatches (steps.py) sums over a batch, on
one device or on several (`shared_row_sums`); training in rounds (rounds.py) sums over all rows, in
one process or on a cluster (distributed/).

Cost of a block of B rows: four products, 8BM² flops for each latent function, and the likelihood's
expectations, which of a softmax cost more than the products of 180 points (`flops_of_a_row`).
"""

from contextlib import nullcontext
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import Array, Float, Int

from ..inference.features import Whitening, added, project_rows
from ..inference.method import expected_log_prob, likelihood_gradient
from ..inference.priors import information
from ..inference.sites import Rows, WhitenedGaussian
from ..inference.sparse_kl import (
    gradient_through_points,
    gradient_through_rows,
    look,
    shrunk_information,
)
from ..kernels import Kernel
from ..likelihoods import Likelihood
from ..numerics.arrays import AnyArray
from ..numerics.linalg import rows_times
from ..numerics.precision import rough_products

ROWS = "rows"  # name of the axis of a mesh of devices
# What a likelihood's expectations cost for each row and latent function, in flops of products: an
# integral for each class takes 23 to 31 microseconds, quadrature over one Gaussian about one.
_QUADRATURE, _INTEGRAL = 1e4, 3e5


class RowSums(NamedTuple):
    """The sums of one block of rows, or of any number of blocks added up."""

    weight: Float[AnyArray, ""]
    log_prob: Float[AnyArray, ""]
    information: Float[AnyArray, "L M M"]
    linear: Float[AnyArray, "L M"]
    slope: Float[AnyArray, "L M"]
    d_kernel: Kernel
    d_points: Float[AnyArray, "M D"]
    d_likelihood: Likelihood
    n_counted: Float[AnyArray, ""] | None = None
    unexplained: Float[AnyArray, "L 1"] | None = None
    shrunk: Float[AnyArray, "L M M"] | None = None


def flops_of_a_row(n_latent: int, n_inducing: int) -> float:
    """Cost of one row in flops of matrix products, to plan work."""
    expectations = _QUADRATURE if n_latent == 1 else _INTEGRAL
    return n_latent * (8.0 * n_inducing**2 + expectations)


def row_sums(
    whitening: Whitening,
    likelihood: Likelihood,
    q: WhitenedGaussian,
    rows: Rows,
    wide,
    rough: bool,
) -> RowSums:
    """One block's sums.

    wide : the dtype of `information`; float32 may lose its contribution to Λ (steps.py).
    rough : whether products that only affect the direction of a step may use a device's fast
        rounding.
    """
    loosely = rough_products if rough else nullcontext
    features, pullback = project_rows(whitening, rows.X)
    A = features.explained
    with loosely():
        mean, variance, terms, q = look(features, q, likelihood, rows)
    informed = information(A.astype(wide), terms.curvature)
    with loosely():
        d_kernel, d_points = gradient_through_rows(pullback, q, terms)
        slope = rows_times(terms.slope, A)
        shrunk = shrunk_information(A, q, terms)
    d_likelihood = likelihood_gradient(
        likelihood, lambda p: expected_log_prob(p, rows, mean, variance)
    )
    linear = rows_times(terms.slope + terms.curvature * mean, A)
    weight, log_prob = jnp.sum(rows.weights), jnp.sum(terms.log_prob)
    sums = RowSums(weight, log_prob, informed, linear, slope, d_kernel, d_points, d_likelihood)
    if q.shrink is None:
        return sums
    unexplained = jnp.sum(terms.curvature * features.unexplained, axis=1, keepdims=True)
    count = jnp.sum(rows.weights > 0).astype(weight.dtype)
    return sums._replace(n_counted=count, unexplained=unexplained, shrunk=shrunk)


def shared_row_sums(
    devices: Mesh,
    whitening: Whitening,
    likelihood: Likelihood,
    q: WhitenedGaussian,
    rows: Rows,
    chosen: Int[AnyArray, " B"],
    wide,
    rough: bool,
) -> RowSums:
    """The sums of the chosen rows; each device sums its part of them.

    Devices communicate once: all sums are sent as one vector. Otherwise the compiler would also
    communicate inside every loop over classes, where the devices of one CPU, which share its
    threads, can deadlock.
    """

    def of_part(likelihood: Likelihood, q: WhitenedGaussian, rows: Rows, part) -> RowSums:
        batch = Rows(rows.X[part], rows.y[part], rows.weights[part])
        sums, as_sums = ravel_pytree(row_sums(whitening, likelihood, q, batch, wide, rough))
        return as_sums(jax.lax.psum(sums, ROWS))

    everywhere = PartitionSpec()
    return jax.shard_map(
        of_part,
        mesh=devices,
        in_specs=(everywhere, everywhere, everywhere, PartitionSpec(ROWS)),
        out_specs=everywhere,
        check_vma=False,  # zeros alone do not differ between devices
    )(likelihood, q, rows, chosen)


def model_gradient(
    whitening: Whitening, q: WhitenedGaussian, sums: RowSums
) -> tuple[Kernel, Float[Array, "M D"]]:
    """Gradient of the data term with respect to kernel and Z, from the sums of all rows."""
    informed = sums.information.astype(q.mean.dtype)
    through_points = gradient_through_points(whitening, q, sums.slope, informed, sums.shrunk)
    return added((sums.d_kernel, sums.d_points), through_points)
