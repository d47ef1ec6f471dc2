"""Effect of one input on the prediction."""

from typing import Any

import numpy as np

from ..explain import Effect, effect, kernel_relevance, strongest, without_names
from ..explain.colours import colour_of
from ..explain.unnamed_rows import check_kind
from .axes import POSITIVE, axes, probability_axis


class EffectDisplay:
    """Mean probability along one input, with the model's own 95 % band (`explain.effects`).

    With two classes it is the probability of `positive`. With more, every one of `classes` has a
    curve, or those six whose probability changes most.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewknots import GPClassifier, plots
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> clf = GPClassifier("rbf", warp=None, n_inducing=8, random_state=0).fit(X, y)
    >>> display = plots.EffectDisplay.from_estimator(clf, X, 0)
    >>> display.effect.name
    'x0'
    """

    def __init__(self, effect: Effect, *, positive: Any = None, classes: Any = None) -> None:
        self.effect = effect
        self.positive = positive
        self.classes = classes

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, feature: int | str | None = None, *, ax: Any = None
    ) -> "EffectDisplay":
        """Compute and draw the effect of `feature` (see `plot_effects`)."""
        check_kind(estimator)
        rows = without_names(estimator, X)
        if feature is None:
            feature = strongest(kernel_relevance(rows))[0]
        column = feature if isinstance(feature, str) else rows.column(feature)
        classes = estimator.classes_
        named = {"positive": classes[1]} if len(classes) == 2 else {"classes": classes}
        return cls(effect(rows, column), **named).plot(ax)

    def plot(self, ax: Any = None) -> "EffectDisplay":
        """Draw it."""
        self.ax_ = ax = axes(ax)
        self.figure_ = ax.figure
        found = self.effect
        band = found.probability, found.low, found.high
        if found.probability.ndim == 1:
            _draw_curve(ax, found, band, color=POSITIVE)
            ax.set_ylabel(f"probability of {self.positive}")
        else:
            for place, number in enumerate(found.classes_to_show()):
                of_class = tuple(quantity[:, number] for quantity in band)
                label = str(self.classes[number])
                _draw_curve(ax, found, of_class, color=colour_of(place), label=label)
            ax.set_ylabel("probability of each class")
            ax.legend()
        if found.labels:
            ax.set_xticks(found.values, found.labels)
        elif found.separate:
            ax.set_xticks(found.values)
        if found.kind == "date":
            from matplotlib.dates import ConciseDateFormatter

            ax.xaxis_date()
            locator = ax.xaxis.get_major_locator()
            ax.xaxis.set_major_formatter(ConciseDateFormatter(locator))
        probability_axis(ax.yaxis)
        ax.set_xlabel(found.name)
        return self


def _draw_curve(ax: Any, found: Effect, band: tuple[np.ndarray, ...], **style: Any) -> None:
    probability, low, high = band
    if found.separate:  # no line: values between these do not occur
        whiskers = [probability - low, high - probability]
        ax.errorbar(found.values, probability, whiskers, fmt="o", **style)
    else:
        ax.fill_between(found.values, low, high, color=style["color"], alpha=0.2, linewidth=0)
        ax.plot(found.values, probability, **style)


def plot_effects(
    classifier: Any, X: Any, feature: int | str | None = None, *, ax: Any = None
) -> Any:
    """Draw the effect of `feature` on the probability.

    feature : the name of a column of the table, or the name or number of one of the inputs that it
        became; None: the most relevant input.

    For several inputs, call it once for each ax. Returns the ax.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewknots import GPClassifier, plots
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> clf = GPClassifier("rbf", warp=None, n_inducing=8, random_state=0).fit(X, y)
    >>> ax = plots.plot_effects(clf, X, 0)
    """
    return EffectDisplay.from_estimator(classifier, X, feature, ax=ax).ax_
