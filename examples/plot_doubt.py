"""
What the model does not know
============================

A probability of one half can mean two things: "here the classes overlap", or "I have never seen
anything like this". For a decision they are not the same: more rows help against the second, never
against the first. A Gaussian process can tell them apart.
"""

# %%
# Two half moons that overlap a little where they meet.

import numpy as np
from matplotlib import pyplot
from sklearn.datasets import make_moons

from fewknots import GPClassifier, acquire

X, y = make_moons(150, noise=0.25, random_state=4)
clf = GPClassifier("rbf", warp=None, random_state=0).fit(X, y)

# %%
# ``predict_proba`` gives the probability, ``acquire.bald`` the information of one label about the
# function, in nats. The first is uncertain along the border *and* far away. The second is low
# along the border, where labels are partly noise, and high where no rows are.

across, up = np.meshgrid(np.linspace(-3.0, 4.0, 90), np.linspace(-2.5, 3.0, 75))
rows = np.column_stack([across.ravel(), up.ravel()])
doubt = clf.predict_proba(rows).min(axis=1).reshape(across.shape)
ignorance = acquire.bald(clf, rows).reshape(across.shape)

places = {"A": (1.08, -0.1), "B": (3.4, 2.4)}
pyplot.style.use("fewknots.plots.style")
figure, axes = pyplot.subplots(1, 2, figsize=(9.0, 4.2), sharey=True)
pictures = {
    "doubt: probability of the other class": (doubt, "Blues"),
    "ignorance: nats that a label would tell": (ignorance, "Oranges"),
}
letter = {"color": "white", "fontweight": "bold", "ha": "center", "va": "center"}
disc = {"boxstyle": "circle", "facecolor": "#222222", "edgecolor": "white"}
for ax, (title, (values, colours)) in zip(axes, pictures.items(), strict=True):
    shown = ax.contourf(across, up, values, 14, cmap=colours)
    for label, marker, inside in ((0, "o", "white"), (1, "^", "#222222")):
        ax.scatter(*X[y == label].T, s=14, marker=marker, color=inside, edgecolor="#222222", lw=0.7)
    for name, place in places.items():
        ax.text(*place, name, bbox=disc, **letter)
    ax.set(title=title, xticks=[], yticks=[])
    figure.colorbar(shown, ax=ax, format="%.2f", shrink=0.9)
pyplot.show()

# %%
# In A the classes meet, in B there are no rows. The probabilities are alike; what stands behind
# them is not.

for name, place in places.items():
    p = clf.predict_proba([place])[0, 1]
    mean, variance = clf.predict_latent([place])
    print(f"{name}: p = {p:.2f}, f = {mean[0]:.2f} ± {np.sqrt(variance[0]):.2f}")

# %%
# .. admonition:: What to remember
#
#    ``predict_latent`` gives mean and variance of the function behind the probability. A large
#    variance says "ask, do not guess". This needs a kernel that knows where it has seen rows, such
#    as ``"rbf"``: the default kernel has a linear part, which goes on for ever.
