"""Two checkouts of fewknots side by side: is the newer one slower at what it always did?

    python benchmarks/versions.py OTHER_CHECKOUT --data FOLDER [--repeats 5] [names of tasks]

FOLDER holds ida_image.npz and mnist.npz. The tasks are the inner parts of full_batch.py, mnist.py
and prediction.py: a warm full-batch fit, warm minibatch steps, and warm prediction, with what all
versions have: RBF, no warp, batches of 1024. Each task runs in a process of its own, this checkout
and the other one in turn, so that both see the same machine. A process reports its best of several
repetitions. The table has the best of all processes and the ratio of the two: below 1 this checkout
is faster.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from inspect import signature
from pathlib import Path

import numpy as np


def best_of(count: int, function) -> float:
    function()  # compiles
    times = []
    for _ in range(count):
        started = time.perf_counter()
        function()
        times.append(time.perf_counter() - started)
    return min(times)


def classifier(**parameters):
    """The same model in every version: later ones have other defaults."""
    from fewknots import GPClassifier

    plain = {"warp": None} if "warp" in signature(GPClassifier).parameters else {}
    return GPClassifier("rbf", random_state=0, **plain, **parameters)


def full_batch(folder: Path) -> float:
    """Thirty iterations of L-BFGS on the image data, 64 inducing points."""
    from fewknots import datasets

    _, X, y, *_ = datasets.load("image", folder)
    parameters = {"n_inducing": 64, "method": "sparse_kl", "max_iter": 30, "tol": 0.0}
    return best_of(3, lambda: classifier(**parameters).fit(X, y))


def minibatches(folder: Path) -> float:
    """Two hundred natural-gradient steps on MNIST, 200 inducing points."""
    from fewknots import datasets

    _, X, y, *_ = datasets.load("mnist_odd_even", folder)
    X, y = X[:30_000].astype(np.float64), y[:30_000]
    parameters = {"n_inducing": 200, "method": "sparse_kl", "max_iter": 200, "tol": 0.0}
    common = {"ard": False, "standardize": False, "optimizer": "natural_gradient"}
    common["batch_size"] = 1024
    clf = classifier(inducing_init="random", **parameters, **common)
    return best_of(2, lambda: clf.fit(X, y))


def prediction(folder: Path) -> float:
    """A hundred thousand rows of eight inputs, 500 inducing points."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 8))
    some = X[:2000]
    parameters = {"n_inducing": 500, "method": "sparse_kl", "max_iter": 5, "dtype": "float32"}
    clf = classifier(**parameters).fit(some, some[:, 0] > 0)
    return best_of(5, lambda: clf.predict_proba(X))


TASKS = {task.__name__: task for task in (full_batch, minibatches, prediction)}


def seconds(task: str, checkout: Path, folder: Path) -> float:
    command = [sys.executable, __file__, "--worker", task, "--data", str(folder)]
    path = os.pathsep.join([str(checkout.resolve() / "src"), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": path}
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("other", type=Path, nargs="?")
    parser.add_argument("tasks", nargs="*", metavar="task", help=", ".join(TASKS))
    parser.add_argument("--data", type=Path, default=os.environ.get("FEWKNOTS_DATA"))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--worker", choices=TASKS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker is not None:
        warnings.simplefilter("ignore")
        print(json.dumps(TASKS[options.worker](options.data)))
        return
    if options.other is None or options.data is None:
        parser.error("name the other checkout, and the folder with --data.")
    checkouts = Path(__file__).parents[1], options.other
    print("| task | this checkout, s | other checkout, s | ratio |\n|---|---|---|---|", flush=True)
    for task in options.tasks or TASKS:
        found = [
            [seconds(task, checkout, options.data) for checkout in checkouts]
            for _ in range(options.repeats)
        ]
        this, other = np.min(found, axis=0)
        print(f"| {task} | {this:.3f} | {other:.3f} | {this / other:.3f} |", flush=True)


if __name__ == "__main__":
    main()
