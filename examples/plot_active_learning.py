"""
Active learning: ask where a label tells the most
=================================================

Labels cost money. Is a handwritten digit odd or even? A model begins with ten labels of random
rows and asks for ten more at a time, those of ``fewknots.acquire.select_batch``; a second model
gets as many labels of random rows. Both are scored on rows that neither of them learns from.
"""

# %%
# The digits come with scikit-learn, as 8 x 8 pixels; the model sees their first 20 principal
# components. There is a second set to try, of cells that are benign or malignant.

import argparse

import numpy as np
from matplotlib import pyplot
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.decomposition import PCA
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from fewknots import GPClassifier, acquire

FIRST, BATCH = 10, 10
MOST_CANDIDATES = 400  # of the pool, at random: the covariance is of all of them


def digits():
    """Even or odd: 1797 pictures of 8 x 8 pixels, by their first 20 principal components."""
    X, y = load_digits(return_X_y=True)
    return PCA(20, random_state=0).fit_transform(X / 16.0), y % 2


def cells():
    """Benign or malignant: 569 rows, 30 measurements."""
    X, y = load_breast_cancer(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


DATA = {"digits": digits, "cells": cells}

# %%
# A strategy chooses ten of the candidates, given the current model. ``select_batch`` takes
# rows whose labels are informative *together*: after each choice it assumes that this label is
# known.

STRATEGIES = {
    "select_batch": lambda model, X: acquire.select_batch(model, X, BATCH),
    "random rows": lambda model, X: np.arange(BATCH),  # candidates are in random order
}

# %%
# One run: fit, score, ask, and again.


def first_labels(y, random):
    """Random rows, of which not all have the same label."""
    while True:
        seen = random.choice(len(y), FIRST, replace=False)
        if len(np.unique(y[seen])) > 1:
            return seen


def curve(X, y, asks, seed, rounds):
    """Error and negative log probability (NLP) after each round."""
    random = np.random.default_rng(seed)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=seed, stratify=y)
    seen = first_labels(y, random)
    scores = []
    for _ in range(rounds + 1):
        model = GPClassifier("rbf", ard=False, method="full_kl", warp=None, standardize=False)
        model.fit(X[seen], y[seen])
        p = model.predict_proba(X_test)
        scores.append((np.mean(p.argmax(axis=1) != y_test), log_loss(y_test, p)))
        left = np.setdiff1d(np.arange(len(X)), seen)
        candidates = random.choice(left, min(MOST_CANDIDATES, len(left)), replace=False)
        seen = np.append(seen, candidates[asks(model, X[candidates])])
    return np.array(scores)


# %%
# Two divisions of the rows are enough to see it. ``--repeats 10`` gives smaller error bars.

options = argparse.ArgumentParser()
options.add_argument("--data", choices=DATA, default="digits")
options.add_argument("--repeats", type=int, default=2)
options.add_argument("--rounds", type=int, default=9)
given = options.parse_args()

X, y = DATA[given.data]()
found = {
    name: np.array([curve(X, y, asks, seed, given.rounds) for seed in range(given.repeats)])
    for name, asks in STRATEGIES.items()
}
labels = FIRST + BATCH * np.arange(given.rounds + 1)
print("labels " + "".join(f"{name:>28}" for name in found))
for number, count in enumerate(labels):
    means = (scores[:, number].mean(axis=0) for scores in found.values())
    shown = (f"{100 * error:12.1f} %  NLP {nlp:.3f}" for error, nlp in means)
    print(f"{count:6d} " + "".join(f"{cell:>28}" for cell in shown))

# %%
# Bars are standard errors over the divisions.

pyplot.style.use("fewknots.plots.style")
figure, axes = pyplot.subplots(1, 2, figsize=(8.0, 3.8))
for column, (ax, label) in enumerate(zip(axes, ("error", "NLP"), strict=True)):
    for (name, scores), marker in zip(found.items(), "os", strict=True):
        values = scores[..., column]
        error = values.std(axis=0) / np.sqrt(len(values))
        ax.errorbar(labels, values.mean(axis=0), error, marker=marker, label=name)
    ax.set(xlabel="labels", title=f"{label} on rows held out", ylim=(0, None))
axes[0].legend()
pyplot.show()

# %%
# .. admonition:: What to remember
#
#    With chosen rows about half as many labels are enough for the same error. The NLP is higher at
#    first: rows that were chosen because they are hard are not typical, and at first
#    probabilities are too close to one half.
