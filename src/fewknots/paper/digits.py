"""MNIST's ten digits from scattering coefficients, compared with pixels and a linear model.

Not an experiment of the paper, which classifies odd and even digits. A cell is one model. Settings
were chosen on 10,000 training digits that were held out, never on the test digits
(docs/images.md). A quick run learns from 10,000 digits, and its local model predicts fewer test
digits.
"""

import time
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from ..datasets import load
from ..estimators import GPClassifier
from ..images import Scattering
from .digits_account import draw, draw_mistakes, tables
from .experiment import Cell, Choice, Options, Result
from .outputs import curve_rows, write_csv
from .timed_fits import followed_fit, hold_out_scores

DATA = "mnist_digits"
_SIDE = 28
_NEXT_LOOK = 2.0
_QUICK_ROWS = 10_000
_STRANGE = 1000  # images of each kind
_MISTAKES = 40  # pictures of them
_NEIGHBOURS_TESTED = {True: 500, False: 10_000}  # for a full and for a quick run

# Chosen on held-out training digits (docs/images.md).
SCATTERING: dict[str, Any] = {"J": 3, "L": 8, "n_components": 300, "whitening": 0.25}
_COMMON: dict[str, Any] = {
    "kernel": "rbf",
    "ard": False,
    "standardize": False,
    "warp": None,
    "dtype": "float32",
}
_SPARSE = _COMMON | {"method": "sparse_kl", "optimizer": "natural_gradient", "tol": 0.0}
_LOCAL = _COMMON | {"method": "local", "n_neighbors": 32}


class Way(NamedTuple):
    """A model: its label, its inputs (features or pixels), and its arguments."""

    label: str
    sees: str  # "features" or "pixels"
    arguments: dict[str, Any] | None  # None: logistic regression
    quick: dict[str, Any] = {}  # noqa: RUF012  (never written to)


WAYS = {
    "sparse": Way(
        "scattering, inducing points",
        "features",
        _SPARSE | {"n_inducing": 500, "max_iter": 500},
        {"n_inducing": 200, "max_iter": 400},
    ),
    "logistic": Way("scattering, logistic regression", "features", None),
    "pixels": Way(
        "pixels, inducing points",
        "pixels",
        _SPARSE | {"n_inducing": 500, "max_iter": 500},
        {"n_inducing": 100, "max_iter": 100},
    ),
    "local": Way("scattering, neighbours", "features", _LOCAL, {"max_iter": 20}),
}


class Digits:
    """`fewknots reproduce digits`."""

    name = "digits"
    title = "MNIST: ten digits from scattering coefficients"
    shows = "nothing of this: it classifies odd and even digits, with 97.8 % right and NLP 0.069."
    needs: tuple[str, ...] = (DATA,)
    minutes = 40.0
    choices: tuple[Choice, ...] = ()

    def cells(self, options: Options) -> list[Cell]:
        return [_cell(name, way, options) for name, way in WAYS.items()]

    def run(self, cell: Cell, options: Options) -> dict[str, Any]:
        way, settings = WAYS[cell.settings["way"]], cell.settings
        asked = options.data, settings["rows"], settings["seed"]
        pixels = _pixels(*asked)
        seen = pixels if way.sees == "pixels" else _scattered_digits(*asked)
        X, y = seen.X, seen.y
        X_test, y_test = (part[: settings["test_rows"]] for part in (seen.X_test, seen.y_test))
        if settings["arguments"] is None:
            return _baseline(X, y, X_test, y_test) | {"features_cpu": seen.cpu}
        clf = GPClassifier(**settings["arguments"], random_state=settings["seed"])
        cpu = time.process_time()
        found = followed_fit(clf, X, y, (X_test, y_test), next_look=_NEXT_LOOK)
        found |= {"features_cpu": seen.cpu, "cpu": time.process_time() - cpu}
        log_p = clf.predict_log_proba(X_test)
        found |= _mistakes(pixels.X_test, log_p, y_test) | {"bins": _doubtful(log_p, y_test)}
        if settings["way"] == "sparse":
            found["strange"] = _strange(clf, seen.see, pixels.X_test[:_STRANGE])
        return found

    def write(self, results: dict[str, Result], options: Options, folder: Path) -> str:
        write_csv(folder / "results.csv", curve_rows(results, ("way",)))
        done = {key: result for key, result in results.items() if result.failed is None}
        labels = {f"digits-{name}": way.label for name, way in WAYS.items()}
        if done:
            draw(done, labels, folder)
            draw_mistakes(done, folder)
        return tables(results, labels)


def _cell(name: str, way: Way, options: Options) -> Cell:
    arguments = way.arguments
    if arguments is not None and options.quick:
        arguments = arguments | way.quick
    settings = {
        "data": DATA,
        "way": name,
        "rows": _QUICK_ROWS if options.quick else 60_000,
        "test_rows": _NEIGHBOURS_TESTED[options.quick] if name == "local" else 10_000,
        "scattering": SCATTERING if way.sees == "features" else None,
        "arguments": arguments,
        "seed": 0,
    }
    return Cell(f"digits-{name}", settings)


class Seen(NamedTuple):
    """Digits for training and test, as inputs of a model.

    see : converts other images in the same way; cpu : CPU seconds
    """

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    see: Callable[[np.ndarray], np.ndarray]
    cpu: float


@lru_cache(maxsize=1)
def _pixels(folder: Path | None, rows: int, seed: int) -> Seen:
    """Pixels; some of the training digits at random."""
    dataset = load(DATA, folder)
    train, test = dataset.splits[0]
    train = np.random.default_rng(seed).permutation(train)[:rows]
    X, y = dataset.X, dataset.y
    return Seen(X[train], y[train], X[test], y[test], lambda images: images, 0.0)


@lru_cache(maxsize=1)  # several cells need them
def _scattered_digits(folder: Path | None, rows: int, seed: int) -> Seen:
    """Scattering coefficients, with components learned from the training digits."""
    digits = _pixels(folder, rows, seed)
    cpu = time.process_time()
    scattering = Scattering(**SCATTERING, shape=(_SIDE, _SIDE)).fit(digits.X)
    X, X_test = scattering.transform(digits.X), scattering.transform(digits.X_test)
    cpu = time.process_time() - cpu
    return digits._replace(X=X, X_test=X_test, see=scattering.transform, cpu=cpu)


def _baseline(X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray) -> dict:
    """Logistic regression; its curve is a point."""
    started, cpu = time.perf_counter(), time.process_time()
    model = LogisticRegression(C=0.1, max_iter=200, tol=1e-3).fit(X, y)
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    scores = {name: [value] for name, value in hold_out_scores(model, X_test, y_test).items()}
    return {"curve": {"seconds": [seconds], **scores}, "seconds": seconds, "cpu": cpu}


def _mistakes(images: np.ndarray, log_p: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """The wrong answers, the most certain first, and the error of odd against even."""
    p = np.exp(log_p)
    answers = log_p.argmax(axis=1)
    wrong = np.flatnonzero(answers != y)
    wrong = wrong[np.argsort(-p[wrong, answers[wrong]])]
    odd = p[:, 1::2].sum(axis=1) > 0.5
    listed = [
        {
            "image": int(n),
            "digit": int(y[n]),
            "answer": int(answers[n]),
            "p_answer": float(p[n, answers[n]]),
            "p_digit": float(p[n, y[n]]),
        }
        for n in wrong
    ]
    pixels = np.rint(255.0 * images[wrong[:_MISTAKES]]).astype(int)
    return {"mistakes": listed, "pixels": pixels, "odd_error": float(np.mean(odd != y % 2))}


def _doubtful(log_p: np.ndarray, y: np.ndarray) -> list[dict[str, float]]:
    """Answers grouped by their probability: how many, and how many of them are right."""
    top, right = np.exp(log_p.max(axis=1)), log_p.argmax(axis=1) == y
    edges = (0.0, 0.5, 0.7, 0.9, 0.99, 0.999, 1.0 + 1e-9)
    bins = []
    for low, high in pairwise(edges):
        inside = (top >= low) & (top < high)
        if inside.any():
            count, stated = int(inside.sum()), float(top[inside].mean())
            share = float(right[inside].mean())
            bins.append({"low": low, "count": count, "probability": stated, "right": share})
    return bins


@lru_cache(maxsize=1)
def _small_digits() -> np.ndarray:
    """scikit-learn's digits, 8 × 8, in MNIST's form: 24 × 24 within a black frame."""
    images = np.repeat(np.repeat(load_digits().images[:_STRANGE] / 16.0, 3, axis=1), 3, axis=2)
    return np.pad(images, ((0, 0), (2, 2), (2, 2))).reshape(len(images), -1).astype(np.float32)


def _strange(
    clf: GPClassifier, see: Callable[[np.ndarray], np.ndarray], images: np.ndarray
) -> dict[str, dict[str, float]]:
    """Predictions for images unlike the training images.

    Mean entropy of the probabilities, mean variance of the latent functions, and the number of
    answers with a probability above 0.99.
    """
    rng = np.random.default_rng(0)
    square = images.reshape(-1, _SIDE, _SIDE)
    kinds = {
        "test digits": images,
        "a quarter turn": np.rot90(square, axes=(1, 2)),
        "upside down": square[:, ::-1],
        "black on white": 1.0 - images,
        "two digits, one over the other": np.maximum(images, images[::-1]),
        "pixels in another order": rng.permuted(images, axis=1),
        "noise": rng.random(images.shape, np.float32),
        "scikit-learn's digits": _small_digits(),
    }
    stated = {}
    for name, kind in kinds.items():
        X = see(np.ascontiguousarray(kind.reshape(len(kind), -1)))
        log_p, variance = clf.predict_log_proba(X), clf.predict_latent(X)[1]
        p = np.exp(log_p)
        stated[name] = {
            "entropy": float(-(p * log_p).sum(axis=1).mean()),
            "variance": float(variance.mean()),
            "sure": float(np.mean(p.max(axis=1) > 0.99)),
        }
    return stated
