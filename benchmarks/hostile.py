"""Fits to hostile rows: that they end, in what time, and with finite probabilities.

    python benchmarks/hostile.py [--rows 2100] [names of cases]

Each case is fitted in a process of its own beside the same rows without what is hostile in them:
seconds of CPU of both, and whether every log probability is finite, also far away from the rows.
"""

import argparse
import subprocess
import sys
import time
import warnings

import numpy as np

from fewknots import GPClassifier


def with_weights(rng, X, y):
    return {"sample_weight": 1e30 * rng.uniform(0.1, 10.0, size=len(X))}


def with_weights_of_all_sizes(rng, X, y):
    return {"sample_weight": 10.0 ** rng.uniform(-30.0, 30.0, size=len(X))}


def with_opposite_copies(rng, X, y):
    half = len(X) // 2
    X[half : 2 * half], y[half : 2 * half] = X[:half], ~y[:half]
    return {}


def with_heavy_tails(rng, X, y):
    X[:] = rng.standard_cauchy(size=X.shape)
    return {}


def with_huge_inputs(rng, X, y):
    X *= 1e90
    return {}


CASES = {
    "weights around 1e30": (with_weights, {}),
    "weights around 1e30, local": (with_weights, {"method": "local"}),
    "weights around 1e30, sparse": (with_weights, {"method": "sparse_kl"}),
    "weights from 1e-30 to 1e30": (with_weights_of_all_sizes, {}),
    "each row again with the other label": (with_opposite_copies, {}),
    "Cauchy tails": (with_heavy_tails, {}),
    "linear * linear, inputs around 1e90": (with_huge_inputs, {"kernel": "linear * linear"}),
}


def fitted(case: str, n_rows: int, hostile: bool) -> tuple[float, bool, str]:
    """CPU seconds of a fit, whether all log probabilities are finite, and the method."""
    spoil, parameters = CASES[case]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 3))
    y = X[:, 0] + rng.normal(size=n_rows) > 0
    arguments = spoil(rng, X, y) if hostile else {}
    started = time.process_time()
    clf = GPClassifier(random_state=0, **parameters).fit(X, y, **arguments)
    seconds = time.process_time() - started
    finite = all(np.isfinite(clf.predict_log_proba(far * X[:100])).all() for far in (1.0, 1e3))
    return seconds, finite, clf.method_


def run(case: str, n_rows: int) -> None:
    """One case, hostile and then plain: compiling counts for the hostile one."""
    warnings.simplefilter("ignore")
    outcomes = [fitted(case, n_rows, hostile) for hostile in (True, False)]
    (seconds, finite, method), (plain, _, _) = outcomes
    print(f"| {case} | {method} | {seconds:.1f} | {plain:.1f} | {finite} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=2100)
    parser.add_argument("cases", nargs="*", metavar="case", help=", ".join(CASES))
    options = parser.parse_args()
    if len(options.cases) == 1:
        run(options.cases[0], options.rows)
        return
    print("| rows | method | CPU, s, with compiling | CPU, s, without what is hostile | finite |")
    print("|---|---|---|---|---|", flush=True)
    for case in options.cases or CASES:
        subprocess.run([sys.executable, __file__, "--rows", str(options.rows), case], check=True)


if __name__ == "__main__":
    main()
