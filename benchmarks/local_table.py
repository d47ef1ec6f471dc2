"""The local classifier beside others on every shared data set: a table in Markdown.

    python benchmarks/local_table.py --data FOLDER [--names magic adult ...] [--methods local ...]

A quarter of the rows held out at random (seed 0), or the published split. NLP, error, calibration
error (15 bins of equal width), seconds of `fit`, rows a second in prediction. Defaults throughout;
`--seconds` is max_time for the two Gaussian processes, `--kernel` is theirs. Of LightGBM's three
sizes (31, 127, 255 leaves; 100, 400, 1500 trees) the one with the best NLP on the held-out rows is
shown, which flatters it; its seconds are those of that size. `--options` is a dict of further
arguments for the local classifier. `--methods trend` is the local classifier over a sparse KL fit
by minibatches, whose decision function is one more input; the kernel has a linear part for it.
"""

import argparse
import json
import os
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fewknots import GPClassifier, datasets

NAMES = (
    "banana",
    "diabetes",
    "german",
    "image",
    "ringnorm",
    "twonorm",
    "waveform",
    "spambase",
    "magic",
    "electricity",
    "adult",
    "mnist_odd_even",
    "covtype",
    "flights",
)
METHODS = ("local", "sparse_kl", "logistic", "lightgbm")
_SIZES = ((31, 100), (127, 400), (255, 1500))


def load(name: str, folder: Path, most_rows: int):
    data = datasets.load(name, folder)
    X, y = data.X.astype(np.float64), data.y
    if data.splits:
        train, test = data.splits[0]
    else:
        order = np.random.default_rng(0).permutation(len(y))
        train, test = np.split(order, [round(0.75 * len(y))])
    return X[train][:most_rows], y[train][:most_rows], X[test][:100_000], y[test][:100_000]


def calibration_error(p: np.ndarray, y: np.ndarray, bins: int = 15) -> float:
    """Mean distance of predicted from observed shares, bins weighed by their rows."""
    place = np.minimum((p * bins).astype(int), bins - 1)
    gaps = [abs(np.sum(y[place == b] - p[place == b])) for b in range(bins)]
    return float(np.sum(gaps) / len(y))


def measured(model, X, y, X_test, y_test):
    """(NLP, error, calibration error, seconds, rows/s)."""
    started = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - started
    model.predict_proba(X_test[:1024])
    started = time.perf_counter()
    p = model.predict_proba(X_test)[:, 1]
    rate = len(y_test) / (time.perf_counter() - started)
    likely = np.clip(np.where(y_test > 0, p, 1.0 - p), 1e-15, 1.0)
    error = np.mean((p > 0.5) != (y_test > 0))
    return -np.mean(np.log(likely)), error, calibration_error(p, y_test), seconds, rate


def boosted(leaves: int, trees: int):
    from lightgbm import LGBMClassifier

    return LGBMClassifier(num_leaves=leaves, n_estimators=trees, verbosity=-1, random_state=0)


class OverTrend:
    """A local classifier that is also told what inducing points think."""

    def __init__(self, **arguments):
        kernel = arguments.pop("kernel", "rbf")
        self.trend = GPClassifier(
            kernel, method="sparse_kl", optimizer="natural_gradient", **arguments
        )
        self.local = GPClassifier(f"{kernel} + linear", method="local", **arguments)

    def fit(self, X, y):
        self.trend.fit(X, y)
        self.local.fit(self._with_trend(X), y)

    def predict_proba(self, X):
        return self.local.predict_proba(self._with_trend(X))

    def _with_trend(self, X):
        return np.column_stack([X, self.trend.decision_function(X)])


def results(method: str, data, options) -> tuple:
    if method == "logistic":
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        return measured(model, *data)
    if method == "lightgbm":
        return min((measured(boosted(*size), *data) for size in _SIZES), key=lambda r: r[0])
    common = {"max_time": options.seconds, "random_state": 0}
    if options.kernel:
        common["kernel"] = options.kernel
    if method == "trend":
        return measured(OverTrend(**common), *data)
    more = json.loads(options.options) if method == "local" else {}
    return measured(
        GPClassifier(**({"kernel": "rbf", "warp": None, "method": method} | common | more)), *data
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("FEWKNOTS_DATA"))
    parser.add_argument("--names", nargs="+", default=NAMES)
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--kernel")
    parser.add_argument("--options", default="{}")
    parser.add_argument("--most-rows", type=int, default=10**9)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| data | rows, inputs | method | NLP | error | calibration | fit, s | rows/s |")
    print("|---|---|---|---|---|---|---|---|")
    for name in options.names:
        data = load(name, Path(options.data), options.most_rows)
        for method in options.methods:
            nlp, error, calibration, seconds, rate = results(method, data, options)
            print(
                f"| {name} | {len(data[1]):,}, {data[0].shape[1]} | {method} | {nlp:.4f} | "
                f"{error:.4f} | {calibration:.4f} | {seconds:.1f} | {rate:,.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
