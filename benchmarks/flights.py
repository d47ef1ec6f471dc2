"""Flight delays (the paper's section 5): NLP against time, beside GPyTorch and the linear model.

    python benchmarks/flights.py --data FOLDER [--inducing 300] [--seconds 160] [--peer-seconds 90]

FOLDER holds airline_8feature.parquet; complete rows, 100,000 held out at random (seed 0), late
means arr_delay > 0. Matérn-3/2 + linear, one lengthscale an input, as in the paper. Several
`--inducing` show how the NLP falls with M.
"""

import sys
import time
from pathlib import Path

import numpy as np

from fewknots import datasets
from fewknots.datasets.flights import FEATURES

sys.path.insert(0, str(Path(__file__).parent))
import race

TARGETS = [0.64, 0.60, 0.591, 0.579, 0.57, 0.56, 0.556, 0.55]


def load(folder: Path) -> race.Task:
    _, X, y, _, ((train, test),), _ = datasets.load("flights", folder)
    X = X.astype(np.float64)  # means over a million rows are taken of it
    return race.Task(X[train], y[train], X[test], y[test], "matern32 + linear", True, True)


def linear_model(task: race.Task) -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    started = time.perf_counter()
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(task.X, task.y)
    seconds = time.perf_counter() - started
    error, nlp = race.scores(model, task)
    print(f"logistic regression: {seconds:.1f} s; test NLP {nlp:.4f}, error {error:.4f}")


def show_lengthscales(clf) -> None:
    matern, linear = clf.kernel_.k1, clf.kernel_.k2
    print("  input           lengthscale   linear variance   (inputs standardised)")
    for i in np.argsort(matern.lengthscale):
        print(f"  {FEATURES[i]:<15} {matern.lengthscale[i]:10.2f} {linear.variance[i]:15.4f}")


def load_and_compare(folder: Path) -> race.Task:
    task = load(folder)
    print(f"{len(task.y)} rows to learn from, {len(task.y_test)} held out")
    linear_model(task)
    return task


if __name__ == "__main__":
    race.main(__doc__, load_and_compare, TARGETS, 300, 160.0, show_lengthscales)
