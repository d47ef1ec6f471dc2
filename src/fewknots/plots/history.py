"""The history of a fit."""

from typing import Any

import numpy as np

from ..explain.history import clock, settled_range
from ..explain.unnamed_rows import check_kind
from .axes import NEGATIVE, POSITIVE, axes


def plot_history(classifier: Any, *, ax: Any = None) -> Any:
    """Draw the bound over time, and the held-out NLP on a second axis if the fit computed it.

    The first values may lie outside the range of the axis: they would flatten all others. Returns
    the ax of the bound.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewknots import GPClassifier, plots
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> clf = GPClassifier("rbf", warp=None, n_inducing=8, random_state=0).fit(X, y)
    >>> ax = plots.plot_history(clf)
    """
    check_kind(classifier, classifier=False)
    history = classifier.history_
    if not len(history.get("bound", ())):
        raise ValueError("this fit kept no history: nothing was optimised.")
    times, unit = clock(history)
    ax = axes(ax)
    ax.plot(times, history["bound"], color=NEGATIVE)
    ax.set(xlabel=unit, ylabel="evidence bound (nats)", ylim=settled_range(history["bound"]))
    ax.yaxis.label.set_color(NEGATIVE)
    scores = history.get("held_out_nlp")
    if scores is not None:
        right = ax.twinx()
        known = np.isfinite(scores)
        right.plot(times[known], scores[known], color=POSITIVE)
        right.set_ylabel("held-out NLP (nats a row)", color=POSITIVE)
    return ax
