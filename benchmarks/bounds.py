"""The tighter bound beside the standard one: bound, test NLP and time against M.

    python benchmarks/bounds.py --data FOLDER [--figure docs/bounds.png] [names]

Three sets with two classes (probit) and three with numbers (Gaussian noise), at most 500 rows for
learning and 2000 for testing, kernel RBF with a lengthscale for each input. Both fits of a line
begin at the same place. All numbers are for each row; CPU seconds include compiling, a second or
so of each. `--fixed` keeps kernel and inducing points where the standard bound has left them.
"""

import argparse
import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import norm

from fewknots import GPClassifier, GPRegressor

CLASSES = ("banana", "diabetes", "magic")
NUMBERS = {"diamonds_cut": "price", "attrition": "MonthlyIncome", "airline": "arr_delay"}
COUNTS = (4, 8, 16, 32, 64)
BOUNDS = ("standard", "tight")
_LEARN, _TEST = 500, 2000


def load(name, folder):
    """Rows and targets, in random order; of tables the columns of numbers."""
    if name in NUMBERS:
        flights = folder / "airline_8feature_100k.parquet"
        path = flights if name == "airline" else folder / f"table_{name}.parquet"
        table = pd.read_parquet(path).select_dtypes("number").dropna()
        y = table.pop(NUMBERS[name]).to_numpy(float)
        X = table.to_numpy(float)
        X = X[:, X.std(axis=0) > 0]
    else:
        paths = (folder / f"{kind}{name}.npz" for kind in ("ida_", ""))
        held = np.load(next(path for path in paths if path.exists()))
        X, y = held["x"].astype(float), held["y"].astype(int)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    test = slice(_LEARN, _LEARN + _TEST)
    return X[:_LEARN], y[:_LEARN], X[test], y[test]


def fitted(X, y, number, bound, **arguments):
    """A fit and its CPU seconds."""
    cls, method = (GPRegressor, "titsias") if number else (GPClassifier, "sparse_kl")
    began = os.times()
    model = cls(
        "rbf", method=method, method_options={"bound": bound}, warp=None, random_state=0, tol=1e-4
    ).set_params(**arguments)
    model.fit(X, y)
    ended = os.times()
    return model, ended.user + ended.system - began.user - began.system


def nlp(model, X, y):
    if isinstance(model, GPRegressor):
        return -np.mean(norm.logpdf(y, *model.predict(X, return_std=True)))
    places = np.searchsorted(model.classes_, y)
    return -np.mean(model.predict_log_proba(X)[np.arange(len(y)), places])


def compared(name, folder, fixed):
    """A line for each M: the bound, the test NLP and the seconds of either."""
    X, y, X_test, y_test = load(name, folder)
    lines = []
    for M in COUNTS:
        line, start = [M], None
        for bound in BOUNDS:
            given = {"n_inducing": M}
            if fixed and start is not None:
                given = {"kernel": start.kernel_, "inducing_points": start.inducing_points_}
                given |= {"learn_kernel": False, "learn_inducing": False}
                given |= {"noise": start.noise_, "learn_noise": False} if name in NUMBERS else {}
            model, seconds = fitted(X, y, name in NUMBERS, bound, **given)
            start = start or model
            line += [model.log_evidence_ / len(y), nlp(model, X_test, y_test), seconds]
        lines.append(line)
        M, *rest = line
        print(f"{name:13s} {M:3d}  " + "  ".join(f"{x:8.4f}" for x in rest), flush=True)
    return lines


def draw(found, path):
    """Bound and NLP against M, a column for each set."""
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, len(found), figsize=(2.6 * len(found), 4.6), sharex=True)
    for column, (name, lines) in zip(axes.T, found.items(), strict=True):
        lines = np.array(lines)
        for place, bound in enumerate(BOUNDS):
            for ax, what in zip(column, (1, 2), strict=True):
                ax.plot(lines[:, 0], lines[:, 3 * place + what], "o-", ms=3, label=bound)
        column[0].set_title(name)
        column[1].set(xscale="log", xlabel="inducing points", xticks=COUNTS)
        column[1].set_xticks(COUNTS, labels=map(str, COUNTS))
        column[1].minorticks_off()
    axes[0, 0].set_ylabel("bound for each row")
    axes[1, 0].set_ylabel("test NLP")
    axes[0, 0].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, dpi=100)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=(*CLASSES, *NUMBERS))
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--fixed", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print("set             M   bound     NLP       CPU s     bound     NLP       CPU s (tight)")
    found = {name: compared(name, given.data, given.fixed) for name in given.names}
    if given.figure is not None:
        draw(found, given.figure)


if __name__ == "__main__":
    main()
