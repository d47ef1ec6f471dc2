"""GPRegressor's defaults beside other libraries, on real numbers: density, error, intervals.

    python benchmarks/regression.py               # every set, a table of Markdown
    python benchmarks/regression.py diamonds      # one
    python benchmarks/regression.py flights-1000 flights-10000 --seed 1
    python benchmarks/regression.py diamonds --peers svgp gpboost --python svgp=V/bin/python \
        --python gpboost=W/bin/python             # V, W: virtual environments that have them

Each row of the table is one fit to the rows of one split and its scores on up to 10,000 others.
NLP is in nats a row, of the density of y; a peer that gives a number alone says N(prediction, s²),
with s² its mean square error on a tenth of its training rows, which it does not learn from, and so
do its 95 % intervals. Gaussian processes of other libraries (regression_peers.py) run in another
process, by the interpreter that `--python` names; text becomes a column for each level for them.
Seconds are CPU seconds of all threads of a fit, compiling included; predictions are not in them.
`FEWKNOTS_DATA` is the folder of the data files; LightGBM is left out if it is absent.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fewknots import GPRegressor
from fewknots.number_scoring import Seen, number_scores, seen_by_gaussian

_MOST_TEST_ROWS = 10_000
_ROWS_OF_FLIGHTS = (1000, 10_000, 100_000, 1_000_000)
_SHARE_FOR_VARIANCE = 0.1
_INPUTS_OF_FLIGHTS = (
    *("month", "day_of_month", "day_of_week", "dep_time", "arr_time", "air_time"),
    *("distance", "plane_age"),
)


NAMES = {
    "fewknots": "`GPRegressor()`",
    "svgp": "GPyTorch's SVGP",
    "gpboost": "GPBoost",
    "lightgbm": "LightGBM",
    "boosting": "histogram boosting",
    "ridge": "ridge regression",
}


class Split(NamedTuple):
    """Rows to learn from, and rows to score."""

    X: pd.DataFrame
    y: np.ndarray
    X_test: pd.DataFrame
    y_test: np.ndarray


def split(table: pd.DataFrame, target: str, n_rows: int | None, seed: int) -> Split:
    """At random; the same test rows for every number of training rows."""
    order = np.random.default_rng(seed).permutation(len(table))
    n_test = min(_MOST_TEST_ROWS, len(table) // 5)
    test, train = order[:n_test], order[n_test:][:n_rows]
    X, y = table.drop(columns=target), table[target].to_numpy(np.float64)
    return Split(X.iloc[train], y[train], X.iloc[test], y[test])


def flights(n_rows: int, seed: int) -> Split:
    """The arrival delay in minutes, of the eight inputs; rows without gaps."""
    columns = [*_INPUTS_OF_FLIGHTS, "arr_delay"]
    table = pd.read_parquet(_folder() / "airline_8feature.parquet", columns=columns).dropna()
    return split(table, "arr_delay", n_rows, seed)


def diamonds(seed: int) -> Split:
    """The price in dollars; text levels as the file has them."""
    table = pd.read_parquet(_folder() / "table_diamonds_cut.parquet")
    return split(table, "price", None, seed)


def diabetes(seed: int) -> Split:
    """Scikit-learn's: progression of a disease after a year."""
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    return split(X.assign(progression=y), "progression", None, seed)


SETS: dict[str, Callable[[int], Split]] = {
    "diabetes": diabetes,
    **{f"flights-{n}": lambda seed, n=n: flights(n, seed) for n in _ROWS_OF_FLIGHTS},
    "diamonds": diamonds,
}


def as_numbers(X: pd.DataFrame, like: pd.DataFrame) -> np.ndarray:
    """Text levels as codes, for peers; their order is that of the alphabet."""
    columns = []
    for name in X.columns:
        if pd.api.types.is_numeric_dtype(X[name]):
            columns.append(X[name].to_numpy(np.float64))
        else:
            levels = sorted(map(str, like[name].unique()))
            columns.append(pd.Categorical(X[name].astype(str), levels).codes.astype(np.float64))
    return np.column_stack(columns)


class Fitted(NamedTuple):
    """What a peer says of the test rows, how it calls itself, and what its fit took."""

    seen: Seen
    method: str
    seconds: float


Peer = Callable[[Split], Fitted]


def gaussian_process(data: Split, max_time: float | None) -> Fitted:
    """Defaults."""
    began = cpu_seconds()
    model = GPRegressor(random_state=0, max_time=max_time).fit(data.X, data.y)
    seconds = cpu_seconds() - began
    return Fitted(model._seen(data.X_test, data.y_test), model.method_, seconds)


def elsewhere(name: str, python: str, data: Split) -> Fitted:
    """A Gaussian process of another library, in a process of its own."""
    both = pd.get_dummies(pd.concat([data.X, data.X_test]), dtype=np.float64)
    X, X_test = np.split(both.to_numpy(np.float64), [len(data.X)])
    program = Path(__file__).with_name("regression_peers.py")
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "input.npz"), Path(folder, "output.npz")
        np.savez(source, X=X, y=data.y, X_test=X_test)
        subprocess.run([python, program, name, source, target], check=True, stdout=sys.stderr)
        with np.load(target) as found:
            mean, deviation, seconds = (found[key] for key in ("mean", "deviation", "seconds"))
    return Fitted(seen_by_gaussian(mean, deviation, data.y_test, counts=False), "", float(seconds))


def of_point_predictions(make: Callable[[], Any]) -> Peer:
    """A peer that gives a number alone."""

    def fitted(data: Split) -> Fitted:
        X, X_test = as_numbers(data.X, data.X), as_numbers(data.X_test, data.X)
        n_apart = max(1, int(_SHARE_FOR_VARIANCE * len(X)))
        began = cpu_seconds()
        model = make().fit(X[n_apart:], data.y[n_apart:])
        seconds = cpu_seconds() - began
        apart = model.predict(X[:n_apart]) - data.y[:n_apart]
        deviation = float(np.sqrt(np.mean(np.square(apart))))
        seen = seen_by_gaussian(model.predict(X_test), deviation, data.y_test, counts=False)
        return Fitted(seen, "", seconds)

    return fitted


def peers(pythons: dict[str, str], max_time: float | None) -> dict[str, Peer]:
    """By name; of other libraries those that can be run."""
    found: dict[str, Peer] = {"fewknots": lambda data: gaussian_process(data, max_time)}
    for name, python in pythons.items():
        found[name] = lambda data, name=name, python=python: elsewhere(name, python, data)
    try:
        from lightgbm import LGBMRegressor
    except ImportError:
        print("LightGBM is not installed, and left out.", file=sys.stderr)
    else:
        found["lightgbm"] = of_point_predictions(lambda: LGBMRegressor(verbose=-1, random_state=0))
    found["boosting"] = of_point_predictions(lambda: HistGradientBoostingRegressor(random_state=0))
    found["ridge"] = of_point_predictions(lambda: make_pipeline(StandardScaler(), RidgeCV()))
    return found


def cpu_seconds() -> float:
    """Of this process, all threads."""
    now = os.times()
    return now.user + now.system


def main() -> None:
    """Fit, score and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", choices=[*SETS, []], help="default: all")
    parser.add_argument("--seed", type=int, default=0, help="of the split")
    parser.add_argument("--peers", nargs="+", choices=NAMES, default=list(NAMES))
    parser.add_argument(
        "--python", action="append", default=[], metavar="PEER=PATH", help="svgp and gpboost"
    )
    parser.add_argument("--max-time", type=float, help="seconds, of GPRegressor's fit")
    asked = parser.parse_args()
    fits = peers(dict(pair.split("=", 1) for pair in asked.python), asked.max_time)
    print("| set | rows | method | NLP | RMSE | in 95 % intervals | CPU s |")
    print("|---|---|---|---|---|---|---|")
    for name in asked.sets or SETS:
        data = SETS[name](asked.seed)
        for peer in asked.peers:
            if peer not in fits:
                continue
            seen, method, seconds = fits[peer](data)
            found = number_scores(seen, data.y_test)
            called = f"{NAMES[peer]}, {method}" if method else NAMES[peer]
            numbers = f"{found['nlp']:.3f} | {found['rmse']:.4g} | {found['coverage']:.3f}"
            cells = (name, f"{len(data.y):,}", called, numbers, f"{seconds:.1f}")
            print(f"| {' | '.join(cells)} |", flush=True)


def _folder() -> Path:
    return Path(os.environ["FEWKNOTS_DATA"])


if __name__ == "__main__":
    main()
