"""The pictures of the page about the method: rivals on a line of rows, and two ways up one bound.

python docs/images/draw_methods.py
"""

from functools import partial

import numpy as np
from draw import BLUE, INK, ORANGE, STYLE, save
from matplotlib import rc_context
from scipy.special import log_ndtr

from fewknots import GPClassifier
from fewknots.kernels import RBF

LINE = np.linspace(-1.0, 11.0, 200)[:, None]
WIDE = RBF(1.0, 25.0)  # a large variance: where the methods differ
KNOWN = {"warp": None, "standardize": False, "random_state": 0}


def rows(random):
    """Forty rows on a line, whose classes change three times, some at random."""
    x = np.sort(random.uniform(0, 10, 40))
    return x[:, None], (np.sin(1.1 * x) + 0.5 * random.normal(size=40) > 0).astype(int)


def draw_rivals(axes, curves, X, y):
    """One probability for each method, and the rows above and below."""
    for number, (name, p) in enumerate(curves.items()):
        style = ("solid", "dashed", "dotted", "dashdot")[number]
        axes.plot(
            LINE[:, 0], p, ls=style, lw=2.2, color=(BLUE, ORANGE, INK, BLUE)[number], label=name
        )
    axes.plot(X[:, 0], np.where(y, 1.06, -0.06), "|", ms=11, color=INK)
    axes.set(ylim=(-0.12, 1.12), xlabel="x", ylabel="probability of class 1")
    axes.legend(frameon=False, ncols=2, loc="center", bbox_to_anchor=(0.5, 1.1))


def rivals(axes, random):
    X, y = rows(random)
    methods = ("full_kl", "ep", "laplace")
    curves = {}
    for method in methods:
        clf = GPClassifier(WIDE, method=method, learn_kernel=False, **KNOWN).fit(X, y)
        curves[method] = clf.predict_proba(LINE)[:, 1]
    draw_rivals(axes, curves, X, y)


def knots(axes, random):
    X, y = rows(random)
    curves = {}
    for count in (3, 5, 10):
        clf = GPClassifier("rbf", method="sparse_kl", n_inducing=count, **KNOWN).fit(X, y)
        curves[f"{count} points"] = clf.predict_proba(LINE)[:, 1]
    curves["all rows"] = (
        GPClassifier("rbf", method="full_kl", **KNOWN).fit(X, y).predict_proba(LINE)[:, 1]
    )
    draw_rivals(axes, curves, X, y)


# --- one latent value; three labels say 1, one says 0 --------------------------------------------
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(60)
WEIGHTS = WEIGHTS / np.sqrt(2.0 * np.pi)
PRIOR = 9.0  # the variance of f


def bound(mean, deviation):
    """E_q[log p(y|f)] - KL(q ‖ p), q = N(mean, deviation²), p = N(0, PRIOR)."""
    f = np.asarray(mean)[..., None] + np.asarray(deviation)[..., None] * NODES
    likelihood = (3.0 * log_ndtr(f) + log_ndtr(-f)) @ WEIGHTS
    ratio = np.square(deviation) / PRIOR
    return likelihood - 0.5 * (ratio + np.square(mean) / PRIOR - 1.0 - np.log(ratio))


def slopes(mean, deviation):
    """∂/∂mean and ∂/∂deviation of the bound, by central differences."""
    step = 1e-5
    by_mean = bound(mean + step, deviation) - bound(mean - step, deviation)
    by_deviation = bound(mean, deviation + step) - bound(mean, deviation - step)
    return by_mean / (2 * step), by_deviation / (2 * step)


def paths(steps=12, start=(-2.0, 0.15)):
    """(mean, deviation) after each step of gradient ascent, and of natural gradients."""
    plain, natural = [start], [start]
    for _ in range(steps):
        mean, deviation = plain[-1]
        by_mean, by_deviation = slopes(mean, deviation)
        plain.append((mean + 0.08 * by_mean, deviation + 0.08 * by_deviation))
        mean, deviation = natural[-1]
        by_mean, by_deviation = slopes(mean, deviation)
        # With η₁ = mean/v, η₂ = -1/(2v) the natural gradient is the slope by E[f] and E[f²];
        # the step has length 1.
        by_variance = by_deviation / (2.0 * deviation)
        first = mean / deviation**2 + by_mean - 2.0 * mean * by_variance
        second = -0.5 / deviation**2 + by_variance
        natural.append((-0.5 * first / second, np.sqrt(-0.5 / second)))
    return np.array(plain), np.array(natural)


def gradients(axes):
    mean, deviation = np.meshgrid(np.linspace(-2.4, 2.2, 120), np.linspace(0.05, 1.6, 120))
    levels = [-12, -9, -7, -5.5, -4.5, -4, -3.6, -3.4, -3.3]
    axes.contour(
        mean,
        deviation,
        bound(mean, deviation),
        levels,
        colors=INK,
        linewidths=0.8,
        linestyles="solid",
    )
    plain, natural = paths()
    axes.plot(*plain.T, "x--", color=ORANGE, lw=1.6, ms=7, label="gradient")
    axes.plot(*natural.T, "o-", color=BLUE, lw=2, ms=6, label="natural gradient")
    axes.set(xlabel="mean of q", ylabel="standard deviation of q")
    axes.legend(frameon=False, ncols=2, loc="center", bbox_to_anchor=(0.5, 1.08))


def main():
    """Draw all of them."""
    with rc_context(STYLE):
        for draw in (rivals, knots):
            save(f"{draw.__name__}.png", (7.2, 3.2), partial(draw, random=np.random.default_rng(2)))
        save("gradients.png", (7.2, 3.6), gradients)


if __name__ == "__main__":
    main()
