"""The pictures of docs/likelihoods.md: what each likelihood makes of the same kind of curve.

    python docs/images/draw_likelihoods.py               # all
    python docs/images/draw_likelihoods.py poisson beta  # some

The data are generated. A line, a band or a shade says what a colour says: the pictures can be read
in grey.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib import pyplot
from scipy.special import expit

from fewknots import GPClassifier, GPRegressor

FOLDER = Path(__file__).parent
BLUE, ORANGE, GREEN, INK = "#2f6db3", "#d9730d", "#2e9e5b", "#444444"
FIT = {"kernel": "matern52", "warp": None, "random_state": 0}
LINE = np.linspace(-0.4, 8.4, 220)
RANDOM = np.random.default_rng(2)
X = np.sort(RANDOM.uniform(0.0, 8.0, 90))
F = np.sin(X)


def counts(rate):
    """Whole numbers with this mean that vary more than Poisson's."""
    return RANDOM.poisson(rate * RANDOM.gamma(1.5, 1.0 / 1.5, size=len(rate))).astype(float)


# What is drawn: the targets, and the likelihood that is drawn beside it.
NUMBERS = {
    "gaussian": (F + 0.3 * RANDOM.normal(size=90), None),
    "student_t": (
        F + 0.15 * RANDOM.normal(size=90) + np.where(RANDOM.uniform(size=90) < 0.12, 3.0, 0.0),
        "gaussian",
    ),
    "laplace": (F + 0.35 * RANDOM.laplace(size=90), "gaussian"),
    "heteroscedastic": (F + 0.5 * np.exp(0.45 * (X - 6.0)) * RANDOM.normal(size=90), "gaussian"),
    "poisson": (RANDOM.poisson(4.0 * np.exp(F)).astype(float), None),
    "negative_binomial": (counts(4.0 * np.exp(F)), "poisson"),
    "gamma": (4.0 * np.exp(F) * RANDOM.gamma(3.0, 1.0 / 3.0, size=90), None),
    "beta": (RANDOM.beta(10.0 * expit(1.5 * F), 10.0 * expit(-1.5 * F)), None),
}


def draw_number(axes, name):
    """Targets, mean and 95 % interval; the ends of the other likelihood's interval, dashed."""
    y, beside = NUMBERS[name]
    counted = name in ("poisson", "negative_binomial")
    steps, lines = ({"step": "mid"}, {"drawstyle": "steps-mid"}) if counted else ({}, {})
    fitted = GPRegressor(likelihood=name, **FIT).fit(X[:, None], y)
    low, high = fitted.predict_interval(LINE[:, None]).T
    label = f'"{name}": mean and 95 % interval'
    axes.fill_between(LINE, low, high, color=BLUE, alpha=0.22, lw=0, **steps)
    axes.plot(LINE, fitted.predict(LINE[:, None]), color=BLUE, label=label)
    if beside is not None:
        same = FIT | {"kernel": fitted.kernel_, "learn_kernel": False}
        other = GPRegressor(likelihood=beside, **same).fit(X[:, None], y)
        ends = other.predict_interval(LINE[:, None])
        axes.plot(LINE, other.predict(LINE[:, None]), "--", color=ORANGE, lw=1.6)
        label = f'"{beside}" on the same rows'
        axes.plot(LINE, ends, "--", color=ORANGE, lw=1.1, label=[label, None], **lines)
    axes.plot(X, y, "o", color=INK, ms=3.2, alpha=0.75)
    axes.set(ylabel="y")


def draw_two_classes(axes):
    """Labels, and the probability of the second one by both links."""
    y = RANDOM.uniform(size=90) < expit(3.0 * F)
    for link, colour, style in (("probit", BLUE, "-"), ("logit", ORANGE, "--")):
        fitted = GPClassifier(likelihood=link, **FIT).fit(X[:, None], y)
        p = fitted.predict_proba(LINE[:, None])[:, 1]
        axes.plot(LINE, p, style, color=colour, label=f'p(y = 1), "{link}"')
    axes.plot(X, y, "|", color=INK, ms=9)
    axes.set(ylabel="p, and the labels")


def draw_shares(axes, fitted, colours):
    """The probabilities of the classes on top of each other, from dark to light."""
    p = fitted.predict_proba(LINE[:, None]).T
    names = [str(name) for name in fitted.classes_]
    axes.stackplot(LINE, p, colors=colours, labels=names, edgecolor="white", lw=1.2)
    axes.set(ylabel="probability", ylim=(0.0, 1.0))


def draw_ordinal(axes):
    """Four ranks of one function."""
    ranks = np.digitize(F + 0.35 * RANDOM.normal(size=90), [-0.6, 0.0, 0.6])
    fitted = GPClassifier(likelihood="ordinal", **FIT).fit(X[:, None], ranks + 1)
    draw_shares(axes, fitted, ["#0f3057", "#2f6db3", "#82a7d1", "#d6e2f0"])


def draw_softmax(axes):
    """Three classes, each with its function, without an order."""
    place = np.digitize(X + 0.5 * RANDOM.normal(size=90), [1.8, 3.6, 6.0])
    names = np.array(["ash", "beech", "cedar", "ash"])[place]
    fitted = GPClassifier(likelihood="softmax", **FIT).fit(X[:, None], names)
    draw_shares(axes, fitted, ["#16324f", "#d9730d", "#f3d9a4"])


OTHERS = {"two_classes": draw_two_classes, "ordinal": draw_ordinal, "softmax": draw_softmax}


def main():
    """One small file for each."""
    pyplot.style.use("fewknots.plots.style")
    for name in sys.argv[1:] or [*NUMBERS, *OTHERS]:
        figure, axes = pyplot.subplots(figsize=(6.4, 2.5))
        draw_number(axes, name) if name in NUMBERS else OTHERS[name](axes)
        axes.set(xlabel="x", xlim=(LINE[0], LINE[-1]))
        handles, labels = axes.get_legend_handles_labels()
        shown = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "fontsize": 9.5}
        axes.legend(handles, labels, ncols=len(labels), borderaxespad=0.2, **shown)
        figure.savefig(FOLDER / f"likelihood_{name}.png", dpi=100)
        pyplot.close(figure)


if __name__ == "__main__":
    main()
