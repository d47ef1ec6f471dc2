"""
Counts over time
================

How many calls come in the next two hours? Counts are whole numbers, never negative, and spread
more where there are more of them. A Poisson likelihood knows that; a periodic kernel knows that a
day is like the day before, and a week like the last one.
"""

# %%
# Three weeks of calls, generated: a rhythm within the day, quiet weekends. The last weekend is not
# shown to the model.

import numpy as np
from matplotlib import pyplot

from fewknots import GPRegressor
from fewknots.kernels import Constant, Fixed, Periodic

rng = np.random.default_rng(0)
days = np.arange(21 * 12)[:, None] / 12.0  # every two hours
hour, weekend = days[:, 0] % 1.0, days[:, 0] % 7.0 >= 5.0
rate = np.exp(1.2 - 1.8 * np.cos(2.0 * np.pi * (hour - 0.1)) - 1.1 * weekend)
calls = rng.poisson(rate)
seen = days[:, 0] < 19.0

# %%
# The rate is level · exp(f). Sums in f multiply in the rate: a rhythm that repeats every day, and
# one that repeats every week. Both periods are known, so they are fixed.

day, week = Periodic(period=Fixed(1.0)), Periodic(period=Fixed(7.0), lengthscale=0.5)
kernel = day + week + Constant()
model = GPRegressor(
    kernel, likelihood="poisson", standardize=False, warp=None, method="full_kl"
).fit(days[seen], calls[seen])
print(model.likelihood_)
print(f"{model.method_}, log evidence {model.log_evidence_:.1f}")

# %%
# The last two of the three weeks. The line is the expected count, the band holds nine of ten
# counts; its ends are whole numbers.

grid = np.linspace(7.0, 21.0, 600)[:, None]
mean = model.predict(grid)
low, high = model.predict_interval(grid, 0.9).T

pyplot.style.use("fewknots.plots.style")
figure, ax = pyplot.subplots(figsize=(9.0, 4.4))
ax.axvspan(19.0, 21.0, color="#eeeeee", zorder=0)
ax.text(20.0, 0.97, "not seen", transform=ax.get_xaxis_transform(), ha="center", va="top")
ax.fill_between(grid[:, 0], low, high, step="mid", color="C0", alpha=0.22, linewidth=0)
ax.plot(grid[:, 0], mean, color="C0", label="expected count")
ax.plot(days[seen], calls[seen], "o", color="#222222", markersize=3, label="calls")
ax.plot(days[~seen], calls[~seen], "^", color="C1", markersize=4, label="calls, not seen")
names = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"] * 2
ax.set_xticks(np.arange(7, 21) + 0.5, names)
ax.set(xlim=(7, 21), ylim=(0, None), ylabel="calls in two hours")
ax.legend(loc="upper left", ncols=3)
pyplot.show()

low, high = model.predict_interval(days[~seen], 0.9).T
held = np.mean((low <= calls[~seen]) & (calls[~seen] <= high))
print(f"{100 * held:.0f} % of the counts not seen are in the band")

# %%
# .. admonition:: What to remember
#
#    Choose the likelihood by what y is, and write what you know of the input into the kernel.
#    Where counts spread more than Poisson's, ``"negative_binomial"`` costs little to try.
