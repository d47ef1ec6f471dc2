"""
Incomes, counts and other long tails
====================================

An income runs from a thousand to ten millions. One lengthscale for the whole column is too long
for most rows and too short for the rest. By default each such input goes through a monotone map
that is learned with the kernel.
"""

# %%
# Two inputs with long tails. The border between the classes is a curve in their logarithms, which
# the model does not know.

import numpy as np
from matplotlib import pyplot

from fewknots import GPClassifier
from fewknots.kernels import Matern32

rng = np.random.default_rng(0)
z = rng.normal(size=(300, 2))
y = np.sin(2.0 * z[:, 0]) + z[:, 1] + rng.normal(scale=0.2, size=300) > 0
X = 30_000.0 * np.exp(1.5 * z)

models = {
    "warp=None: inputs as they are": GPClassifier(Matern32(), warp=None, random_state=0).fit(X, y),
    "the default: a learned map": GPClassifier(Matern32(), random_state=0).fit(X, y),
}

# %%
# The pictures have logarithmic axes, so that all rows can be seen.

axis = 30_000.0 * np.exp(1.5 * np.linspace(-2.6, 2.6, 100))
across, up = np.meshgrid(axis, axis)
rows = np.column_stack([across.ravel(), up.ravel()])
pyplot.style.use("fewknots.plots.style")
figure, axes = pyplot.subplots(1, 2, figsize=(9.2, 4.6), sharey=True)
for ax, (name, model) in zip(axes, models.items(), strict=True):
    p = model.predict_proba(rows)[:, 1].reshape(across.shape)
    shown = ax.contourf(across, up, p, np.linspace(0, 1, 15), cmap="PuOr_r", alpha=0.85)
    ax.contour(across, up, p, [0.5], colors="black")
    for label, marker, colour in ((False, "o", "white"), (True, "^", "#222222")):
        ax.scatter(*X[y == label].T, s=14, marker=marker, color=colour, edgecolor="#222222", lw=0.6)
    ax.set(xscale="log", yscale="log", xlabel="income", title=name)
    ax.set(xlim=axis[[0, -1]], ylim=axis[[0, -1]])
    evidence = f"log evidence {model.log_evidence_:.0f}"
    box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85}
    ax.text(0.03, 0.03, evidence, transform=ax.transAxes, bbox=box)
axes[0].set_ylabel("savings")
figure.colorbar(shown, ax=axes, ticks=[0, 0.5, 1], label="probability", shrink=0.9)
pyplot.show()

# %%
# What was learned: the powers above the median. 1 means no change, 0 a logarithm.

print(1.0 + np.log(models["the default: a learned map"].kernel_.above))

# %%
# .. admonition:: What to remember
#
#    Do not take logarithms by hand: inputs with long tails are mapped by default, and the map is
#    learned. Inputs that look normal stay as they are. ``warp=None`` switches it off.
