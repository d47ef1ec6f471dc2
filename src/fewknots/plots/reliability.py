"""Reliability diagram: predicted probabilities against observed shares."""

from typing import Any

import numpy as np

from ..scoring import ReliabilityBin, reliability
from .axes import INK, POSITIVE, axes, probability_axis

_LARGEST, _SMALLEST = 160.0, 12.0  # markers, in points²


class ReliabilityDisplay:
    """Bins with 95 % intervals; the area of a marker is proportional to its number of rows.

    The bins of a calibrated classifier lie on the diagonal, within their intervals.
    """

    def __init__(self, bins: list[ReliabilityBin], *, positive: Any = 1) -> None:
        self.bins = bins
        self.positive = positive

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, bins: int = 10, ax: Any = None
    ) -> "ReliabilityDisplay":
        """Predict, count and draw, for any classifier with two classes."""
        if not hasattr(estimator, "predict_proba"):
            name = type(estimator).__name__
            raise TypeError(f"a classifier with predict_proba is needed, got a {name}.")
        p = estimator.predict_proba(X)[:, 1]
        if len(estimator.classes_) != 2:
            n_classes = len(estimator.classes_)
            raise ValueError(
                f"a reliability diagram is for two classes, and there are {n_classes}."
            )
        positive = estimator.classes_[1]
        return cls.from_predictions(
            np.asarray(y) == positive, p, bins=bins, positive=positive, ax=ax
        )

    @classmethod
    def from_predictions(
        cls, y: Any, p: Any, *, bins: int = 10, positive: Any = 1, ax: Any = None
    ) -> "ReliabilityDisplay":
        """The same from labels (0 and 1) and probabilities of 1."""
        return cls(reliability(p, y, bins), positive=positive).plot(ax)

    def plot(self, ax: Any = None) -> "ReliabilityDisplay":
        """Draw it."""
        self.ax_ = ax = axes(ax)
        self.figure_ = ax.figure
        predicted, observed, count, low, high = map(np.array, zip(*self.bins, strict=True))
        ax.plot([0, 1], [0, 1], color=INK, linestyle="--", linewidth=1, label="calibrated")
        whiskers = [observed - low, high - observed]
        ax.errorbar(predicted, observed, whiskers, fmt="none", ecolor=POSITIVE, alpha=0.6)
        area = np.maximum(_LARGEST * count / count.max(), _SMALLEST)
        ax.scatter(predicted, observed, s=area, color=POSITIVE, zorder=3, label="area: rows")
        for axis in (ax.xaxis, ax.yaxis):
            probability_axis(axis)
        ax.set_xlabel(f"predicted probability of {self.positive}")
        ax.set_ylabel(f"observed share of {self.positive}")
        ax.set_aspect("equal")
        ax.legend(loc="upper left", frameon=False)
        return self


def plot_reliability(classifier: Any, X: Any, y: Any, *, bins: int = 10, ax: Any = None) -> Any:
    """Draw `classifier`'s reliability diagram on rows X with labels y; returns the ax."""
    return ReliabilityDisplay.from_estimator(classifier, X, y, bins=bins, ax=ax).ax_
