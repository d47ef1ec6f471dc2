"""Many classes: defaults beside LightGBM, one classifier against the rest, and a linear model.

    python benchmarks/classes.py --data FOLDER [--splits 1] [--most-rows 100000] [--methods NAMES]
        [names of sets]

FOLDER holds multi_*.npz, covtype.npz (its seven classes) and mnist.npz (ten digits). A quarter of
the rows is for testing, drawn at random with the number of the split as seed, MNIST's own test rows
apart. For each set and method: NLP, error, classwise calibration error (ten bins, mean of all
classes) on the test rows, and the seconds of training with compiling.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fewknots import GPClassifier

SETS = ("contraceptive", "segment", "satimage", "penbased", "letter", "covtype", "mnist")


def load(name, folder, seed, most_rows):
    """Training rows and test rows."""
    rng = np.random.default_rng(seed)
    if name == "mnist":
        held = np.load(folder / "mnist.npz")
        X, X_test = (held[f"{part}_images"].reshape(-1, 784) / 255.0 for part in ("train", "test"))
        y, y_test = held["train_labels"].astype(int), held["test_labels"].astype(int)
        used = X.max(axis=0) > 0
        return X[:, used], y, X_test[:, used], y_test
    if name == "covtype":
        held = np.load(folder / "covtype.npz")
        X, y = held["x"], held["y_class"].astype(int)
    else:
        held = np.load(folder / f"multi_{name}.npz")
        X, y = held["x"], held["y"].astype(int)
    order = rng.permutation(len(y))
    test, train = np.split(order, [min(len(y) // 4, 50_000)])
    train = train[:most_rows]
    return X[train].astype(np.float64), y[train], X[test].astype(np.float64), y[test]


def lightgbm(**options):
    from lightgbm import LGBMClassifier

    return LGBMClassifier(verbose=-1, **options)


METHODS = {
    "fewknots": lambda: GPClassifier(random_state=0),
    "fewknots, sparse_kl": lambda: GPClassifier(method="sparse_kl", random_state=0),
    "fewknots, local": lambda: GPClassifier(method="local", random_state=0),
    "one against the rest": lambda: OneVsRestClassifier(GPClassifier(random_state=0)),
    "LightGBM": lightgbm,
    "LightGBM, 500 trees of 127 leaves": lambda: lightgbm(n_estimators=500, num_leaves=127),
    "logistic regression": lambda: make_pipeline(
        StandardScaler(), LogisticRegression(max_iter=1000)
    ),
}


def scores(P, codes, bins=10):
    """NLP, error, classwise calibration error."""
    nlp = -np.log(np.maximum(P[np.arange(len(codes)), codes], 1e-15)).mean()
    classwise = []
    for c in range(P.shape[1]):
        place = np.minimum((P[:, c] * bins).astype(int), bins - 1)
        sums = np.bincount(place, P[:, c] - (codes == c), minlength=bins)
        classwise.append(np.abs(sums).sum() / len(codes))
    return nlp, np.mean(P.argmax(axis=1) != codes), np.mean(classwise)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=SETS, help=", ".join(SETS))
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--most-rows", type=int, default=1_000_000)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| set (rows, inputs, classes) | method | NLP | error | ECE | seconds |")
    print("|---|---|---|---|---|---|")
    for name in options.sets:
        for seed in range(options.splits):
            X, y, X_test, y_test = load(name, options.data, seed, options.most_rows)
            shape = f"{len(y):,}, {X.shape[1]}, {len(np.unique(y))}"
            for method in options.methods:
                started = time.perf_counter()
                found = METHODS[method]().fit(X, y)
                seconds = time.perf_counter() - started
                codes = np.searchsorted(found.classes_, y_test)
                nlp, error, ece = scores(np.asarray(found.predict_proba(X_test)), codes)
                won = getattr(found, "method_", "")
                said = f"{method} ({won})" if method == "fewknots" else method
                row = f"{nlp:.4f} | {error:.2%} | {ece:.4f} | {seconds:.1f}"
                print(f"| {name} ({shape}) | {said} | {row} |", flush=True)


if __name__ == "__main__":
    main()
