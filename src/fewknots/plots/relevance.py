"""Relevance of the inputs as bars."""

from typing import Any

from ..explain import kernel_relevance, strongest, without_names
from .axes import NEGATIVE, axes


def plot_relevance(classifier: Any, X: Any, *, most: int = 15, ax: Any = None) -> Any:
    """Draw the expected change of f over one standard deviation of each input.

    This expresses lengthscales in units that can be compared (derived in `explain.relevance`). The
    `most` relevant inputs are shown, the most relevant on top. Returns the ax.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewknots import GPClassifier, plots
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> clf = GPClassifier("rbf", warp=None, n_inducing=8, random_state=0).fit(X, y)
    >>> ax = plots.plot_relevance(clf, X)
    """
    relevance = kernel_relevance(without_names(classifier, X))
    shown = strongest(relevance)[:most][::-1]
    ax = axes(ax)
    names = [relevance.names[column] for column in shown]
    ax.barh(range(len(shown)), relevance.change[shown], color=NEGATIVE)
    ax.set_yticks(range(len(shown)), names)
    ax.set_xlabel("change of f expected over one standard deviation")
    if not relevance.per_input:
        ax.set_title("one lengthscale for all inputs", fontsize="small")
    return ax
