"""Effect of one input on the prediction."""

from typing import Any

from ..explain import Effect, effect, kernel_relevance, strongest, without_names
from ..explain.unnamed_rows import check_kind
from .axes import POSITIVE, axes, probability_axis


class EffectDisplay:
    """Mean probability along one input, with the model's own 95 % band (`explain.effects`)."""

    def __init__(self, effect: Effect, *, positive: Any) -> None:
        self.effect = effect
        self.positive = positive

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, feature: int | str | None = None, *, ax: Any = None
    ) -> "EffectDisplay":
        """Compute and draw the effect of `feature`, or of the most relevant input."""
        check_kind(estimator)
        rows = without_names(estimator, X)
        column = strongest(kernel_relevance(rows))[0] if feature is None else rows.column(feature)
        return cls(effect(rows, column), positive=estimator.classes_[1]).plot(ax)

    def plot(self, ax: Any = None) -> "EffectDisplay":
        """Draw it."""
        self.ax_ = ax = axes(ax)
        self.figure_ = ax.figure
        found = self.effect
        if found.separate:  # no line: values between these do not occur
            whiskers = [found.probability - found.low, found.high - found.probability]
            ax.errorbar(found.values, found.probability, whiskers, fmt="o", color=POSITIVE)
            ax.set_xticks(found.values)
        else:
            ax.fill_between(found.values, found.low, found.high, color=POSITIVE, alpha=0.2)
            ax.plot(found.values, found.probability, color=POSITIVE)
        probability_axis(ax.yaxis)
        ax.set(xlabel=found.name, ylabel=f"probability of {self.positive}")
        return self


def plot_effects(
    classifier: Any, X: Any, feature: int | str | None = None, *, ax: Any = None
) -> Any:
    """Draw the effect of `feature` (name or number; None: the most relevant) on the probability.

    For several inputs, call it once for each ax. Returns the ax.
    """
    return EffectDisplay.from_estimator(classifier, X, feature, ax=ax).ax_
