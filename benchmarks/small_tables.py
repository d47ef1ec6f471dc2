"""Small tables: the defaults beside logistic regression, histogram boosting and a plain GP.

    python benchmarks/small_tables.py choosing --cache FILE --data FOLDER
    python benchmarks/small_tables.py reporting --cache FILE

prints the mean negative log probability (NLP) of 2000 test rows for each problem, and how often
fewknots is behind the best of the others by more than 0.02, and behind logistic regression (its
better one: with defaults, or with C cross-validated) by more than 0.01.

Defaults may be chosen by the list `choosing` alone: generated problems (small_problems.py) and, if
--data is given, small parts of sets that this project chooses by. The list `reporting` has other
families and another seed. Every fit is kept in --cache by the name that --label gives to what was
fitted, so the command can be stopped and run again; several labels are shown side by side.
With --label rbf --settings '{"kernel": "rbf"}' it is the default of earlier versions.
"""

import argparse
import json
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np

from fewknots import GPClassifier, datasets
from small_problems import CHOOSING, REPORTING

SEEDS = {"choosing": 19, "reporting": 2719}
BEHIND_BEST, BEHIND_LOGISTIC = 0.02, 0.01
MOST_ROWS_GP = 600  # for scikit-learn's GP, whose time grows with their cube
_FLOOR = 1e-12  # of the others' probabilities: a tree can say 0
IDA = ("banana", "breast_cancer", "diabetes", "german", "heart")
PARTS = {  # file, rows to learn from
    "multi_contraceptive": 500,
    "multi_segment": 300,
    "magic": 500,
    "spambase": 500,
}
LOGISTIC = ("logistic regression", "logistic regression, C by folds")
OTHERS = (*LOGISTIC, "histogram boosting", "scikit-learn's GP")


def tables(which, folder):
    """(name, X, y, X_test, y_test) of each problem."""
    for problem in {"choosing": CHOOSING, "reporting": REPORTING}[which]:
        yield problem.name, *problem.rows(SEEDS[which])
    if which == "choosing" and folder is not None:
        yield from real_tables(folder)


def real_tables(folder):
    for name in IDA:
        _, X, y, _, splits, _ = datasets.load(name, folder)
        train, test = splits[0]
        yield f"{name}, {len(train)} rows", X[train], y[train], X[test], y[test]
    for name, n_rows in PARTS.items():
        with np.load(folder / f"{name}.npz") as held:
            X, y = held["x"].astype(float), held["y"]
        order = np.random.default_rng(SEEDS["choosing"]).permutation(len(y))
        train, test = order[:n_rows], order[n_rows : n_rows + 2000]
        yield f"{name}, {n_rows} rows", X[train], y[train], X[test], y[test]


def other(name, n_rows):
    """One of the others, or None where it would take too long."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.gaussian_process import GaussianProcessClassifier
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel
    from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if name == LOGISTIC[0]:
        return make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    if name == LOGISTIC[1]:
        penalties = {"Cs": np.logspace(-4, 2, 13), "scoring": "neg_log_loss", "max_iter": 2000}
        return make_pipeline(StandardScaler(), LogisticRegressionCV(cv=5, **penalties))
    if name == "histogram boosting":
        return HistGradientBoostingClassifier(random_state=0)
    if n_rows > MOST_ROWS_GP:
        return None
    return make_pipeline(StandardScaler(), GaussianProcessClassifier(ConstantKernel() * RBF(2.0)))


def nlp(model, X, y):
    """Of test rows; classes that the model does not know have the smallest probability."""
    p = np.full((len(y), int(max(y.max(), np.max(model.classes_))) + 1), _FLOOR)
    p[:, model.classes_.astype(int)] = model.predict_proba(X)
    return float(np.mean(-np.log(np.maximum(p[np.arange(len(y)), y.astype(int)], _FLOOR))))


def scored(model, X, y, X_test, y_test):
    """[NLP, CPU seconds of the fit]."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        started = time.process_time()
        model.fit(X, y)
        seconds = time.process_time() - started
        if isinstance(model, GPClassifier):
            log_p = model.predict_log_proba(X_test)
            place = np.searchsorted(model.classes_, y_test)
            return [float(-np.mean(log_p[np.arange(len(place)), place])), seconds]
        return [nlp(model, X_test, y_test), seconds]


class Cache:
    """Results by problem and by what was fitted, in a JSON file."""

    def __init__(self, path):
        self.path = path
        self.known = json.loads(path.read_text()) if path and path.exists() else {}

    def score(self, what, name, make, rows):
        key = f"{what} | {name}"
        if key not in self.known:
            model = make()
            self.known[key] = None if model is None else scored(model, *rows)
            if self.path:
                self.path.write_text(json.dumps(self.known, indent=0))
        return self.known[key]


def run(arguments, settings):
    """A table of NLPs, printed row by row, and the counts below it."""
    cache, results = Cache(arguments.cache), []
    ours = arguments.label
    print("| problem | " + " | ".join((*ours, *OTHERS)) + " |")
    print("|---" * (1 + len(ours) + len(OTHERS)) + "|", flush=True)
    for name, *rows in tables(arguments.which, arguments.data):
        if arguments.only and arguments.only not in name:
            continue
        found = [
            cache.score(label, name, lambda: GPClassifier(random_state=0, **settings), rows)
            for label in ours
        ]
        for rival in OTHERS:
            make = partial(other, rival, len(rows[1]))
            found.append(cache.score(rival, name, make, rows))
        results.append([np.nan if one is None else one[0] for one in found])
        seconds = [
            f" ({one[1]:.1f} s)" if one and i < len(ours) else "" for i, one in enumerate(found)
        ]
        cells = [f"{x:.3f}{s}" for x, s in zip(results[-1], seconds, strict=True)]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    report(np.array(results), ours)


def report(results, ours):
    others = results[:, len(ours) :]
    best, logistic = np.nanmin(others, axis=1), np.nanmin(others[:, : len(LOGISTIC)], axis=1)
    print(f"\n{len(results)} problems")
    for label, mine in zip(ours, results.T, strict=False):
        print(
            f"{label}: mean NLP {mine.mean():.4f}, behind the best by more than {BEHIND_BEST}: "
            f"{np.sum(mine > best + BEHIND_BEST)}, behind logistic regression by more than "
            f"{BEHIND_LOGISTIC}: {np.sum(mine > logistic + BEHIND_LOGISTIC)}, best of all: "
            f"{np.sum(mine <= best)}"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("which", choices=tuple(SEEDS))
    parser.add_argument("--cache", type=Path, help="JSON file that keeps every result")
    parser.add_argument("--data", type=Path, help="folder with the real sets; none without it")
    parser.add_argument("--label", nargs="+", default=["auto"], help="names of what is fitted")
    parser.add_argument("--only", help="problems whose name has this in it")
    parser.add_argument("--settings", type=json.loads, default={}, help="GPClassifier's, as JSON")
    chosen = parser.parse_args()
    run(chosen, chosen.settings)
