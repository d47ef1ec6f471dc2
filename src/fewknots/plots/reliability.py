"""Reliability diagram: predicted probabilities against observed shares."""

import reprlib
from typing import Any

import numpy as np

from ..scoring import ReliabilityBin, reliability
from .axes import INK, POSITIVE, axes, probability_axis

_LARGEST, _SMALLEST = 160.0, 12.0  # markers, in points²


class ReliabilityDisplay:
    """Bins with 95 % intervals; the area of a marker is proportional to its number of rows.

    The bins of a calibrated classifier lie on the diagonal, within their intervals.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewknots import GPClassifier, plots
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> clf = GPClassifier("rbf", warp=None, n_inducing=8, random_state=0).fit(X, y)
    >>> display = plots.ReliabilityDisplay.from_estimator(clf, X, y)
    >>> len(display.bins) > 1
    True
    """

    def __init__(self, bins: list[ReliabilityBin], *, positive: Any = 1) -> None:
        self.bins = bins
        self.positive = positive

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, label: Any = None, bins: int = 10, ax: Any = None
    ) -> "ReliabilityDisplay":
        """Predict, count and draw, for any classifier.

        label : the class whose probability is drawn. None means the second of two classes; of more
            than two, all together: every pair of a row and a class is then a prediction.
        """
        if not hasattr(estimator, "predict_proba"):
            name = type(estimator).__name__
            raise TypeError(f"a classifier with predict_proba is needed, got a {name}.")
        p, y, classes = estimator.predict_proba(X), np.asarray(y), estimator.classes_
        if label is None and len(classes) > 2:
            truth = y[:, None] == np.asarray(classes)
            return cls.from_predictions(
                truth.ravel(), p.ravel(), bins=bins, positive="each class", ax=ax
            )
        known = classes.tolist()
        if label is not None and label not in known:
            raise ValueError(f"there is no class {label!r}; the classes are {reprlib.repr(known)}.")
        place = 1 if label is None else known.index(label)
        positive = classes[place]
        return cls.from_predictions(y == positive, p[:, place], bins=bins, positive=positive, ax=ax)

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
        whiskers = np.maximum([observed - low, high - observed], 0.0)  # rounding
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


def plot_reliability(
    classifier: Any, X: Any, y: Any, *, label: Any = None, bins: int = 10, ax: Any = None
) -> Any:
    """Draw `classifier`'s reliability diagram on rows X with labels y; returns the ax.

    The arguments are those of `ReliabilityDisplay.from_estimator`.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewknots import GPClassifier, plots
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> clf = GPClassifier("rbf", warp=None, n_inducing=8, random_state=0).fit(X, y)
    >>> ax = plots.plot_reliability(clf, X, y, bins=5)
    """
    return ReliabilityDisplay.from_estimator(classifier, X, y, label=label, bins=bins, ax=ax).ax_
