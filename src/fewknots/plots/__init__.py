"""Plots of a fitted classifier, with matplotlib (the extra `plots`).

Every function draws into the given `ax`, or into a new one, and returns it. Where scikit-learn has
a `Display` class for the same plot, there is one here too, with `from_estimator`, `plot`, `ax_` and
`figure_`.

`pyplot.style.use("fewknots.plots.style")` gives a figure the look of the gallery (style.mplstyle);
no function here changes your settings.
"""

from .decision_boundary import DecisionBoundaryDisplay, plot_decision_boundary
from .effects import EffectDisplay, plot_effects
from .history import plot_history
from .relevance import plot_relevance
from .reliability import ReliabilityDisplay, plot_reliability

__all__ = [
    "DecisionBoundaryDisplay",
    "EffectDisplay",
    "ReliabilityDisplay",
    "plot_decision_boundary",
    "plot_effects",
    "plot_history",
    "plot_relevance",
    "plot_reliability",
]
