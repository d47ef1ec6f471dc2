"""
Some rows are simply wrong
==========================

A sensor that sticks, a comma in the wrong place: a few values that have nothing to do with the
rest. Gaussian noise must explain them, so it bends the curve or treats all rows as noisy.
Student's t expects such rows.
"""

# %%
# A smooth curve, little noise, and every twelfth value far off.

import numpy as np
from matplotlib import pyplot

from fewknots import GPRegressor

rng = np.random.default_rng(5)
x = np.sort(rng.uniform(0.0, 10.0, 120))[:, None]
truth = np.sin(x[:, 0]) + 0.3 * x[:, 0]
y = truth + rng.normal(scale=0.15, size=120)
wrong = rng.permutation(120)[:10]
y[wrong] += rng.choice([-1.0, 1.0], 10) * rng.uniform(2.0, 5.0, 10)

# %%
# The same model twice, with another likelihood.

models = {
    "Gaussian noise": GPRegressor("rbf", warp=None, random_state=0),
    "Student's t": GPRegressor("rbf", warp=None, likelihood="student_t", random_state=0),
}
grid = np.linspace(0.0, 10.0, 200)[:, None]
pyplot.style.use("fewknots.plots.style")
figure, axes = pyplot.subplots(1, 2, figsize=(9.0, 4.2), sharey=True)
for ax, (name, model), colour in zip(axes, models.items(), ("C1", "C0"), strict=True):
    model.fit(x, y)
    f, variance = model.predict_latent(grid)
    for width, alpha in ((1.96, 0.25), (0.67, 0.35)):
        band = width * np.sqrt(variance)
        ax.fill_between(grid[:, 0], f - band, f + band, color=colour, alpha=alpha, linewidth=0)
    ax.plot(grid[:, 0], f, color=colour)
    ax.plot(grid[:, 0], np.sin(grid[:, 0]) + 0.3 * grid[:, 0], "--", color="#222222", lw=1)
    right = np.delete(np.arange(120), wrong)
    ax.plot(x[right, 0], y[right], ".", color="#444444", markersize=5)
    ax.plot(x[wrong, 0], y[wrong], "x", color="#222222", markersize=7, markeredgewidth=2)
    error = np.sqrt(np.mean((model.predict_latent(x)[0] - truth) ** 2))
    ax.set_title(f"{name}: error of the curve {error:.3f}")
    ax.set_xlabel("x")
    print(f"{name:15} log evidence {model.log_evidence_:7.1f}, error of the curve {error:.3f}")
pyplot.show()

# %%
# The dashed line is the truth, the bands hold half and 95 % of the belief about it. The evidence
# prefers Student's t by far, without having seen the dashed line.

found = models["Student's t"].likelihood_
print(f"scale {found.scale:.3f}, degrees of freedom {2.0 + found.excess:.3f}")

# %%
# .. admonition:: What to remember
#
#    Do not delete outliers by hand: use ``likelihood="student_t"`` and let the model decide which
#    rows to believe. ``log_evidence_`` shows whether it was needed.
