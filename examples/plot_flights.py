"""
Twenty thousand flights
=======================

With many rows a full Gaussian process cannot be fitted at all: twenty thousand rows would need a
matrix of 400 million numbers. A hundred inducing points and minibatches do it in seconds. When are
flights late?
"""

# %%
# Generated, in the manner of the flights of New York: delays pile up during the day, thunderstorms
# come on summer afternoons, storms in winter. (``fewknots.datasets.load("flights")`` has the real
# ones, if a package with them is installed or a server can be reached.)

import numpy as np
from matplotlib import pyplot
from scipy.special import ndtr
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from fewknots import GPClassifier

rng = np.random.default_rng(0)


def chance_to_be_late(day, hour, distance):
    """The truth behind the table, which no model knows."""
    summer = np.exp(-0.5 * ((day - 195) / 28) ** 2) * np.exp(-0.5 * ((hour - 18.5) / 2.5) ** 2)
    winter = np.exp(-0.5 * ((day - 20) / 18) ** 2) + np.exp(-0.5 * ((day - 355) / 8) ** 2)
    return ndtr(-1.6 + 0.07 * (hour - 5) + 1.4 * summer + 0.7 * winter - 0.0001 * distance)


n = 24_000
day, hour = rng.uniform(0, 365, n), 5 + 18 * rng.beta(1.3, 1.3, n)
distance = rng.lognormal(6.8, 0.6, n)
X = np.column_stack([day, hour, distance])
late = rng.random(n) < chance_to_be_late(day, hour, distance)
train, test = slice(0, 20_000), slice(20_000, n)

# %%
# More than 2000 rows are learned in minibatches; you need not ask for it.

models = {
    "logistic regression": LogisticRegression(max_iter=1000),
    "histogram boosting": HistGradientBoostingClassifier(random_state=0),
    "GPClassifier": GPClassifier(method="sparse_kl", n_inducing=100, random_state=0),
}
for name, model in models.items():
    units = X / X.std(axis=0)
    p = model.fit(units[train], late[train]).predict_proba(units[test])
    print(f"{name:20} NLP {log_loss(late[test], p):.4f}")
truth = chance_to_be_late(*X[test].T)
print(f"{'the truth':20} NLP {log_loss(late[test], truth):.4f}")

# %%
# The probability over day and hour, for a flight of 900 miles.

days, hours = np.meshgrid(np.linspace(0, 365, 120), np.linspace(5, 23, 80))
rows = np.column_stack([days.ravel(), hours.ravel(), np.full(days.size, 900.0)])
pictures = {"the truth": chance_to_be_late(*rows.T)}
for name in ("histogram boosting", "GPClassifier"):
    pictures[name] = models[name].predict_proba(rows / X.std(axis=0))[:, 1]

pyplot.style.use("fewknots.plots.style")
figure, axes = pyplot.subplots(1, 3, figsize=(10.5, 4.0), sharey=True)
levels = np.linspace(0.0, 0.8, 17)
for ax, (name, values) in zip(axes, pictures.items(), strict=True):
    shown = ax.contourf(days, hours, values.reshape(days.shape), levels, cmap="cividis")
    ax.set(title=name, xticks=[15, 105, 196, 288], xticklabels=["Jan", "Apr", "Jul", "Oct"])
axes[0].set(ylabel="hour", yticks=[6, 12, 18])
figure.colorbar(shown, ax=axes, ticks=[0, 0.4, 0.8], label="probability to be late")
pyplot.show()

# %%
# .. admonition:: What to remember
#
#    For many rows the program is the same: ``fit`` uses minibatches by itself. Inducing points
#    make smooth maps; if a table has steps and fine structure, trees or ``method="local"`` are
#    better, and the default, ``method="auto"``, also tries a local fit.
