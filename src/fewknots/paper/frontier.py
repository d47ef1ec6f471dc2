"""The efficient frontier: at any time, the best score of all curves up to then.

A curve is the score of a fit at some times. Between two times, the score is that of the earlier
one; after the last time it stays the same (the fit has ended); before the first there is none. The
frontier is the lower envelope of all curves; its holder at some time is the curve that is lowest
then. Shares of time are shares of logarithmic time, as on the axes of the figures.
"""

from typing import NamedTuple

import numpy as np


class Curve(NamedTuple):
    """A score over time, and the name of its holder."""

    holder: str
    seconds: np.ndarray  # ascending
    scores: np.ndarray


class Stretch(NamedTuple):
    """A time interval in which the frontier has one holder."""

    start: float
    end: float
    holder: str


class Frontier(NamedTuple):
    """The envelope as steps (score i from time i on), and its holders."""

    seconds: np.ndarray
    scores: np.ndarray
    stretches: tuple[Stretch, ...]

    def shares(self) -> dict[str, float]:
        """The share of logarithmic time of each holder, the largest first."""
        total = np.log(self.stretches[-1].end / self.stretches[0].start)
        held: dict[str, float] = {}
        for start, end, holder in self.stretches:
            held[holder] = held.get(holder, 0.0) + float(np.log(end / start) / total)
        return dict(sorted(held.items(), key=lambda item: -item[1]))

    def long_stretches(self, share: float) -> list[Stretch]:
        """Stretches of at least this share of logarithmic time; equal neighbours are merged."""
        least = share * np.log(self.stretches[-1].end / self.stretches[0].start)
        joined: list[Stretch] = []
        for stretch in self.stretches:
            if np.log(stretch.end / stretch.start) < least:
                continue
            if joined and joined[-1].holder == stretch.holder:
                joined[-1] = joined[-1]._replace(end=stretch.end)
            else:
                joined.append(stretch)
        return joined


def efficient_frontier(curves: list[Curve]) -> Frontier:
    """The frontier from the earliest time of any curve to the latest."""
    seconds = np.unique(np.concatenate([curve.seconds for curve in curves]))
    scores = np.array([_at(curve, seconds) for curve in curves])
    best = scores.argmin(axis=0)
    holders = [curves[i].holder for i in best]
    changes = [0, *(i for i in range(1, len(seconds)) if holders[i] != holders[i - 1])]
    ends = [*changes[1:], len(seconds) - 1]
    stretches = tuple(
        Stretch(float(seconds[i]), float(seconds[j]), holders[i])
        for i, j in zip(changes, ends, strict=True)
    )
    return Frontier(seconds, scores.min(axis=0), stretches)


def _at(curve: Curve, seconds: np.ndarray) -> np.ndarray:
    latest = np.searchsorted(curve.seconds, seconds, side="right") - 1
    return np.where(latest < 0, np.inf, curve.scores[np.maximum(latest, 0)])
