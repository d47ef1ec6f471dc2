"""
Draws of functions: where is the maximum?
=========================================

A mean and a band answer "how high is it here?". They cannot answer "where is it highest?", which
is a question about the whole function. Draws of functions can.
"""

# %%
# Fifteen measurements of a yield at different temperatures, with a gap between them.

import numpy as np
from matplotlib import pyplot

from fewknots import GPRegressor

rng = np.random.default_rng(2)
temperature = np.r_[np.linspace(20.0, 56.0, 12), 73.0, 77.0, 80.0][:, None]
yields = 50 + 6 * np.sin((temperature[:, 0] - 20) / 6) + rng.normal(scale=0.7, size=15)
model = GPRegressor("rbf", warp=None).fit(temperature, yields)

# %%
# Each draw is a function that could be the true one. It can be evaluated anywhere, again and
# again, and is always the same function.

draws = model.sample_functions(400, random_state=0)
grid = np.linspace(20.0, 80.0, 300)[:, None]
curves = np.asarray(draws(grid))
places = grid[curves.argmax(axis=0), 0]

pyplot.style.use("fewknots.plots.style")
figure, (top, below) = pyplot.subplots(2, 1, figsize=(7.2, 5.6), sharex=True, height_ratios=[3, 1])
top.plot(grid[:, 0], curves[:, :40], color="C0", alpha=0.25, linewidth=1)
top.plot(places[:40], curves[:, :40].max(axis=0), "v", color="C1", markersize=6, label="maxima")
top.plot(temperature[:, 0], yields, "o", color="#222222", label="measured")
top.set(ylabel="yield", title="forty functions that agree with what was measured")
top.legend(loc="lower right")
below.hist(places, bins=np.linspace(20, 80, 61), color="C1", edgecolor="white", linewidth=0.5)
below.set(xlabel="temperature", ylabel="draws", title="where 400 draws have their maximum")
pyplot.show()

# %%
# Any question about a function becomes an average over draws.

inside = np.mean((places > 56) & (places < 73))
height = curves.max(axis=0)
print(f"probability that the maximum is in the gap: {inside:.2f}")
print(f"its height: {height.mean():.1f} ± {height.std():.1f}, measured so far {yields.max():.1f}")

# %%
# .. admonition:: What to remember
#
#    For a question about more than one place, draw functions, answer it for each draw, and look at
#    the answers. ``sample_functions`` works for classifiers, too, and for every method except
#    ``"local"``; JAX can differentiate the draws.
