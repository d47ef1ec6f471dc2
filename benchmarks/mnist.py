"""MNIST, odd against even digits (the paper's section 5): accuracy and NLP against time.

    python benchmarks/mnist.py --data FOLDER [--inducing 200] [--seconds 40] [--peer-seconds 60]

FOLDER holds mnist.npz (train_images, train_labels, test_images, test_labels). The paper reached
97.8 % and an NLP of 0.069. `--peer-seconds` lets GPyTorch have a go at the same.
"""

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


if __name__ == "__main__":
    race.main(__doc__, load, TARGETS, 200, 40.0)
