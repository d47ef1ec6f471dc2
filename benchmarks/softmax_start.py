r"""Where the softmax's natural-gradient iteration starts: whether another start saves time.

    python benchmarks/softmax_start.py --data FOLDER [--inducing 100] [--iterations 1000] [names]

Three starts of the sites (b, g), each from the labels alone:

    prior      b = 0, g = 0                                  what fewknots does
    Böhning    b = ½(1 - 1/C), g = [y = c] - 1/C             the bound of constant curvature at 0
    Dirichlet  b = 1/s², g = t/s²  with  α = [y = c] + 0.01, s² = log(1 + 1/α), t = log α - s²/2,
               less the mean of t over classes                (Milios et al. 2018: the posterior of
                                                              a regression on t with noise s²)

Columns: passes of the first inner solve (kernel RBF as a fit begins with, inducing points from the
rows), until one gains less than 0.01 nats as in a fit, and their CPU seconds; then, of a whole fit
of at most so many iterations, evaluations, CPU seconds of a second fit (nothing is compiled) and
the bound reached. `--iterations 0` leaves the fits out.
"""

import argparse
import time
import warnings
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.datasets import load_iris

from fewknots import GPClassifier
from fewknots.inference.features import project
from fewknots.inference.natural_gradient import solve_sites
from fewknots.inference.priors import SparsePrior
from fewknots.inference.rules import Variational
from fewknots.inference.sites import Rows, Sites, prior_sites
from fewknots.inference.sparse_kl import SparseKL
from fewknots.kernels import RBF
from fewknots.likelihoods import Softmax
from fewknots.numerics.precision import computing_in

SETS = ("iris", "segment", "satimage")
TOLERANCE = 0.01  # nats
MOST_PASSES = 512


def load(name, folder):
    """Three quarters of the rows, standardised."""
    if name == "iris":
        X, y = load_iris(return_X_y=True)
    else:
        held = np.load(folder / f"multi_{name}.npz")
        X, y = held["x"].astype(np.float64), held["y"].astype(int)
    rows = np.random.default_rng(0).permutation(len(y))[len(y) // 4 :]
    X = X[rows]
    spread = np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    return (X - X.mean(axis=0)) / spread, y[rows]


def from_prior(y, n_classes, dtype):
    return prior_sites(len(y), dtype, n_classes)


def from_boehning(y, n_classes, dtype):
    own = np.arange(n_classes)[:, None] == y
    curvature = np.full(own.shape, 0.5 * (1.0 - 1.0 / n_classes))
    return Sites(curvature.astype(dtype), (own - 1.0 / n_classes).astype(dtype))


def from_dirichlet(y, n_classes, dtype):
    alpha = (np.arange(n_classes)[:, None] == y) + 0.01
    noise = np.log1p(1.0 / alpha)
    target = np.log(alpha) - 0.5 * noise
    target -= target.mean(axis=0)
    return Sites((1.0 / noise).astype(dtype), (target / noise).astype(dtype))


STARTS = {"prior": from_prior, "Böhning": from_boehning, "Dirichlet": from_dirichlet}


@jax.jit
def solved(kernel, Z, rows, start, passes):
    features, _ = project(kernel, Z, rows.X, 1e-6)
    rule = Variational(Softmax(len(start.linear)))
    return solve_sites(SparsePrior(features), rule, rows, start, jnp.asarray(TOLERANCE), passes)


def first_solve(X, y, start, n_inducing):
    """How many passes end the solve by themselves, and their CPU seconds."""
    kernel = RBF().prepared(np.ones(X.shape[1]))
    Z = X[np.random.default_rng(0).choice(len(X), min(n_inducing, len(X)), replace=False)]
    rows = Rows(jnp.asarray(X), jnp.asarray(y * 1.0), jnp.ones(len(y)))

    def is_solved(passes):
        return bool(solved(kernel, jnp.asarray(Z), rows, start, passes).solved)

    high = 1
    while not is_solved(high) and high < MOST_PASSES:
        high *= 2
    low = high // 2 + 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_solved(middle) else (middle + 1, high)
    began = time.process_time()
    is_solved(low)
    return low, time.process_time() - began


def fitted(X, y, start, n_inducing, iterations):
    """A fit whose first inner solve starts there."""
    as_it_is = SparseKL.start
    SparseKL.start = lambda self, rows, n_latent=1: start(rows.y, n_latent, rows.y.dtype)
    try:
        clf = GPClassifier(
            "rbf", warp=None, method="sparse_kl", n_inducing=n_inducing, random_state=0,
            optimizer="collapsed", standardize=False, max_iter=iterations,
        )  # fmt: skip
        return clf.fit(X, y)
    finally:
        SparseKL.start = as_it_is


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=SETS, help=", ".join(SETS))
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--inducing", type=int, default=100)
    parser.add_argument("--iterations", type=int, default=1000)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| set | start | passes | their CPU s | evaluations | CPU s | bound |")
    print("|---|---|---|---|---|---|---|")
    for name in options.sets:
        X, y = load(name, options.data)
        size = options.inducing, options.iterations
        if options.iterations:
            fitted(X, y, from_prior, *size)  # compiles
        for label, start in STARTS.items():
            with computing_in(np.dtype(np.float64)):
                sites = start(y, len(np.unique(y)), np.dtype(np.float64))
                passes, seconds = first_solve(X, y, sites, options.inducing)
            row, rest = f"{passes} | {seconds:.2f}", " | | "
            if options.iterations:
                began = time.process_time()
                found = fitted(X, y, start, *size)
                seconds = time.process_time() - began
                rest = f"{found.n_evaluations_} | {seconds:.1f} | {found.log_evidence_:.2f}"
            print(f"| {name} | {label} | {row} | {rest} |", flush=True)


if __name__ == "__main__":
    main()
