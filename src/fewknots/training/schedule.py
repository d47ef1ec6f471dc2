r"""The length of stochastic training, and its learning rates.

Everything follows from the *share* of the run that is over, 0 at its start and 1 at its end.

    natural gradients   ρ from 0.05 to B/N (between 0.001 and 0.02), as a power of the share: at
                        the end q is an average over about one pass over the data. Before that,
                        unless q starts from an earlier fit, ρ = 1/2, 1/3, 1/4, ... down to 0.05.
                        A batch of all rows has no noise to average: ρ = 0.5 throughout.
    Adam                a cosine from its first rate to zero.
    Adadelta            0.1 throughout, as in the paper.

The share grows with the steps done or with the time used, whichever is further. When the score
(the bound, or the held-out log probability) no longer rises, the rest of the schedule is passed
quickly: stopping at high rates would leave their noise in the model.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..numerics.precision import for_platform
from .steps import Rates

_GRADIENT_RATE = {"natural_gradient": 0.03, "adam": 0.01, "adadelta": 0.1}
_NATURAL_WITHOUT_NOISE = 0.5
_FIRST_NATURAL = 0.05
_LAST_NATURAL = (0.001, 0.02)
_BATCH = {"cpu": 1024, "gpu": 4096}
_BATCH_PER_POINT = {"cpu": 4, "gpu": 8}
_PASSES = {"cpu": 3, "gpu": 20}
_LEAST_STEPS, _MOST_STEPS = {"cpu": 400, "gpu": 2000}, 20_000
_LARGEST_BATCH = 16_384
_ROUNDS = 100  # rounds over all rows; 20 to 40 are usual
_PAPERS_BATCH = 10  # for Adadelta
_PATIENCE = 1000  # least steps to compare with as many before
_ENOUGH_ROWS = 100_000  # rows of a score, if fewer than a pass
_COOLING = 0.3  # share of the steps done, for the rest of the schedule
_TOO_LATE = 0.6  # share of the run after which the rates fall anyway


class Plan(NamedTuple):
    """The size of a run."""

    optimizer: str
    batch_size: int
    steps: int
    warm: bool = False  # q starts from an earlier fit


def automatic_plan(
    optimizer: str, n_rows: int, n_inducing: int, batch_size: Any, max_iter: Any, max_time: Any
) -> Plan:
    """On a GPU twenty passes, but at least 2000 steps; on a CPU three, but at least 400.

    The quality of a fit depends more on the number of rows used than on the number of steps; a step
    costs 8BM² for its rows plus 12M³. So a GPU gets batches of B = 8M rows, for which the second
    term is a fifth of the first, but at least 4096 rows, which is not slower. (On the flights with
    2000 points, batches of 4M, 8M and 12M rows reached an NLP of 0.551, 0.545 and 0.544 in the same
    minute.) Above 16,384 rows there would be too few steps to move Z. On a CPU the time is
    proportional to the rows used, and batches are half as large: five times as many rows lower the
    NLP by one per cent (magic: 0.284 after 0.8, 0.282 after 1.6, 0.281 after 4 million rows). With
    `max_time` alone, the number of steps follows from the time.
    """
    if optimizer == "rounds":
        return Plan(optimizer, n_rows, _ROUNDS if max_iter is None else int(max_iter))
    if batch_size != "auto":
        size = int(batch_size)
    elif optimizer == "adadelta":
        size = _PAPERS_BATCH
    else:
        least = for_platform(_BATCH)
        size = min(_LARGEST_BATCH, max(least, for_platform(_BATCH_PER_POINT) * n_inducing))
    size = min(size, n_rows)
    if max_iter is not None:
        steps = int(max_iter)
    elif max_time is not None:
        steps = 10**9
    else:
        least = for_platform(_LEAST_STEPS)
        steps = int(np.clip(for_platform(_PASSES) * n_rows / size, least, _MOST_STEPS))
    return Plan(optimizer, size, steps)


class Pace(NamedTuple):
    """The share of the run that is over, as a straight line in the steps done."""

    from_step: int
    from_share: float
    end: int

    def share(self, done: int) -> float:
        return min(1.0, self.from_share + (1.0 - self.from_share) * self._way(done))

    def _way(self, done: int) -> float:
        return (done - self.from_step) / max(1, self.end - self.from_step)

    def ending(self, done: int, share: float) -> "Pace":
        """Reach the end of the schedule within a fraction of the steps done so far."""
        return Pace(done, share, min(self.end, done + max(1, int(_COOLING * done))))


def rates(plan: Plan, done: int, shares: np.ndarray, n_rows: int, slowdown: float, dtype) -> Rates:
    """The rates of the steps after `done`, for these shares of the run, times `slowdown`."""
    last = float(np.clip(plan.batch_size / n_rows, *_LAST_NATURAL))
    natural = _FIRST_NATURAL * (last / _FIRST_NATURAL) ** shares
    if not plan.warm:
        natural = np.maximum(natural, 1.0 / (2.0 + done + np.arange(len(shares))))
    if plan.batch_size >= n_rows:
        natural = np.full(len(shares), _NATURAL_WITHOUT_NOISE)
    gradient = np.full(len(shares), _GRADIENT_RATE[plan.optimizer])
    if plan.optimizer != "adadelta":
        gradient = gradient * 0.5 * (1.0 + np.cos(np.pi * shares))
    return Rates(*((slowdown * rate).astype(dtype) for rate in (natural, gradient)))


def patience(steps_a_score: int, batch_size: int, n_rows: int) -> int:
    """How many scores to compare: those of a thousand steps, or of a pass if that is more.

    Fewer are not enough: while rates are high, a score is mostly noise, above all for small
    batches. For very many rows it does not wait for a whole pass.
    """
    a_pass = -(-min(n_rows, _ENOUGH_ROWS) // batch_size)
    return -(-max(_PATIENCE, a_pass) // steps_a_score)


def has_plateaued(scores: Sequence[float], share: float, tol: float, patience: int) -> bool:
    """Whether the last scores are no better than as many before, beyond noise and tol.

    With tol = 0 it is never true: all steps are done.
    """
    if tol == 0.0 or len(scores) < 2 * patience or share > _TOO_LATE:
        return False
    before = np.array(scores[-2 * patience : -patience])
    after = np.array(scores[-patience:])
    noise = np.sqrt((before.var() + after.var()) / patience)
    return bool(after.mean() - before.mean() <= max(tol, noise))
