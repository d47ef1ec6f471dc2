"""
Which kernel? Ask the evidence
==============================

A kernel says which functions are plausible before any row is seen. The *evidence* says how
plausible the rows are under it, so it can choose a kernel from the training rows alone. Does it
choose the one that is right about rows it has never seen?
"""

# %%
# Five years of monthly values: a trend, a season and noise. We learn from the first three and a
# half years and look at what each kernel makes of the rest.

import numpy as np
from matplotlib import pyplot

from fewknots import GPRegressor
from fewknots.kernels import RBF, Fixed, Linear, Matern32, Periodic

rng = np.random.default_rng(3)
years = np.arange(0.0, 5.0, 1.0 / 12.0)[:, None]
values = 1.2 * years[:, 0] + 1.5 * np.sin(2.0 * np.pi * years[:, 0]) ** 3
values += rng.normal(scale=0.25, size=len(values))
seen = years[:, 0] < 3.5

# %%
# Kernels are added and multiplied as in algebra. ``standardize=False`` keeps the unit of the
# input, so that a period of 1 is a year, which we know, so it is fixed. Then the targets need a
# mean of zero.

kernels = {
    "Linear": Linear(),
    "RBF": RBF(),
    "Matern32": Matern32(),
    "RBF + Linear": RBF() + Linear(),
    "Periodic": Periodic(period=Fixed(1.0)),
    "Periodic + Linear": Periodic(period=Fixed(1.0)) + Linear(),
}
level = values[seen].mean()
models = {
    name: GPRegressor(kernel, standardize=False, warp=None).fit(years[seen], values[seen] - level)
    for name, kernel in kernels.items()
}

# %%
# Blue is what the model has seen, the orange dots it has not. The band should hold 95 % of them.

pyplot.style.use("fewknots.plots.style")
grid = np.linspace(0.0, 5.0, 200)[:, None]
best = max(models, key=lambda name: models[name].log_evidence_)
figure, axes = pyplot.subplots(2, 3, figsize=(9.0, 5.2), sharex=True, sharey=True)
for ax, (name, model) in zip(axes.flat, models.items(), strict=True):
    mean = model.predict(grid) + level
    low, high = model.predict_interval(grid).T + level
    ax.fill_between(grid[:, 0], low, high, color="C0", alpha=0.2, linewidth=0)
    ax.plot(grid[:, 0], mean, color="C0")
    ax.plot(years[seen], values[seen], ".", color="#222222", label="seen")
    ax.plot(years[~seen], values[~seen], "^", color="C1", markersize=4, label="not seen")
    ax.set_title(name, fontweight="bold" if name == best else None)
    error = np.sqrt(np.mean((model.predict(years[~seen]) + level - values[~seen]) ** 2))
    scores = f"log evidence {model.log_evidence_:.0f}\nerror later {error:.2f}"
    ax.text(0.04, 0.96, scores, transform=ax.transAxes, va="top", fontsize=9.5)
    print(f"{name:18} log evidence {model.log_evidence_:7.1f}, later error {error:.2f}")
axes[0, 0].set(ylim=(-4.5, 11))
axes[0, 0].legend(loc="lower right", fontsize=9, handletextpad=0.2)
for ax in axes[1]:
    ax.set_xlabel("year")
pyplot.show()

# %%
# .. admonition:: What to remember
#
#    Compare kernels by ``log_evidence_``: higher is better, and a difference of 3 is already a
#    factor of 20. A kernel that is too flexible loses, and so does one that is too simple. The
#    evidence is about the rows it has seen: beyond them only a kernel with the right *structure*
#    is right.
