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

sys.path.insert(0, str(Path(__file__).parent))
import race

FEATURES = [
    "month",
    "day_of_month",
    "day_of_week",
    "dep_time",
    "arr_time",
    "air_time",
    "distance",
    "plane_age",
]
TARGETS = [0.64, 0.60, 0.591, 0.579, 0.57, 0.56, 0.556, 0.55]


def load(folder: Path) -> race.Task:
    import pyarrow.parquet as pq

    table = pq.read_table(folder / "airline_8feature.parquet", columns=[*FEATURES, "arr_delay"])
    X = np.column_stack(
        [table[name].to_numpy(zero_copy_only=False).astype(float) for name in FEATURES]
    )
    complete = np.isfinite(X).all(axis=1)
    X, y = X[complete], (table["arr_delay"].to_numpy()[complete] > 0).astype(int)
    order = np.random.default_rng(0).permutation(len(X))
    test, train = order[:100_000], order[100_000:]
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
