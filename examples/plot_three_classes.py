"""
Three classes and the borders between them
==========================================

Three kinds of iris, distinguished by the leaves around their flowers. Two of them overlap. What
does the model say there, and what does it say far away?
"""

# %%
# Length and width of the sepals of 150 flowers, the data that every textbook has.

import numpy as np
from matplotlib import pyplot
from sklearn.datasets import load_iris

from fewknots import GPClassifier
from fewknots.plots import plot_decision_boundary

iris = load_iris()
X, y = iris.data[:, :2], iris.target_names[iris.target]
clf = GPClassifier("rbf", warp=None, n_inducing=15, random_state=0).fit(X, y)
print(f"{clf.method_}, {len(clf.classes_)} classes, log evidence {clf.log_evidence_:.1f}")

# %%
# On the left the most probable class, paler where it is less probable; rings are the inducing
# points. On the right a larger area, with the probability of the best answer: with
# three classes it is at least one third.

pyplot.style.use("fewknots.plots.style")
figure, axes = pyplot.subplots(1, 2, figsize=(9.4, 4.2))
plot_decision_boundary(clf, X, y, grid=140, ax=axes[0])
axes[0].get_legend().remove()
axes[0].set(xlabel="sepal length, cm", ylabel="sepal width, cm", title="the answer")

across, up = np.meshgrid(np.linspace(2.0, 11.0, 90), np.linspace(0.0, 7.0, 80))
best = clf.predict_proba(np.column_stack([across.ravel(), up.ravel()])).max(axis=1)
shown = axes[1].contourf(across, up, best.reshape(across.shape), 14, cmap="cividis")
for name, marker in zip(clf.classes_, "o^s", strict=True):
    dots = {"s": 12, "marker": marker, "edgecolor": "#222222", "linewidths": 0.4}
    axes[1].scatter(*X[y == name].T, color="white", **dots)
axes[1].set(xlabel="sepal length, cm", title="probability of the answer, from further away")
figure.colorbar(shown, ax=axes[1], format="%.2f")
pyplot.show()

# %%
# A flower in the middle of two kinds:

doubtful = clf.predict_proba([[6.1, 2.9]])[0]
for name, p in zip(clf.classes_, doubtful, strict=True):
    print(f"{name:12} {p:.2f}")

# %%
# .. admonition:: What to remember
#
#    With three or more classes, each has a latent function; all are learned together.
#    Probabilities add up to one, overlap shows as probabilities between them, and with ``"rbf"``
#    the model returns to "I do not know" where no flower was.
