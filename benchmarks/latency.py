"""One row at a time: how long `predict_proba` takes to answer.

    python benchmarks/latency.py [--rows 2500] [--features 8] [--calls 1000]

Fits held by inducing points, by all rows, by neighbourhoods, and a combination of two, and for
comparison scikit-learn's histogram boosting and LightGBM (if it is installed, with one thread: more
only cost time for one row), to the same rows. Then each answers as many rows one by one, all at
their turn, so that what else the machine does meets all alike. Printed are milliseconds of wall
clock and of CPU, half of the calls and 99 of 100 being quicker. Beside other programs a call waits
for a core now and then, for several milliseconds: then the 99 of 100 of CPU say what a quiet
machine would do.
"""

import argparse
import importlib.util
import time
import warnings

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from fewknots import GPClassifier

_MOST_ROWS_FULL = 500
_WARM_UP = 20


def classifiers(n_rows: int) -> dict:
    """By name, with the number of rows that each is fitted to."""
    quick = {"random_state": 0, "max_iter": 60}
    found = {
        "sparse_kl": (GPClassifier(method="sparse_kl", **quick), n_rows),
        "full_kl": (GPClassifier(method="full_kl", **quick), min(n_rows, _MOST_ROWS_FULL)),
        "local": (GPClassifier(method="local", **quick), n_rows),
        "auto": (GPClassifier(random_state=0), n_rows),
        "histogram boosting": (HistGradientBoostingClassifier(random_state=0), n_rows),
    }
    if importlib.util.find_spec("lightgbm") is not None:
        from lightgbm import LGBMClassifier

        found["LightGBM"] = LGBMClassifier(n_jobs=1, verbose=-1, random_state=0), n_rows
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=2500)
    parser.add_argument("--features", type=int, default=8)
    parser.add_argument("--calls", type=int, default=1000)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # fits that were not given the time to converge
    rng = np.random.default_rng(0)
    X = rng.normal(size=(options.rows, options.features))
    y = X[:, 0] ** 2 + X[:, 1] + 0.5 * rng.normal(size=len(X)) > 0.5
    queries = rng.normal(size=(_WARM_UP + options.calls, 1, options.features))
    fitted = {}
    for name, (clf, n_rows) in classifiers(options.rows).items():
        clf.fit(X[:n_rows], y[:n_rows])
        method = getattr(clf, "method_", "")
        fitted[name if method in ("", name) else f"{name} ({method})"] = clf
    wall = {name: np.empty(len(queries)) for name in fitted}
    cpu = {name: np.empty(len(queries)) for name in fitted}
    for i, row in enumerate(queries):
        for name, clf in fitted.items():
            began, used = time.perf_counter(), time.process_time()
            clf.predict_proba(row)
            wall[name][i] = time.perf_counter() - began
            cpu[name][i] = time.process_time() - used
    print(f"{'milliseconds a row':<24}{'p50':>8}{'p99':>8}{'CPU p50':>10}{'CPU p99':>10}")
    for name in fitted:
        of_wall, of_cpu = (
            np.quantile(1e3 * times[name][_WARM_UP:], (0.5, 0.99)) for times in (wall, cpu)
        )
        print(f"{name:<24}{of_wall[0]:>8.2f}{of_wall[1]:>8.2f}{of_cpu[0]:>10.2f}{of_cpu[1]:>10.2f}")


if __name__ == "__main__":
    main()
