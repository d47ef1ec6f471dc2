"""MNIST, odd against even digits (the paper's section 5): accuracy and NLP against time.

    python benchmarks/mnist.py --data FOLDER [--inducing 200] [--seconds 50] [--peer-seconds 60]

FOLDER holds mnist.npz (train_images, train_labels, test_images, test_labels). The paper reached
97.8 % and an NLP of 0.069. `--peer-seconds` lets GPyTorch have a go at the same.
"""

import argparse
import os
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import race

TARGETS = [0.10, 0.08, 0.069, 0.0683, 0.06, 0.055, 0.05, 0.047]


def load(folder: Path) -> race.Task:
    with np.load(folder / "mnist.npz") as file:
        X, X_test = (file[f"{part}_images"].reshape(-1, 784) / 255.0 for part in ("train", "test"))
        y, y_test = (file[f"{part}_labels"] % 2 for part in ("train", "test"))
    used = X.max(axis=0) > 0  # pixels that are never set say nothing
    return race.Task(X[:, used], y, X_test[:, used], y_test, "rbf", False, False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("FEWKNOTS_DATA"))
    parser.add_argument("--inducing", type=int, nargs="+", default=[200])
    parser.add_argument("--seconds", type=float, default=50.0)
    parser.add_argument("--peer-seconds", type=float, default=0.0, help="0: fewknots alone")
    parser.add_argument("--peer-rate", type=float, default=0.01)
    options = parser.parse_args()
    if options.data is None:
        parser.error("say where mnist.npz is: --data FOLDER, or FEWKNOTS_DATA")
    task = load(Path(options.data))
    result = None
    for inducing in options.inducing:
        clf, curve = race.fewknots(task, inducing, options.seconds)
        if options.peer_seconds and result is None:
            targets = [min(TARGETS)]
            result = race.gpytorch(task, clf, options.peer_seconds, targets, options.peer_rate)
        race.print_ratios(curve, result or {"moments": []}, TARGETS)


if __name__ == "__main__":
    main()
