"""
A cluster on one machine
========================

Rows that are spread over several machines cannot be copied to one, but their *sums* can be sent:
the bound is a sum over rows. Two workers, each of which sees only half of a spiral, learn all of
it.
"""

# %%
# Rows in order from left to right, so that the two halves of the table are very different.

import dask.array as da
import numpy as np
from matplotlib import pyplot

from distributed import Client, LocalCluster
from fewknots import GPClassifier
from fewknots.plots import plot_decision_boundary

rng = np.random.default_rng(0)
n = 6000
angle = rng.uniform(0.5, 3.4, n) * np.pi
turn = rng.integers(0, 2, n)
points = np.column_stack([np.cos(angle + np.pi * turn), np.sin(angle + np.pi * turn)])
points = 0.3 * angle[:, None] * points + rng.normal(scale=0.22, size=(n, 2))
order = np.argsort(points[:, 0])
points, turn = points[order], turn[order]

# %%
# A Dask array is a table in blocks, which the workers hold.


def fitted(blocks):
    """A model of these rows, cut into so many blocks."""
    X = da.from_array(points, chunks=(n // blocks, 2))
    y = da.from_array(turn, chunks=n // blocks)
    return GPClassifier("rbf", warp=None, n_inducing=30, max_iter=6, random_state=0).fit(X, y)


# %%
# Two workers, which are threads of this program here. On a real cluster ``Client("tcp://...")`` is
# the only line that differs. The same rows are split in two ways: sums are exact, so the result is
# the same.

with (
    LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as two,
    Client(two),
):
    model, other = fitted(blocks=6), fitted(blocks=4)

same = np.array_equal(model.predict_proba(points), other.predict_proba(points))
print(f"6 blocks and 4 blocks give the same model, bit for bit: {same}")
print(f"{model.n_iter_} rounds, bound {model.log_evidence_:.1f}")

# %%
# On the left the two halves, on the right what was learned from both.

pyplot.style.use("fewknots.plots.style")
figure, axes = pyplot.subplots(1, 2, figsize=(9.0, 4.4), sharex=True, sharey=True)
for half, colour, marker in ((0, "C2", "o"), (1, "C4", "^")):
    held = points[half * n // 2 : (half + 1) * n // 2 : 6]
    axes[0].scatter(*held.T, s=8, color=colour, marker=marker)
axes[0].set_title("what each worker holds")
plot_decision_boundary(model, points, turn, grid=120, ax=axes[1])
axes[1].get_legend().remove()
axes[1].set(title="what they learn together", xlabel="", ylabel="")
pyplot.show()

# %%
# .. admonition:: What to remember
#
#    ``fit`` takes Dask arrays and dataframes and uses the cluster that is connected. Sums and
#    inducing points are sent, never rows. The model does not depend on workers or blocks, and a fit
#    survives the loss of a worker.
