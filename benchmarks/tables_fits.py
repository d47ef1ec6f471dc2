"""One result of benchmarks/tables.py for another library: with defaults, or the best of a search.

"tuned" is the best of SETTINGS random settings, by three-fold cross-validated NLP on the training
rows (of mnist on 4,172 of them). The number of trees is found by stopping early in each fold;
the mean of the three is that of the last fit, on all training rows. Its `seconds` are those of all
fits of the search, one after the other, and of the last.
"""

import time

import numpy as np

from tables_peers import PEERS

SETTINGS = 30
MOST_CELLS = 3_000_000  # rows times inputs: a search on mnist (719 inputs) has 4172 rows
MOST_TREES = 800  # rounds
MOST_CLASS_TREES = 10_000  # a round has a tree for each of more than two classes: letter has 384
TRIALS = {"logistic regression": 10}  # for its one number


def scores(P, classes, y, bins=15):
    """NLP, error, and the calibration error of all classes in the mean, in bins of equal width."""
    P, place = np.asarray(P), np.searchsorted(classes, y)
    known = np.isin(y, classes)
    place = np.where(known, place, 0)
    likely = np.where(known, P[np.arange(len(y)), place], 0.0)
    gaps = []
    for c, name in enumerate(classes):
        bin_of = np.minimum((P[:, c] * bins).astype(int), bins - 1)
        gaps.append(np.abs(np.bincount(bin_of, P[:, c] - (y == name), bins)).sum() / len(y))
    return {
        "nlp": float(-np.log(np.maximum(likely, 1e-15)).mean()),
        "error": float(np.mean(classes[P.argmax(axis=1)] != y)),
        "ece": float(np.mean(gaps)),
    }


class Clock:
    """Seconds, and the CPU seconds of this process's threads."""

    def __init__(self):
        self.started, self.worked = time.perf_counter(), time.process_time()

    def read(self):
        return {
            "seconds": time.perf_counter() - self.started,
            "cpu_seconds": time.process_time() - self.worked,
        }


def seconds_for_10000(model, X):
    """How long the probabilities of so many rows take, a test row several times if need be."""
    again = np.random.default_rng(0).integers(0, len(X), 10_000)
    rows = X.iloc[again] if hasattr(X, "iloc") else X[again]
    model.predict_proba(rows)  # the first call may compile
    clock = Clock()
    model.predict_proba(rows)
    return clock.read()["seconds"]


def read_split(folder, name, split):
    """Training rows, their classes, test rows, theirs, and which columns are categories."""
    held = np.load(folder / f"{name}.npz")
    X, y = held["x"].astype(np.float64), held["y"].astype(int)
    train, test = held[f"train_{split}"], held[f"test_{split}"]
    return X[train], y[train], X[test], y[test], held["categorical"]


def settings_of(peer, trial):
    """The random setting of this number, the same for every set and split."""
    rng = np.random.default_rng([2015, trial])
    return {name: draw(rng) for name, draw in peer.space.items()}


def most_trees(classes):
    return MOST_TREES if classes == 2 else min(MOST_TREES, MOST_CLASS_TREES // classes)


def try_setting(folder, name, split, method, trial):
    """A setting's NLP in three folds of the training rows."""
    from sklearn.model_selection import StratifiedKFold

    X, y, _, _, mask = read_split(folder, name, split)
    peer = PEERS[method](mask)
    most = MOST_CELLS // X.shape[1]
    X, y = X[:most], y[:most]  # the rows of a split are in random order
    options, found = settings_of(peer, trial), []
    peer.model(**options)  # what is imported is not counted
    clock = Clock()
    for train, test in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y):
        limit = most_trees(len(np.unique(y)))
        found.append(peer.watched(options, limit, X[train], y[train], X[test], y[test]))
    trees, nlp = zip(*found, strict=True)
    more = {peer.trees: round(float(np.mean(trees)))} if peer.trees else {}
    return {"trial": trial, "nlp": float(np.mean(nlp)), "settings": options | more} | clock.read()


def fit_and_score(folder, name, split, method, variant, trials):
    """One result: a fit with defaults, with so many trees, or the best setting tried."""
    X, y, X_test, y_test, mask = read_split(folder, name, split)
    peer, options = PEERS[method](mask), {}
    if variant == "tuned":
        options = min(trials, key=lambda trial: trial["nlp"])["settings"]
    elif variant:
        options = {peer.trees: int(variant.removesuffix(" trees"))}
    model = peer.model(**options)
    clock = Clock()
    peer.fit(model, X, y)
    times = clock.read()
    for what in times:
        times[what] += sum(trial[what] for trial in trials)
    rows = peer.rows(X_test)
    times["seconds_10000"] = seconds_for_10000(model, rows)
    found = scores(model.predict_proba(rows), model.classes_, y_test)
    shape = {"rows": len(y), "inputs": X.shape[1], "classes": len(np.unique(y))}
    return shape | found | times | {"settings": options}
