"""Calls on few rows: what one costs, and where the time goes.

    python benchmarks/small_calls.py [--rows 500] [--features 4] [--inducing 50]

Fits classifiers held by inducing points, by all rows and by neighbourhoods, and scikit-learn's
GaussianProcessClassifier, to the same rows. Then, for each: `predict_proba` of 1, 10, 100 and 1000
rows, the first call and the median and best of later ones; a PartialDependenceDisplay of two panels
on 200 rows; and how many programs were compiled for all of that. The parts of a call of one row:

    checks       scikit-learn's validation of X
    standardise  bringing it to the scale of the fit
    start        an empty JAX program, called and waited for
    rest         the posterior and the link: computing, and whatever goes there and back

Also the seconds of CPU until the command is told that a file is not there.
"""

import argparse
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable

import jax
import matplotlib
import numpy as np
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.inspection import PartialDependenceDisplay

from fewknots import GPClassifier
from fewknots.numerics.precision import computing_in

ROW_COUNTS = (1, 10, 100, 1000)
CALLS = 50
_COMPILED = "/jax/core/compile/backend_compile_duration"


class Compilations:
    """How many programs JAX compiled, and the seconds that took."""

    def __init__(self) -> None:
        self.count, self.seconds = 0, 0.0
        jax.monitoring.register_event_duration_secs_listener(self._note)

    def _note(self, event: str, seconds: float, **_) -> None:
        if event == _COMPILED:
            self.count, self.seconds = self.count + 1, self.seconds + seconds


def milliseconds(call: Callable[[], object]) -> np.ndarray:
    times = np.empty(CALLS)
    for i in range(CALLS):
        started = time.perf_counter()
        call()
        times[i] = time.perf_counter() - started
    return 1e3 * times


def told(times: np.ndarray) -> str:
    return f"{np.median(times):8.2f} ({np.min(times):.2f})"


def classifiers(n_inducing: int) -> dict:
    common = {"random_state": 0, "max_iter": 50}
    return {
        f"M = {n_inducing}": GPClassifier(method="sparse_kl", n_inducing=n_inducing, **common),
        "all rows": GPClassifier(method="full_kl", **common),
        "local": GPClassifier(method="local", **common),
        "scikit-learn": GaussianProcessClassifier(1.0 * RBF(2.0), random_state=0),
    }


def measure_calls(name: str, clf, rng: np.random.Generator, compilations: Compilations) -> None:
    for n_rows in ROW_COUNTS:
        X = rng.normal(size=(n_rows, clf.n_features_in_))
        before = compilations.seconds
        started = time.perf_counter()
        clf.predict_proba(X)
        first = 1e3 * (time.perf_counter() - started)
        compiling = 1e3 * (compilations.seconds - before)
        later = told(milliseconds(lambda X=X: clf.predict_proba(X)))
        print(f"{name:<14}{n_rows:>6}{first:>10.1f}{compiling:>12.1f}   {later}")


def measure_parts(name: str, clf: GPClassifier, rng: np.random.Generator) -> None:
    row = rng.normal(size=(1, clf.n_features_in_))
    empty = jax.jit(lambda x: x + 1.0)

    def start():
        with computing_in(np.dtype(np.float64)):
            return np.asarray(empty(row))

    start()
    parts = {
        "checks": np.median(milliseconds(lambda: clf._rows(row))),
        "standardise": np.median(milliseconds(lambda: clf._standardiser(row))),
        "start": np.median(milliseconds(start)),
    }
    whole = np.median(milliseconds(lambda: clf.predict_proba(row)))
    parts["rest"] = whole - sum(parts.values())
    print(f"{name:<14}" + ", ".join(f"{part} {ms:.2f} ms" for part, ms in parts.items()))


def measure_display(name: str, clf, X: np.ndarray) -> None:
    started = time.perf_counter()
    display = PartialDependenceDisplay.from_estimator(clf, X[:200], [0, 1])
    seconds = time.perf_counter() - started
    matplotlib.pyplot.close(display.figure_)
    print(f"{name:<14}{seconds:.2f} s")


def cpu_seconds(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *command], capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--features", type=int, default=4)
    parser.add_argument("--inducing", type=int, default=50)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # fits that were not given the time to converge
    matplotlib.use("Agg")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(options.rows, options.features))
    y = X[:, 0] ** 2 + X[:, 1] + 0.3 * rng.normal(size=len(X)) > 0.5
    compilations = Compilations()
    fitted = {name: clf.fit(X, y) for name, clf in classifiers(options.inducing).items()}
    in_fits = compilations.count
    print(f"{'milliseconds':<14}{'rows':>6}{'first':>10}{'compiling':>12}   later: median (best)")
    for name, clf in fitted.items():
        measure_calls(name, clf, rng, compilations)
    print("\nthe parts of a call of one row")
    for name, clf in fitted.items():
        if isinstance(clf, GPClassifier):
            measure_parts(name, clf, rng)
    print("\na partial dependence display: two panels, 200 rows")
    for name, clf in fitted.items():
        measure_display(name, clf, X)
    print(f"\nprograms compiled for all of these predictions: {compilations.count - in_fits}")
    print("\nseconds of CPU until a missing file is told, the best of three")
    commands = {
        "import typer": ["-c", "import typer"],
        "fewknots fit": ["-m", "fewknots", "fit", "nosuch.csv", "-t", "y"],
        "fewknots inspect": ["-m", "fewknots", "inspect", "nosuch.fewknots"],
    }
    for name, command in commands.items():
        print(f"{name:<18}{min(cpu_seconds(command) for _ in range(3)):.2f}")


if __name__ == "__main__":
    main()
