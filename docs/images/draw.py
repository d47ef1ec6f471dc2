"""The pictures of the README and of the site's first page.

    python docs/images/draw.py

Their background is transparent and their ink has a middle tone: readable on a light and on a
dark page. What a colour says, a shape or a place says, too.
"""

from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from fewknots import GPClassifier, GPRegressor
from fewknots.datasets import keel
from fewknots.kernels import RBF, Matern12, Matern32

FOLDER = Path(__file__).parent
INK, BLUE, ORANGE = "#808890", "#2f8fd0", "#e0822a"
STYLE = {"axes.edgecolor": INK, "axes.labelcolor": INK, "xtick.color": INK, "ytick.color": INK}
STYLE |= {"text.color": INK, "axes.spines.top": False, "axes.spines.right": False, "font.size": 11}


def banana():
    """A classifier of four hundred rows, held by sixteen points, and its rows."""
    X, y, *_ = keel.read("banana")
    rows = np.random.default_rng(0).permutation(len(X))[:400]
    paper = {"kernel": "rbf", "warp": None, "n_inducing": 16, "random_state": 0}
    return GPClassifier(**paper).fit(X[rows], y[rows]), X[rows], y[rows]


def draw_banana(axes, clf, X, y):
    """Rows, the border, the lines p = 0.1 and 0.9, the inducing points."""
    ends = np.stack([X.min(axis=0) - 0.3, X.max(axis=0) + 0.3])
    across, up = np.linspace(ends[0], ends[1], 120).T
    grid = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    p = clf.predict_proba(grid)[:, 1].reshape(120, 120)
    for label, colour, marker in zip(clf.classes_, (BLUE, ORANGE), "ox", strict=True):
        axes.scatter(*X[y == label].T, s=14, c=colour, marker=marker, alpha=0.7, lw=1.2)
    levels = {"linewidths": [1, 2.4, 1], "linestyles": ["dashed", "solid", "dashed"]}
    axes.contour(across, up, p, [0.1, 0.5, 0.9], colors=INK, **levels)
    points = clf.inducing_points_
    axes.scatter(*points.T, s=70, facecolors="none", edgecolors=INK, lw=2, marker="s")
    axes.set_axis_off()


def draw_effect(axes, random):
    """A mean and its band, narrow among rows and wide beyond them."""
    x = np.sort(random.uniform(0, 7, 25))
    y = np.sin(x) + 0.15 * random.normal(size=25)
    model = GPRegressor("matern52", warp=None, random_state=0).fit(x[:, None], y)
    line = np.linspace(-0.5, 10, 200)
    mean, std = model.predict(line[:, None], return_std=True)
    axes.fill_between(line, mean - 2 * std, mean + 2 * std, color=BLUE, alpha=0.25, lw=0)
    axes.plot(line, mean, color=BLUE, lw=2.4)
    axes.plot(x, y, "o", color=ORANGE, ms=5)
    axes.set_axis_off()


def draw_kernels(axes, random):
    """A draw of a function from each of three kernels."""
    line = np.linspace(0, 10, 300, dtype=np.float32)[:, None]
    for number, kernel in enumerate((Matern12, Matern32, RBF)):
        covariance = np.asarray(kernel(lengthscale=1.2)(line, line)) + 1e-4 * np.eye(300)
        draw = np.linalg.cholesky(covariance) @ random.normal(size=300)
        colour = (ORANGE, INK, BLUE)[number]
        axes.plot(line[:, 0], draw + 4.5 * number, color=colour, lw=1.8)
    axes.set_axis_off()


def draw_bounds(axes, X, y):
    """The bound on the log evidence against the number of inducing points."""
    counts = [2, 4, 8, 16, 32, 64]
    paper = {"kernel": "rbf", "warp": None, "random_state": 0, "method": "sparse_kl"}
    bounds = [GPClassifier(n_inducing=m, **paper).fit(X, y).log_evidence_ for m in counts]
    whole = GPClassifier("rbf", warp=None, random_state=0, method="full_kl").fit(X, y)
    axes.axhline(whole.log_evidence_, color=INK, ls="dashed", lw=1.5)
    axes.plot(np.log2(counts), bounds, "o-", color=BLUE, lw=2.4, ms=7)
    axes.set_axis_off()


def save(name, size, draw, *arguments):
    """One picture of one pair of axes."""
    figure = Figure(figsize=size, layout="constrained")
    draw(figure.subplots(), *arguments)
    figure.savefig(FOLDER / name, dpi=110, transparent=True)


def main():
    """Draw all of them."""
    clf, X, y = banana()
    with rc_context(STYLE):
        save("banana.png", (7.2, 4.2), draw_banana, clf, X, y)
        save("learn.png", (5, 2), draw_banana, clf, X, y)
        save("do.png", (5, 2), draw_effect, np.random.default_rng(1))
        save("lookup.png", (5, 2), draw_kernels, np.random.default_rng(3))
        save("understand.png", (5, 2), draw_bounds, X, y)


if __name__ == "__main__":
    main()
