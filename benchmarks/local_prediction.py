"""Predictions of the local method: CPU microseconds a row, and how right they are.

    python benchmarks/local_prediction.py --data FOLDER [--sets flights mnist_digits] [--steps 100]

For each data set a local classifier is fitted for a few steps (48 neighbours, no warp) and predicts
held-out rows, index and programs at hand: the best of several runs, for on a busy machine the
others say more about the machine. CPU counts all threads. `search` is the part that looks for
neighbours. The last columns compare probabilities, the largest difference and 99.9 % of them, with
those of the same model and neighbours in float64 (where, with two classes, every system is solved
by a factor).
"""

import argparse
import os
import resource
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import jax
import numpy as np

from fewknots import GPClassifier, datasets
from fewknots.data.blocks import row_slices
from fewknots.local.model import latent
from fewknots.numerics.precision import computing_in, one_lapack_thread
from fewknots.prediction import log_probabilities_of

_RUNS = 9
_MOST_QUERIES = 4096
_MOST_CHECKED, _BLOCK = 1024, 64


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def best(call: Callable[[], object]) -> tuple[float, float]:
    """CPU and wall seconds, each the least of several runs."""
    call()
    times = []
    for _ in range(_RUNS):
        began, used = time.perf_counter(), cpu_seconds()
        call()
        times.append((cpu_seconds() - used, time.perf_counter() - began))
    return min(cpu for cpu, _ in times), min(wall for _, wall in times)


def exactly(posterior, rows: np.ndarray, near: np.ndarray) -> np.ndarray:
    """Probabilities of the same model with the same neighbours, all of it in float64."""
    wide = np.dtype(np.float64)
    model, known = jax.tree.map(lambda a: np.asarray(a, wide), (posterior.model, posterior.rows))
    with computing_in(wide), one_lapack_thread():
        blocks = [
            latent(
                *(posterior.rule, posterior.likelihood, model, known),
                *(rows[some].astype(wide), near[some], posterior.n_slots),
            )
            for some in row_slices(len(rows), _BLOCK)
        ]
    mean, variance = (np.concatenate(parts, axis=-1) for parts in zip(*blocks, strict=True))
    return np.exp(np.column_stack(log_probabilities_of(posterior.likelihood, mean, variance)))


def measure(name: str, folder: Path, steps: int) -> None:
    _, X, y, _, splits, _ = datasets.load(name, folder)
    X = X.astype(np.float64)
    fifths = np.array_split(np.random.default_rng(0).permutation(len(y)), 5)
    train, test = next(iter(splits), (np.concatenate(fifths[1:]), fifths[0]))
    fixed = {"warp": None, "n_neighbors": 48, "max_iter": steps, "random_state": 0}
    clf = GPClassifier("rbf", method="local", dtype="float32", **fixed).fit(X[train], y[train])
    queries, labels = X[test[:_MOST_QUERIES]], y[test[:_MOST_QUERIES]]
    cpu, wall = (1e6 * t / len(queries) for t in best(lambda: clf.predict_log_proba(queries)))
    posterior, rows = clf.posterior_, clf._standardiser(queries).astype(np.float32)
    with computing_in(np.dtype(np.float32)):
        at = posterior._metric.coordinates(rows)
        search = 1e6 * best(lambda: posterior._search.nearest(at, 48))[0] / len(queries)
        near = posterior._search.nearest(at[:_MOST_CHECKED], 48)
    log_p = clf.predict_log_proba(queries)
    nlp = -np.mean(log_p[np.arange(len(labels)), np.searchsorted(clf.classes_, labels)])
    some = clf.predict_proba(queries[:_MOST_CHECKED])
    apart = np.abs(some - exactly(posterior, rows[:_MOST_CHECKED], near))
    print(
        f"{name:<14}{cpu:>10.0f}{search:>10.0f}{1e6 / wall:>14,.0f}{nlp:>10.4f}"
        f"{apart.max():>12.1e}{np.quantile(apart, 0.999):>10.1e}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("FEWKNOTS_DATA"))
    parser.add_argument("--sets", nargs="+", default=["flights"])
    parser.add_argument("--steps", type=int, default=100)
    options = parser.parse_args()
    if options.data is None:
        parser.error("say where the data sets are: --data FOLDER, or FEWKNOTS_DATA")
    warnings.simplefilter("ignore")  # fits that were not given the time to converge
    print(
        f"{'':<14}{'CPU µs':>10}{'search':>10}{'rows/s':>14}{'NLP':>10}"
        f"{'difference':>12}{'99.9 %':>10}"
    )
    for name in options.sets:
        measure(name, Path(options.data), options.steps)


if __name__ == "__main__":
    main()
