"""An entry of Table 1: the median over folds and its 2-σ interval; and two of them compared.

σ is the standard deviation of the folds' numbers, not of their median: on the published splits that
gives the paper's intervals for EP and KL almost to the digit, and σ/√10 a third of them.
"""

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

import numpy as np

# "Large" stands in the paper for the NLP of a method that is all but certain of wrong answers. A
# method that knows nothing and says so has an NLP of log 2 = 0.69; the largest numbers printed are
# .64 and, as an interval, .43. Above one nat a row wrong answers were given as certain.
_LARGE = 1.0


class Score(NamedTuple):
    """Median ± interval. Text has two digits, as in the paper."""

    median: float
    interval: float

    @classmethod
    def of(cls, folds: Sequence[float]) -> "Score":
        """Of one number a fold."""
        spread = float(np.std(folds, ddof=1)) if len(folds) > 1 else 0.0
        return cls(float(np.median(folds)), 2.0 * spread)

    @classmethod
    def from_text(cls, text: str) -> "Score":
        """As the paper prints it."""
        if text == "Large":
            return cls(np.inf, np.inf)
        median, interval = text.split("±")
        return cls(float(median), float(interval))

    @property
    def is_large(self) -> bool:
        return max(self.median, self.interval) > _LARGE

    def __str__(self) -> str:
        if self.is_large:
            return "Large"
        return "±".join(f"{value:.2f}".removeprefix("0") for value in self)


class Verdict(Enum):
    """How a score stands to the paper's. The value marks it in a table."""

    BETTER = " ▼"  # a lower NLP
    AGREES = ""
    WORSE = " ▲"


def compare(ours: Score, paper: Score) -> Verdict:
    """Two scores agree if ours, as printed, is within the paper's interval."""
    if ours.is_large or paper.is_large:
        if ours.is_large and paper.is_large:
            return Verdict.AGREES
        return Verdict.WORSE if ours.is_large else Verdict.BETTER
    away = _printed(ours.median) - _printed(paper.median)
    if abs(away) <= _printed(paper.interval):
        return Verdict.AGREES
    return Verdict.WORSE if away > 0 else Verdict.BETTER


def _printed(value: float) -> int:
    """In units of the last digit that a table shows."""
    return round(100 * float(f"{value:.2f}"))
