"""Scores of more than two classes; for two they are in `scoring`.

With p_nc the predicted probability of class c, and y_nc = 1 for the class of the row and 0 else:

| score | formula                                                                         |
|-------|---------------------------------------------------------------------------------|
| nlp   | mean over rows of -log p(y_n)                                                   |
| brier | mean over rows of Σ_c (p_nc - y_nc)²                                            |
| error | share of rows whose most probable class is not theirs                           |
| ece   | mean over classes of Σ_b n_b/N · abs(mean p_nc - mean y_nc), in ten equal bins b |

The last is the classwise calibration error. For all of them less is better, and 0 is best.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

SCORES = ("nlp", "brier", "error", "ece")
_BINS = 10
_LEAST = np.finfo(np.float64).smallest_subnormal  # so a wrong row costs a finite NLP


class _Rows(NamedTuple):
    """What each row contributes to the scores."""

    losses: Float[np.ndarray, "3 N"]  # -log p(y), squared error, wrong answer
    gaps: Float[np.ndarray, "N C"]  # p - y
    bins: Int[np.ndarray, "N C"]  # in which p lies; bins of different classes are different


def row_nlp(
    p: Float[np.ndarray, "N C"], y: Int[np.ndarray, " N"], log_p: Any = None
) -> Float[np.ndarray, " N"]:
    """-log p(y) of each row."""
    own = np.arange(len(y)), y
    return -(np.log(np.maximum(p[own], _LEAST)) if log_p is None else log_p[own])


def scores(
    p: Float[np.ndarray, "N C"], y: Int[np.ndarray, " N"], log_p: Any = None
) -> dict[str, float | None]:
    """The four scores of probabilities p, for places of the labels y; exact with their logs."""
    return _weighted(_rows(p, y, log_p), np.ones(len(y)))


def intervals(
    p: Float[np.ndarray, "N C"],
    y: Int[np.ndarray, " N"],
    seed: int = 0,
    resamples: int = 200,
    log_p: Any = None,
) -> dict[str, tuple[float, float] | None]:
    """Bootstrap intervals: the middle 95 % of the scores when rows are drawn anew.

    They are moved so that the mean of the drawn scores is the score itself: rows that are drawn
    twice make the calibration error greater, and it would lie outside its interval.
    """
    rows, n = _rows(p, y, log_p), len(y)
    rng = np.random.default_rng(seed)
    drawn = [
        list(_weighted(rows, np.bincount(rng.integers(n, size=n), minlength=n)).values())
        for _ in range(resamples)
    ]
    found = np.array(drawn, float)
    shift = np.array(list(_weighted(rows, np.ones(n)).values()), float) - found.mean(axis=0)
    low, high = np.maximum(np.percentile(found, [2.5, 97.5], axis=0) + shift, 0.0)
    return {name: (float(a), float(b)) for name, a, b in zip(SCORES, low, high, strict=True)}


def calibration_errors(
    p: Float[np.ndarray, "N C"], y: Int[np.ndarray, " N"]
) -> Float[np.ndarray, " C"]:
    """The calibration error of each class; their mean is the score `ece`."""
    return _calibration_errors(_rows(p, y, None), np.ones(len(y)))


def _rows(p: np.ndarray, y: np.ndarray, log_p: Any) -> _Rows:
    n_classes = p.shape[1]
    gaps = p - (y[:, None] == np.arange(n_classes))
    bins = np.minimum((p * _BINS).astype(int), _BINS - 1) + _BINS * np.arange(n_classes)
    losses = [row_nlp(p, y, log_p), np.square(gaps).sum(axis=1), p.argmax(axis=1) != y]
    return _Rows(np.stack(losses).astype(np.float64), gaps, bins)


def _weighted(rows: _Rows, weights: np.ndarray) -> dict[str, float | None]:
    nlp, brier, error = rows.losses @ weights / weights.sum()
    ece = _calibration_errors(rows, weights).mean()
    return {"nlp": float(nlp), "brier": float(brier), "error": float(error), "ece": float(ece)}


def _calibration_errors(rows: _Rows, weights: np.ndarray) -> np.ndarray:
    n_classes = rows.gaps.shape[1]
    weighted = (weights[:, None] * rows.gaps).ravel()
    gaps = np.bincount(rows.bins.ravel(), weighted, minlength=_BINS * n_classes)
    return np.abs(gaps).reshape(n_classes, _BINS).sum(axis=1) / weights.sum()
