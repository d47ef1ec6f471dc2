r"""How long stochastic training goes on, and how its rates fall.

Everything follows from the *share* of the run that is over, 0 at its start and 1 at its end.

    natural gradients   ρ from 0.05 to B/N (between 0.001 and 0.02), as a power of the share: in the
                        end q is the average over about a pass of the data. Before that, unless
                        q knows something to begin with, ρ = 1/2, 1/3, 1/4, ... as far as 0.05.
                        A batch of all rows has no noise to average: ρ = 0.5 throughout.
    Adam                a cosine from its first rate to zero.
    Adadelta            0.1 throughout, as in the paper.

The share grows with the steps done or with the time used, whichever is further. When the score
(the bound, or the held-out log probability) no longer rises, what is left of the schedule is run
through quickly: stopping at high rates would leave their noise in the model.
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
_ROUNDS = 100  # looks at all rows; 20 to 40 are usual
_PAPERS_BATCH = 10  # for Adadelta
_PATIENCE = 1000  # steps, at least, that must be no better than as many before
_ENOUGH_ROWS = 100_000  # to score with, if that is less than a pass
_COOLING = 0.3  # of the steps done, to run through the rest of the schedule
_TOO_LATE = 0.6  # of the run: from here on the rates fall anyway


class Plan(NamedTuple):
    """The size of a run."""

    optimizer: str
    batch_size: int
    steps: int
    warm: bool = False  # it begins with a q that knows something


def automatic_plan(
    optimizer: str, n_rows: int, n_inducing: int, batch_size: Any, max_iter: Any, max_time: Any
) -> Plan:
    """On a GPU twenty passes, but at least 2000 steps; on a CPU three, but at least 400.

    How good a fit is depends on the rows seen more than on the steps taken, and a step costs 8BM²
    for its rows and 12M³ besides. So a GPU gets batches of 8M rows, where the second is a fifth of
    the first, but at least 4096, which is no slower. (In the same minute 4M, 8M and 12M rows a
    batch took 2000 points on the flights to an NLP of 0.551, 0.545 and 0.544.) Above 16,384 there
    would be too few steps for Z to get anywhere. On a CPU, where the rows seen are what a user
    waits for, batches are half of that: five times as many rows gain a hundredth of the NLP
    (magic: 0.284 after 0.8, 0.282 after 1.6, 0.281 after 4 million rows). With `max_time` alone,
    the clock decides how many steps there are.
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
        """From here to the end of the schedule in a fraction of the steps done so far."""
        return Pace(done, share, min(self.end, done + max(1, int(_COOLING * done))))


def rates(plan: Plan, done: int, shares: np.ndarray, n_rows: int, slowdown: float, dtype) -> Rates:
    """The rates of the steps after `done`, at these shares of the run, times `slowdown`."""
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
    """How many scores a look back takes: those of a thousand steps, or of a pass if that is more.

    Fewer would say little. While rates are high a score is mostly noise, the more so the smaller
    the batch; a pass over very many rows is not waited for.
    """
    a_pass = -(-min(n_rows, _ENOUGH_ROWS) // batch_size)
    return -(-max(_PATIENCE, a_pass) // steps_a_score)


def has_plateaued(scores: Sequence[float], share: float, tol: float, patience: int) -> bool:
    """Whether the last scores are no better than as many before, beyond noise and tol.

    With tol = 0 never: all steps are wanted.
    """
    if tol == 0.0 or len(scores) < 2 * patience or share > _TOO_LATE:
        return False
    before = np.array(scores[-2 * patience : -patience])
    after = np.array(scores[-patience:])
    noise = np.sqrt((before.var() + after.var()) / patience)
    return bool(after.mean() - before.mean() <= max(tol, noise))
