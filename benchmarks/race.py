"""One classification task, fewknots and GPyTorch's SVGP, in one run: seconds until an NLP.

fewknots has two clocks. One starts with `fit`: checking and standardising rows, choosing inducing
points, compiling, scoring and training all count. The other leaves out what comes before training.
Its curve is the held-out NLP that a fit with `validation_fraction` reports, on up to 20,000 rows
that it does not learn from; the NLP in the end is that of the test rows. GPyTorch's clock counts
training steps alone; its rows are given to it checked and standardised, its curve is the test rows'
NLP, looked at for free. It starts from the same inducing points and lengthscales.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fewknots import GPClassifier

sys.path.insert(0, str(Path(__file__).parent))
from peers import python_with


def main(
    description: str,
    load: Callable[[Path], "Task"],
    targets: list[float],
    inducing: int,
    seconds: float,
    show: Callable[[GPClassifier], None] = lambda clf: None,
) -> None:
    """The command line of flights.py and mnist.py; `show` prints more about a fit."""
    parser = argparse.ArgumentParser(description=description.split("\n")[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("FEWKNOTS_DATA"))
    parser.add_argument("--inducing", type=int, nargs="+", default=[inducing])
    parser.add_argument("--seconds", type=float, default=seconds)
    parser.add_argument("--peer-seconds", type=float, default=0.0, help="0: fewknots alone")
    parser.add_argument("--peer-rate", type=float, default=0.01)
    parser.add_argument(
        "--defaults",
        action="store_true",
        help="inputs standardised and a lengthscale each, as GPClassifier does by itself",
    )
    parser.add_argument("--twice", action="store_true", help="again, with everything compiled")
    options = parser.parse_args()
    if options.data is None:
        parser.error("say where the data are: --data FOLDER, or FEWKNOTS_DATA")
    task = load(Path(options.data))
    if options.defaults:
        task = task._replace(ard=True, standardize=True)
    result = None
    for count in options.inducing:
        clf, curve = fewknots(task, count, options.seconds)
        if options.peer_seconds and result is None:
            result = gpytorch(task, clf, options.peer_seconds, min(targets), options.peer_rate)
        print_ratios(curve, result, targets)
        if options.twice:
            clf, curve = fewknots(task, count, options.seconds)
            print_ratios(curve, result, targets)
        show(clf)


class Task(NamedTuple):
    """Rows to learn from and to be tested on, and the kernel for both libraries."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    kernel: str
    ard: bool
    standardize: bool


class Curve(NamedTuple):
    """NLP against seconds."""

    seconds: list[float]
    training: list[float]  # of the seconds
    nlp: list[float]

    def reaches(self, target: float) -> tuple[float, float] | None:
        """The two clocks when it does."""
        marks = zip(*self, strict=True)
        return next(((seconds, training) for seconds, training, n in marks if n <= target), None)


def fewknots(task: Task, inducing: int, seconds: float, **arguments) -> tuple[GPClassifier, Curve]:
    """Fit within the time given, print how it went."""
    marks, clock = [], []

    def note(progress):
        marks.append(progress)
        clock.append(time.perf_counter() - started)

    clf = GPClassifier(
        task.kernel,
        warp=None,
        n_inducing=inducing,
        ard=task.ard,
        standardize=task.standardize,
        max_time=seconds,
        validation_fraction=min(0.05, 20_000 / len(task.y)),
        random_state=0,
        callback=note,
        **arguments,
    )
    started = time.perf_counter()
    clf.fit(task.X, task.y)
    total = time.perf_counter() - started
    error, nlp = scores(clf, task)
    print(
        f"fewknots M={inducing}: {clf.n_iter_} steps in {total:.1f} s (training "
        f"{marks[-1].seconds:.1f}), {marks[-1].passes:.1f} passes; test NLP {nlp:.4f}, "
        f"accuracy {1 - error:.4f}, error {error:.4f}",
        flush=True,
    )
    return clf, Curve(clock, [m.seconds for m in marks], [m.held_out_nlp for m in marks])


def scores(clf: GPClassifier, task: Task) -> tuple[float, float]:
    """Error and NLP on the test rows."""
    log_p = clf.predict_log_proba(task.X_test)
    rows = np.arange(len(task.y_test))
    return float(np.mean(log_p.argmax(axis=1) != task.y_test)), float(
        -log_p[rows, task.y_test].mean()
    )


def gpytorch(task: Task, clf: GPClassifier, seconds: float, target: float, lr=0.01) -> dict:
    """The same task for GPyTorch, in a process of its own."""
    mean, scale = task.X.mean(axis=0), np.where(task.X.std(axis=0) > 0, task.X.std(axis=0), 1.0)
    if not task.standardize:
        mean, scale = np.zeros_like(mean), np.ones_like(scale)
    some = slice(20_000)  # to look at every second or two
    X, X_test = ((part - mean) / scale for part in (task.X, task.X_test[some]))
    rows = np.random.default_rng(0).choice(len(X), len(clf.inducing_points_), replace=False)
    spread = X[::50].std(axis=0)
    lengthscale = spread * np.sqrt(len(spread)) if task.ard else np.sqrt(np.sum(spread**2))
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder) / "in.npz", Path(folder) / "out.json"
        columns = {
            "X": X,
            "X_test": X_test,
            "Z": X[rows],
            "lengthscale": np.atleast_1d(lengthscale),
        }
        columns = {name: column.astype(np.float32) for name, column in columns.items()}
        np.savez(given, y=task.y, y_test=task.y_test[some], **columns)
        command = [
            python_with("gpytorch"),
            Path(__file__).parent / "gpytorch_svgp.py",
            given,
            found,
        ]
        command += ["--inducing", str(len(rows)), "--seconds", str(seconds), "--lr", str(lr)]
        command += ["--kernel", "matern32+linear" if "+" in task.kernel else "rbf"]
        command += ["--ard"] if task.ard else []
        command += ["--targets", str(target)]
        subprocess.run(command, check=True)
        result = json.loads(found.read_text())
    last = result["moments"][-1]
    print(
        f"GPyTorch M={len(rows)} lr={lr} on {result['device']}: {last[1]} steps in "
        f"{last[0]:.1f} s; test NLP {last[2]:.4f}, error {last[3]:.4f}; best NLP "
        f"{min(moment[2] for moment in result['moments']):.4f}",
        flush=True,
    )
    return result


def print_ratios(curve: Curve, result: dict | None, targets: list[float]) -> None:
    """Seconds to each NLP, both, and how many times sooner fewknots is there."""
    moments = [] if result is None else result["moments"]
    seconds = [moment[0] for moment in moments]
    theirs = Curve(seconds, seconds, [moment[2] for moment in moments])
    print("  NLP     fewknots s   of it training   GPyTorch s   ratio   ratio of training")
    for target in targets:
        ours, peer = curve.reaches(target), theirs.reaches(target)
        shown = ["never", ""] if ours is None else [f"{clock:.1f}" for clock in ours]
        shown += ["never" if peer is None else f"{peer[0]:.1f}"]
        if ours is None or not seconds:
            shown += ["-", "-"]
        elif peer is None:
            shown += [f"> {seconds[-1] / clock:.0f}" for clock in ours]
        else:
            shown += [f"{peer[0] / clock:.0f}" for clock in ours]
        widths = (10, 17, 13, 8, 20)
        cells = "".join(f"{cell:>{width}}" for cell, width in zip(shown, widths, strict=True))
        print(f"  {target:<8.4f}{cells}")
