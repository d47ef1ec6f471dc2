"""
Noise that changes
==================

How long does the way home take? At night half an hour, give or take two minutes. In the rush hour
an hour, give or take twenty. One noise level for all hours would be wrong at every hour.
"""

# %%
# Travel times over the day, generated.

import numpy as np
from matplotlib import pyplot

from fewknots import GPRegressor

rng = np.random.default_rng(1)
hour = np.sort(rng.uniform(0.0, 24.0, 300))[:, None]
rush = np.exp(-0.5 * (hour[:, 0] - 8.0) ** 2 / 2.0) + np.exp(-0.5 * (hour[:, 0] - 17.5) ** 2 / 4.0)
minutes = 30.0 + 25.0 * rush + rng.normal(size=300) * (1.5 + 9.0 * rush)

# %%
# ``"heteroscedastic"`` learns two functions of the hour: the travel time, and how much it spreads.

models = {
    "one noise level": GPRegressor(random_state=0),
    "noise that changes": GPRegressor(likelihood="heteroscedastic", random_state=0),
}
grid = np.linspace(0.0, 24.0, 300)[:, None]
pyplot.style.use("fewknots.plots.style")
figure, axes = pyplot.subplots(1, 2, figsize=(9.0, 4.2), sharey=True)
for ax, (name, model), colour in zip(axes, models.items(), ("C1", "C0"), strict=True):
    model.fit(hour, minutes)
    low, high = model.predict_interval(grid, 0.9).T
    ax.fill_between(grid[:, 0], low, high, color=colour, alpha=0.25, linewidth=0)
    ax.plot(grid[:, 0], model.predict(grid), color=colour)
    ax.plot(hour[:, 0], minutes, ".", color="#333333", markersize=4)
    ax.set(title=f"{name}: log evidence {model.log_evidence_:.0f}", xlabel="hour")
    ax.set_xticks(range(0, 25, 6))
axes[0].set_ylabel("minutes")
pyplot.show()

# %%
# The band promises to hold nine of ten journeys. When should one leave, to be in time in nine of
# ten cases?

for at in (3.0, 12.0, 17.5):
    times = [model.predict_quantiles([[at]], (0.9,))[0, 0] for model in models.values()]
    print(f"{at:4.1f} h: {times[0]:.0f} minutes by one noise level, {times[1]:.0f} by its own")

# %%
# .. admonition:: What to remember
#
#    If intervals matter, check whether the spread is the same everywhere. If it is not, use
#    ``likelihood="heteroscedastic"``: the mean hardly changes, but the intervals do.
