r"""Scores of predicted distributions of numbers, their bootstrap intervals, and ranks.

For each row with the true number y_n a predictor gives the mean m_n of its distribution P_n, and

    log p_n(y_n),    P_n(Y < y_n),    P_n(Y ≤ y_n):

a density if y is continuous, a probability if y is a count. The last two are the *rank* of
the true number in its distribution (the probability integral transform, PIT): equal for continuous
y, the two ends of a step for counts.

| score    | formula                                    | best | says                   |
|----------|--------------------------------------------|------|------------------------|
| nlp      | mean of -log p_n(y_n)                      |      | nats of surprise a row |
| rmse     | √(mean of (y_n - m_n)²)                    | 0    | in the units of y      |
| mae      | mean of abs(y_n - m_n)                     | 0    | in the units of y      |
| r2       | 1 - Σ(y_n - m_n)² / Σ(y_n - mean y)²       | 1    | share of the variance  |
| coverage | share of rows within their 95 % interval   | 0.95 | honesty of intervals   |

If predictions are calibrated, ranks are uniform: 95 % of the 95 % intervals contain their y, the
same holds for any other level, and the histogram of the ranks is flat. For counts the weight of a
row is spread over its step (Czado, Gneiting & Held 2009), so that this holds for them, too.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import log_ndtr, ndtr

NUMBER_SCORES = ("nlp", "rmse", "mae", "r2", "coverage")
COVERAGE = 0.95
_RESAMPLED_AT_ONCE = 10_000_000  # weights


class Seen(NamedTuple):
    """Predictions for rows whose true numbers are known."""

    mean: Float[np.ndarray, " N"]
    deviation: Float[np.ndarray, " N"]
    log_density: Float[np.ndarray, " N"]  # log density at the true number
    below: Float[np.ndarray, " N"]  # P(Y < y)
    up_to: Float[np.ndarray, " N"]  # P(Y ≤ y)

    @classmethod
    def joined(cls, parts: "list[Seen]") -> "Seen":
        """All rows of the parts."""
        return cls(*map(np.concatenate, zip(*parts, strict=True)))

    def some(self, rows: Any) -> "Seen":
        """These rows."""
        return Seen(*(column[rows] for column in self))


def seen_by_gaussian(
    mean: Float[np.ndarray, " N"],
    deviation: float | Float[np.ndarray, " N"],
    y: Float[np.ndarray, " N"],
    counts: bool,
) -> Seen:
    """Predictions N(mean, deviation²); for counts the probability from y - ½ to y + ½."""
    spread = np.full(len(y), deviation)
    z = (y - mean) / deviation
    if not counts:
        log_density = -0.5 * np.square(z) - np.log(deviation) - 0.5 * np.log(2.0 * np.pi)
        return Seen(mean, spread, log_density, ndtr(z), ndtr(z))
    half = 0.5 / deviation
    low, high = z - half, z + half
    far = np.where(z > 0, -low, high)  # in the lower tail; larger log Φ
    near = np.where(z > 0, -high, low)
    log_p = log_ndtr(far) + np.log1p(-np.exp(log_ndtr(near) - log_ndtr(far)))
    return Seen(mean, spread, log_p, ndtr(low), ndtr(high))


def number_scores(seen: Seen, y: Float[np.ndarray, " N"]) -> dict[str, float | None]:
    """The five scores; R² is None if all numbers are the same."""
    return _scores_of(_columns(seen, y), np.ones((1, len(y))))[0]


def number_intervals(
    seen: Seen, y: Float[np.ndarray, " N"], seed: int = 0, resamples: int = 200, level: float = 0.95
) -> dict[str, tuple[float, float] | None]:
    """Bootstrap intervals: how much each score varies between samples of rows."""
    rng, n = np.random.default_rng(seed), len(y)
    columns, drawn = _columns(seen, y), []
    at_once = max(1, _RESAMPLED_AT_ONCE // n)
    for first in range(0, resamples, at_once):
        count = min(at_once, resamples - first)
        weights = [np.bincount(rng.integers(n, size=n), minlength=n) for _ in range(count)]
        drawn += _scores_of(columns, np.asarray(weights, np.float64))
    tails = [50.0 * (1.0 - level), 50.0 * (1.0 + level)]
    found: dict[str, tuple[float, float] | None] = {}
    for name in NUMBER_SCORES:
        values = [value for sample in drawn if (value := sample[name]) is not None]
        low, high = np.percentile(values, tails) if values else (None, None)
        found[name] = None if low is None or high is None else (float(low), float(high))
    return found


def coverage(seen: Seen, level: float) -> float:
    """The share of rows within the central interval of this probability.

    An interval of counts has whole ends, and so contains at least this probability.
    """
    return float(np.mean(_within(seen, level)))


def rank_shares(seen: Seen, bins: int = 20) -> Float[np.ndarray, " B"]:
    """The share of the rows whose rank is in each of so many equal parts of [0, 1]."""
    edges = np.linspace(0.0, 1.0, bins + 1)
    step = seen.up_to - seen.below
    passed = []
    for edge in edges:
        # share of each row's step below the edge; 0 or 1 for a step of width zero
        part = np.clip((edge - seen.below) / np.where(step > 0, step, 1.0), 0.0, 1.0)
        passed.append(np.mean(np.where(step > 0, part, seen.below < edge)))
    passed[-1] = 1.0
    return np.diff(passed)


def _within(seen: Seen, level: float) -> np.ndarray:
    tail = 0.5 * (1.0 - level)
    return (seen.up_to >= tail) & (seen.below < 1.0 - tail)


def _columns(seen: Seen, y: Float[np.ndarray, " N"]) -> Float[np.ndarray, "6 N"]:
    """The values to average over rows; y relative to its mean, so that squares are accurate."""
    away, around = y - seen.mean, y - np.mean(y)
    within = _within(seen, COVERAGE)
    return np.stack(
        [-seen.log_density, np.square(away), np.abs(away), within, around, np.square(around)]
    )


def _scores_of(columns: Any, weights: Float[np.ndarray, "R N"]) -> list[dict[str, float | None]]:
    """The scores of weighted rows, for each vector of weights."""
    means = weights @ columns.T / weights.sum(axis=1)[:, None]
    found = []
    for nlp, square, absolute, within, level, second in means.tolist():
        variance = second - level**2
        r2 = 1.0 - square / variance if variance > 0 else None
        found.append(
            dict(
                zip(
                    NUMBER_SCORES,
                    (nlp, float(np.sqrt(square)), absolute, r2, within),
                    strict=True,
                )
            )
        )
    return found
