"""The local classifier on the flights, beside LightGBM, and how it depends on K.

    python benchmarks/local.py --data FOLDER [--seconds 50] [--neighbors K ...] [--rules ...]
    python benchmarks/local.py --data FOLDER --curves curves.png [--trees 1500]
    python benchmarks/local.py --data FOLDER --sweep sweep.csv --neighbors 16 32 64 128 256 512
    python benchmarks/local.py --draw sweep.csv sweep.png

FOLDER holds airline_8feature.parquet; 100,000 flights held out at random (seed 0). Defaults unless
the options say otherwise; `--seconds` is max_time (`--steps` is max_iter instead), `--rules` are
laplace, kl, ep. The time printed for `fit` holds everything but the imports, printed beside it, and
the reading of the file; `--rows` takes a part of the training rows. Prediction is that of all
held-out rows, index and programs at hand. The curves are scored on 10,000 of them, off the clock;
LightGBM (the extra `benchmarks`) has 255 leaves and its other defaults.
"""

import time

_STARTED = time.perf_counter()

import argparse  # noqa: E402  (the clock above counts imports)
import os  # noqa: E402
import resource  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import NamedTuple  # noqa: E402

import numpy as np  # noqa: E402

from fewknots import GPClassifier, datasets  # noqa: E402
from fewknots.datasets.flights import FEATURES  # noqa: E402

_IMPORTED = time.perf_counter() - _STARTED
_SCORED = 10_000


class Task(NamedTuple):
    """Rows to learn from and to be tested on."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def load(folder: Path, rows: int | None) -> Task:
    _, X, y, _, ((train, test),), _ = datasets.load("flights", folder)
    X = X.astype(np.float64)
    if rows is not None:
        train = np.random.default_rng(0).choice(train, rows, replace=False)
    return Task(X[train], y[train], X[test], y[test])


def scores(log_p: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """NLP and error."""
    nlp = -np.mean(log_p[np.arange(len(y)), y.astype(int)])
    return float(nlp), float(np.mean((log_p[:, 1] > log_p[:, 0]) != (y > 0)))


def fit(task: Task, k: int | str, **more) -> GPClassifier:
    clf = GPClassifier(
        **{"kernel": "rbf", "warp": None, "method": "local"} | more, n_neighbors=k, random_state=0
    )
    started = time.perf_counter()
    clf.fit(task.X, task.y)
    took = time.perf_counter() - started
    clf.predict_log_proba(task.X_test[:2000])  # builds the index, compiles
    started = time.perf_counter()
    log_p = clf.predict_log_proba(task.X_test)
    rate = len(task.y_test) / (time.perf_counter() - started)
    nlp, error = scores(log_p, task.y_test)
    print(
        f"K={clf.posterior_.n_neighbors} {clf.posterior_.rule}: {clf.n_iter_} steps, fit "
        f"{took:.1f} s (+ imports {_IMPORTED:.1f} s); test NLP {nlp:.4f}, error {error:.4f}; "
        f"prediction {rate:,.0f} rows/s; peak memory {_peak():,.0f} MB",
        flush=True,
    )
    clf.summary_ = nlp, rate
    return clf


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def show(clf: GPClassifier) -> None:
    kernel = clf.kernel_
    print(f"  variance {float(kernel.variance):.2f}, mean {float(clf.posterior_.mean):.2f}")
    for i in np.argsort(kernel.lengthscale):
        print(f"  {FEATURES[i]:<15} lengthscale {kernel.lengthscale[i]:9.3f}")


def local_curve(task: Task, steps: int) -> list[tuple[float, float]]:
    """(seconds since the import began, NLP) after every few steps; scoring stops the clock."""
    points, idle = [], [0.0]
    X, y = task.X_test[:_SCORED], task.y_test[:_SCORED]

    def note(progress):
        began = time.perf_counter()
        seconds = _IMPORTED + began - started - idle[0]
        points.append((seconds, scores(progress.model().predict_log_proba(X), y)[0]))
        idle[0] += time.perf_counter() - began

    common = {"warp": None, "method": "local", "tol": 0.0, "random_state": 0}
    clf = GPClassifier("rbf", max_iter=steps, callback=note, **common)
    started = time.perf_counter()
    clf.fit(task.X, task.y)
    seconds = _IMPORTED + time.perf_counter() - started - idle[0]
    points.append((seconds, scores(clf.predict_log_proba(X), y)[0]))
    return points


def lightgbm_curve(task: Task, trees: int, seconds: float) -> list[tuple[float, float]]:
    started = time.perf_counter()
    import lightgbm

    imported = time.perf_counter() - started
    points, idle = [], [0.0]
    X, y = task.X_test[:_SCORED], task.y_test[:_SCORED]

    def note(env):
        if env.iteration % 25 and env.iteration + 1 < trees:
            return
        began = time.perf_counter()
        spent = imported + began - started - idle[0]
        p = np.clip(env.model.predict(X, num_iteration=env.iteration + 1), 1e-12, 1 - 1e-12)
        points.append((spent, scores(np.log(np.column_stack([1 - p, p])), y)[0]))
        idle[0] += time.perf_counter() - began
        if spent > seconds:
            raise lightgbm.callback.EarlyStopException(env.iteration, [])

    started = time.perf_counter()
    data = lightgbm.Dataset(task.X, task.y)
    options = {"objective": "binary", "num_leaves": 255, "verbosity": -1, "seed": 0}
    lightgbm.train(options, data, trees, callbacks=[note])
    return points


def curves(task: Task, path: str, steps: int, trees: int, seconds: float) -> None:
    import matplotlib.pyplot as plt

    ours = local_curve(task, steps)
    theirs = lightgbm_curve(task, trees, seconds)
    for name, points in (("local", ours), ("LightGBM", theirs)):
        print(
            name, " ".join(f"{s:.1f}:{nlp:.4f}" for s, nlp in points[:: max(1, len(points) // 15)])
        )
        plt.plot(*zip(*points, strict=True), label=name)
    start = max(10.0, ours[0][0])
    behind = [s for s, nlp in theirs if s >= start and nlp < best_by(ours, s)]
    where = "at every time" if not behind else f"except at {behind[0]:.0f} to {behind[-1]:.0f} s"
    print(f"from {start:.0f} s on the local classifier is ahead {where}")
    plt.xlabel("seconds, start-up and compilation included")
    plt.ylabel("NLP of held-out flights")
    plt.legend()
    plt.savefig(path, dpi=150, bbox_inches="tight")


def best_by(points: list[tuple[float, float]], seconds: float) -> float:
    """The NLP of the last model there was by then."""
    return [nlp for s, nlp in points if s <= seconds][-1]


def sweep(task: Task, path: str, counts: list[int], **more) -> None:
    """NLP and microseconds a prediction for each K, to a file: where it runs need be no screen."""
    found = [fit(task, k, **more).summary_ for k in counts]
    table = [[k, nlp, 1e6 / rate] for k, (nlp, rate) in zip(counts, found, strict=True)]
    np.savetxt(path, table, fmt=["%d", "%.4f", "%.1f"], delimiter=",", header="K,NLP,us a row")


def draw(path: str, picture: str) -> None:
    import matplotlib.pyplot as plt

    counts, nlp, microseconds = np.loadtxt(path, delimiter=",", unpack=True)
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
    for ax, column, label in zip(
        axes, (nlp, microseconds), ("NLP of held-out flights", "µs to predict a row"), strict=True
    ):
        ax.plot(counts, column, "o-")
        ax.set_xscale("log")
        ax.set_xticks(counts, [f"{count:.0f}" for count in counts], minor=False)
        ax.minorticks_off()
        ax.set(xlabel="neighbours K", ylabel=label)
    axes[1].set_ylim(bottom=0)
    figure.savefig(picture, dpi=150, bbox_inches="tight")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("FEWKNOTS_DATA"))
    parser.add_argument("--seconds", type=float, default=50.0)
    parser.add_argument("--neighbors", type=int, nargs="*", default=[])
    parser.add_argument("--rules", nargs="*", default=[])
    parser.add_argument("--rows", type=int)
    parser.add_argument("--kernel")
    parser.add_argument("--steps", type=int, help="so many instead of --seconds")
    parser.add_argument("--trees", type=int, default=1500)
    parser.add_argument("--curves", metavar="PNG")
    parser.add_argument("--sweep", metavar="CSV")
    parser.add_argument("--draw", nargs=2, metavar=("CSV", "PNG"))
    options = parser.parse_args()
    if options.draw:
        draw(*options.draw)
        return
    if options.data is None:
        parser.error("say where airline_8feature.parquet is: --data FOLDER, or FEWKNOTS_DATA")
    task = load(Path(options.data), options.rows)
    print(f"{len(task.y)} rows to learn from, {len(task.y_test)} held out")
    more = {"max_time": options.seconds} if options.steps is None else {"max_iter": options.steps}
    if options.kernel is not None:
        more["kernel"] = options.kernel
    if options.curves:
        curves(task, options.curves, options.steps or 300, options.trees, options.seconds)
    elif options.sweep:
        sweep(task, options.sweep, options.neighbors, **more)
    else:
        for k in options.neighbors or ["auto"]:
            for rule in options.rules or ["laplace"]:
                show(fit(task, k, method_options={"inference": rule}, **more))


if __name__ == "__main__":
    main()
