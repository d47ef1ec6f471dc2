"""Sums over the rows of a fit in rounds, and the bound and its gradient from these sums.

A round sends a model and q(v) to the rows and gets their sums back (row_sums.py); everything else
happens in one process, on M×M matrices. A trainer does not know about clusters: it calls a
`Summation`. In one process this is `MemorySums`; the one for clusters is in distributed/rounds.py.
"""

from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import numpy as np

from ..data.standardise import steady
from ..inference.features import whiten
from ..inference.method import HeldByPoints
from ..inference.sites import Rows, WhitenedGaussian
from ..numerics.precision import compiled
from ..optimize.lbfgsb import Status
from ..optimize.natural_rounds import Seen
from .checkpoint import Checkpoints, Saved
from .full_batch import EvidenceGradient, Fitted, check_end
from .held_rows import Found, Point, Shape, Span, Subset, hold, rows_in_a_block, summed, sums_at
from .parameters import Model, Named, add_prior, decode
from .row_sums import model_gradient
from .steps import Base, Naturals, Triangle, divergence, gaussian, target
from .stochastic import Start


@runtime_checkable
class Summation(Protocol):
    """Computes the sums over all rows, wherever these are."""

    total_weight: float  # steady

    def __call__(self, point: Point, subset: Subset | None = None) -> Found:
        """One round."""
        ...


class MemorySums:
    """All rows in this process."""

    def __init__(self, rows: Rows, dtype: np.dtype, shape: Shape | None = None):
        """Store the rows; unless a shape is given, in the same blocks as on a cluster."""
        n_rows = len(rows.y)
        self.total_weight = float(steady(np.sum(rows.weights, dtype=np.float64)))
        shape = shape or Shape.in_blocks(n_rows, rows_in_a_block(n_rows))
        self.held = hold(rows, (Span(0, n_rows),), shape, dtype, self.total_weight)

    def __call__(self, point: Point, subset: Subset | None = None) -> Found:
        return summed(sums_at(self.held, point, subset), self.total_weight)


class RoundsRun(NamedTuple):
    """What a run in rounds needs besides the problem."""

    summation: Summation
    start: Start
    seed: int
    looks: int  # looks at the problem's rows between two rounds
    checkpoints: Checkpoints | None = None
    resumed: Saved | None = None


class Weighed(NamedTuple):
    """The bound, its gradient and the target of q, from the sums."""

    bound: Any  # including the log priors of the kernel's parameters
    gradient: Named  # gradient of the objective with respect to the free parameters
    d_kernel: Any
    d_points: Any
    target: Naturals
    q: WhitenedGaussian
    model: Model
    whitener: Any
    jitter: Any
    factorised: Any
    log_prior: Any

    @property
    def evidence(self) -> float:
        """The bound, without the log priors of the kernel's parameters."""
        return float(self.bound) - float(self.log_prior)


@compiled
def point_at(free: Named, frozen: Named, q: Naturals | Triangle) -> tuple[Model, WhitenedGaussian]:
    """The model and q for a round."""
    return decode(free, frozen), gaussian(q, q[0].dtype)


@compiled
def weigh(
    free: Named, frozen: Named, base: Base, naturals: Naturals, found: Found, jitter
) -> Weighed:
    """The bound and its gradient at a point, from the sums of all rows."""
    model, pullback = jax.vjp(lambda free: decode(free, frozen), free)
    whitening = whiten(model.kernel, model.Z, jitter)
    q = gaussian(naturals, naturals.precision.dtype)
    d_kernel, d_points = model_gradient(whitening, q, found.sums)
    (gradient,) = pullback(Model(d_kernel, d_points, found.sums.d_likelihood))
    gradient, log_prior = add_prior(gradient, free, frozen)
    return Weighed(
        found.sums.log_prob - divergence(q, base) + log_prior,
        gradient,
        d_kernel,
        d_points,
        target(base, found.sums, 1.0),
        q,
        model,
        whitening.whitener,
        whitening.jitter,
        whitening.ok & found.factorised,
        log_prior,
    )


def seen_at(q: Naturals, weighed: Weighed) -> Seen:
    """What a natural-gradient step needs."""
    return Seen(*map(np.asarray, (q.precision, weighed.q.mean, weighed.q.factor, *weighed.target)))


def fitted_at(last: Weighed) -> Fitted:
    """The result of a fit that ends here; rounds are counted elsewhere."""
    check_end(last.model.kernel, last.evidence, last.jitter, last.factorised)
    held = HeldByPoints(last.whitener, last.q)
    gradient = EvidenceGradient(
        jax.tree.map(np.multiply, last.d_kernel, last.model.kernel), last.d_points
    )
    posterior = held.posterior(last.model.kernel, last.model.Z)
    bound, jitter = last.evidence, float(last.jitter)
    return Fitted(posterior, held, last.model, bound, gradient, 0, 0, Status.STOPPED, jitter)
