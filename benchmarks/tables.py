"""Defaults beside other libraries on many tables: NLP, error, calibration, seconds.

    python benchmarks/tables.py --data FOLDER --out FOLDER [--sets NAMES] [--methods NAMES]
        [--splits 3] [--most-rows 100000] [--report]

FOLDER of `--data` holds the sets (docs/datasets.md). Of each a quarter of the rows, at most 20,000,
is for testing, drawn at random with the number of the split as seed. Every cell (set, split,
method) is a process of its own and a file in `--out`, so that the command goes on where it was
stopped, and the seconds of `fit` count compiling. `--report` only prints tables of what is there.

Raw tables (numbers, texts, gaps) are given as data frames to what takes them; the others get
one-hot columns, gaps replaced by the median, and standard deviation 1. Beside wall time there is
the time of all cores, which says more where other programs run. "tuned" is the best of 30 random
settings by three-fold cross-validated NLP, searched for on at most 10,000 rows.

The settings of fewknots were chosen on the sets of CHOSEN_ON alone; the tables show the others
apart. A library that is not installed is left out.
"""

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

CHOSEN_ON = (
    *("banana", "breast_cancer", "diabetes", "german", "heart", "magic", "spambase"),
    *("contraceptive", "segment", "mlc_churn", "credit_data", "hpc_data"),
)
OTHERS = (
    *("flare_solar", "image", "ringnorm", "thyroid", "twonorm", "waveform", "adult"),
    *("electricity", "covtype", "flights", "mnist", "satimage", "penbased", "letter"),
    *("attrition", "lending_club", "stackoverflow", "diamonds_cut"),
)
_IDA = (
    *("banana", "breast_cancer", "diabetes", "german", "heart", "flare_solar", "image"),
    *("ringnorm", "thyroid", "twonorm", "waveform"),
)
_CLASSES = ("contraceptive", "segment", "satimage", "penbased", "letter")
_TABLES = (
    *("mlc_churn", "credit_data", "hpc_data", "attrition", "lending_club", "stackoverflow"),
    "diamonds_cut",
)
_MOST_TEST, _MOST_SEARCHED, _SETTINGS, _LONGEST = 20_000, 10_000, 30, 3600
_FLIGHT = (
    *("month", "day_of_month", "day_of_week", "dep_time", "arr_time", "air_time"),
    *("distance", "plane_age"),
)


# --- data -----------------------------------------------------------------------------------------


def load(name, folder):
    """All rows of a set, a data frame or an array, and their classes."""
    if name in _TABLES:
        table = pd.read_parquet(folder / f"table_{name}.parquet")
        return table.drop(columns="target"), table["target"].astype(str).to_numpy()
    if name == "flights":
        table = pd.read_parquet(folder / "airline_8feature.parquet").dropna(subset=["plane_age"])
        return table[list(_FLIGHT)].astype(float), (table["arr_delay"] > 0).to_numpy()
    if name == "mnist":
        held = np.load(folder / "mnist.npz")
        images = np.concatenate([held["train_images"], held["test_images"]]).reshape(-1, 784)
        labels = np.concatenate([held["train_labels"], held["test_labels"]]).astype(int)
        return images[:, images.max(axis=0) > 0] / 255.0, labels
    prefix = "ida_" if name in _IDA else "multi_" if name in _CLASSES else ""
    held = np.load(folder / f"{prefix}{name}.npz")
    y = held["y_class"] if name == "covtype" else held["y"]
    return held["x"].astype(float), y.astype(int)


def split(X, y, seed, most_rows):
    """Training rows and test rows."""
    order = np.random.default_rng(seed).permutation(len(y))
    test, train = np.split(order, [min(len(y) // 4, _MOST_TEST)])
    train = train[:most_rows]
    rows = X.iloc if isinstance(X, pd.DataFrame) else X
    return rows[train], y[train], rows[test], y[test]


# --- methods --------------------------------------------------------------------------------------


def fewknots(**arguments):
    from fewknots import GPClassifier

    return GPClassifier(random_state=0, **arguments)


def of_numbers(X, model):
    """A pipeline to a model that wants numbers without gaps."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    if not isinstance(X, pd.DataFrame):
        return make_pipeline(StandardScaler(), model)
    numbers = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    levels = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=2)
    return make_pipeline(
        make_column_transformer(
            (numbers, make_column_selector(dtype_include="number")),
            (levels, make_column_selector(dtype_exclude="number")),
            sparse_threshold=0.0,
        ),
        model,
    )


def logistic(X):
    from sklearn.linear_model import LogisticRegression

    return of_numbers(X, LogisticRegression(max_iter=1000))


def sklearn_gp(X):
    from sklearn.gaussian_process import GaussianProcessClassifier
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel

    return of_numbers(X, GaussianProcessClassifier(ConstantKernel() * RBF(), random_state=0))


def histogram_boosting(X, **options):
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(random_state=0, **options)


def lightgbm(X, **options):
    from lightgbm import LGBMClassifier

    return LGBMClassifier(random_state=0, verbose=-1, **options)


def xgboost(X, **options):
    from xgboost import XGBClassifier

    return XGBClassifier(random_state=0, enable_categorical=True, **options)


def catboost(X, **options):
    from catboost import CatBoostClassifier

    levels = None
    if isinstance(X, pd.DataFrame):
        levels = [name for name in X if not pd.api.types.is_numeric_dtype(X[name])]
    return CatBoostClassifier(
        random_state=0, verbose=0, allow_writing_files=False, cat_features=levels, **options
    )


# name: (model for these rows, library, settings to search; None for a method with defaults only)
_RATE = [0.01, 0.02, 0.05, 0.1, 0.2]
METHODS = {
    "fewknots": (lambda X: fewknots(), None, None),
    "logistic regression": (logistic, None, None),
    "scikit-learn GP": (sklearn_gp, None, None),
    "histogram boosting": (
        histogram_boosting,
        None,
        {
            "learning_rate": _RATE,
            "max_iter": [50, 100, 200, 400, 800],
            "max_leaf_nodes": [7, 15, 31, 63, 127],
            "min_samples_leaf": [5, 10, 20, 50],
            "l2_regularization": [0.0, 0.1, 1.0, 10.0],
        },
    ),
    "LightGBM": (
        lightgbm,
        "lightgbm",
        {
            "learning_rate": _RATE,
            "n_estimators": [50, 100, 200, 400, 800],
            "num_leaves": [7, 15, 31, 63, 127],
            "min_child_samples": [5, 10, 20, 50],
            "subsample": [0.6, 0.8, 1.0],
            "subsample_freq": [1],
            "colsample_bytree": [0.4, 0.6, 0.8, 1.0],
            "reg_lambda": [0.0, 0.1, 1.0, 10.0],
        },
    ),
    "XGBoost": (
        xgboost,
        "xgboost",
        {
            "learning_rate": _RATE,
            "n_estimators": [50, 100, 200, 400, 800],
            "max_depth": [2, 3, 4, 6, 8],
            "min_child_weight": [1, 3, 10],
            "subsample": [0.6, 0.8, 1.0],
            "colsample_bytree": [0.4, 0.6, 0.8, 1.0],
            "reg_lambda": [0.1, 1.0, 10.0],
        },
    ),
    "CatBoost": (
        catboost,
        "catboost",
        {
            "learning_rate": _RATE,
            "iterations": [100, 200, 400, 800],
            "depth": [3, 4, 6, 8],
            "l2_leaf_reg": [1.0, 3.0, 10.0],
        },
    ),
}
TUNED = [f"{name}, tuned" for name, (_, _, settings) in METHODS.items() if settings]
_MOST_ROWS = {"scikit-learn GP": 3000}  # its time grows with the cube of them


def prepared(X, method):
    """Rows as the method takes them: texts as categories or as texts."""
    if not isinstance(X, pd.DataFrame):
        return X
    levels = [name for name in X if not pd.api.types.is_numeric_dtype(X[name])]
    if method == "CatBoost":
        return X.assign(
            **{name: X[name].astype(object).fillna("gap").astype(str) for name in levels}
        )
    if method == "fewknots":
        return X
    # scikit-learn does not know pandas' own mark of a gap
    texts = {name: X[name].astype(object).where(X[name].notna(), np.nan) for name in levels}
    if method in ("logistic regression", "scikit-learn GP"):
        return X.assign(**texts)
    return X.assign(**{name: text.astype("category") for name, text in texts.items()})


def tuned(make, settings, X, codes):
    """The model of the best of some random settings, and what they are."""
    from sklearn.model_selection import ParameterSampler, StratifiedKFold

    some = np.random.default_rng(0).permutation(len(codes))[:_MOST_SEARCHED]
    rows = X.iloc if isinstance(X, pd.DataFrame) else X
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(some, codes[some]))
    found = []
    for options in ParameterSampler(settings, _SETTINGS, random_state=0):
        nlp = []
        for train, test in folds:
            train, test = some[train], some[test]
            model = make(X, **options).fit(rows[train], codes[train])
            nlp.append(scores(model.predict_proba(rows[test]), model.classes_, codes[test])["nlp"])
        found.append((float(np.mean(nlp)), options))
    best = min(found, key=lambda pair: pair[0])[1]
    return make(X, **best), best


def scores(P, classes, y, bins=15):
    """NLP, error, and the calibration error of all classes in the mean, in bins of equal width."""
    P, place = np.asarray(P), np.searchsorted(classes, y)
    known = np.isin(y, classes)
    place = np.where(known, place, 0)
    likely = np.where(known, P[np.arange(len(y)), np.minimum(place, P.shape[1] - 1)], 0.0)
    gaps = []
    for c, name in enumerate(classes):
        bin_of = np.minimum((P[:, c] * bins).astype(int), bins - 1)
        gaps.append(np.abs(np.bincount(bin_of, P[:, c] - (y == name), bins)).sum() / len(y))
    return {
        "nlp": float(-np.log(np.maximum(likely, 1e-15)).mean()),
        "error": float(np.mean(classes[P.argmax(axis=1)] != y)),
        "ece": float(np.mean(gaps)),
    }


# --- cells ----------------------------------------------------------------------------------------


def measure(name, seed, method, options):
    """One fit and its scores."""
    warnings.simplefilter("ignore")
    own, _, is_tuned = method.partition(", ")
    make, _, settings = METHODS[own]
    X, y, X_test, y_test = split(*load(name, options.data), seed, options.most_rows)
    rows, inputs, classes = len(y), X.shape[1], len(np.unique(y))
    X, X_test = prepared(X, own), prepared(X_test, own)
    for column in X.columns if isinstance(X, pd.DataFrame) else ():
        if isinstance(X[column].dtype, pd.CategoricalDtype):  # levels of the training rows
            levels = X[column].cat.categories
            X_test[column] = pd.Categorical(X_test[column], categories=levels)
    names, codes = np.unique(y, return_inverse=True)
    fewknots() if own == "fewknots" else make(X)  # what follows is counted, imports are not
    started, worked = time.perf_counter(), time.process_time()
    model, chosen = tuned(make, settings, X, codes) if is_tuned else (make(X), None)
    model.fit(X, codes)
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - worked
    again = np.random.default_rng(seed).integers(0, len(y_test), 10_000)
    started = time.perf_counter()
    model.predict_proba(X_test.iloc[again] if isinstance(X_test, pd.DataFrame) else X_test[again])
    to_predict = time.perf_counter() - started
    P = model.predict_proba(X_test)
    place = np.searchsorted(names, y_test)
    known = np.isin(y_test, names)
    y_test = np.where(known, np.minimum(place, len(names) - 1), -1)
    found = scores(P, np.arange(len(names)), y_test)
    shape = {"rows": rows, "inputs": inputs, "classes": classes}
    times = {"seconds": seconds, "cpu_seconds": cpu_seconds, "seconds_10000": to_predict}
    more = {"settings": chosen} if is_tuned else {}
    if own == "fewknots":
        more = {"won": model.method_, "kernel": type(model.kernel_).__name__}
    return {"set": name, "split": seed, "method": method} | shape | found | times | more


def cell_path(out, name, seed, method):
    return out / f"{name}-{seed}-{method.replace(' ', '_').replace(',', '')}.json"


def run_missing(options):
    """Every cell without a file, each in a process of its own."""
    for name in options.sets:
        for seed in range(options.splits):
            for method in options.methods:
                own = method.partition(",")[0]
                library = METHODS[own][1]
                path = cell_path(options.out, name, seed, method)
                if path.exists() or (library and find_spec(library) is None):
                    continue
                if own in _MOST_ROWS and min_rows(name, options) > _MOST_ROWS[own]:
                    continue
                command = [sys.executable, __file__, "--data", options.data, "--out", options.out]
                command += [
                    "--most-rows",
                    str(options.most_rows),
                    "--cell",
                    name,
                    str(seed),
                    method,
                ]
                print(f"{name}, split {seed}: {method}", flush=True)
                try:
                    subprocess.run(command, check=True, timeout=_LONGEST)
                except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
                    print(f"  failed: {error}", flush=True)


def min_rows(name, options):
    return min(options.most_rows, len(load(name, options.data)[1]) * 3 // 4)


# --- tables ---------------------------------------------------------------------------------------


def report(options):
    cells = [json.loads(path.read_text()) for path in sorted(options.out.glob("*.json"))]
    for title, names in (("Sets not used to choose", OTHERS), ("Sets used to choose", CHOSEN_ON)):
        mine = [cell for cell in cells if cell["set"] in names]
        if mine:
            print(f"\n### {title}\n")
            table(mine)


def table(cells):
    """NLP of each set and method in the mean of the splits; the mean rank; how often first."""
    found = defaultdict(lambda: defaultdict(list))
    for cell in cells:
        found[cell["set"]][cell["method"]].append(cell)
    methods = [name for name in (*METHODS, *TUNED) if any(name in by for by in found.values())]
    print("| set (rows, inputs, classes) | " + " | ".join(methods) + " |")
    print("|---" * (len(methods) + 1) + "|")
    ranks = defaultdict(list)
    for name, by in found.items():
        nlp = {method: np.mean([cell["nlp"] for cell in by[method]]) for method in by}
        order = sorted(nlp, key=lambda method: nlp[method])
        for method in nlp:
            ranks[method].append(1 + order.index(method))
        any_cell = next(iter(by.values()))[0]
        shape = f"{any_cell['rows']:,}, {any_cell['inputs']}, {any_cell['classes']}"
        shown = [
            "" if m not in nlp else f"**{nlp[m]:.4f}**" if m == order[0] else f"{nlp[m]:.4f}"
            for m in methods
        ]
        print(f"| {name} ({shape}) | " + " | ".join(shown) + " |")
    for title, of in (
        ("mean rank in NLP", lambda m: f"{np.mean(ranks[m]):.2f}"),
        ("error, mean", lambda m: f"{mean_of(found, m, 'error'):.4f}"),
        ("calibration error, mean", lambda m: f"{mean_of(found, m, 'ece'):.4f}"),
        ("seconds of fit, median", lambda m: f"{mean_of(found, m, 'seconds', np.median):.1f}"),
        ("CPU seconds of fit, median",
         lambda m: f"{mean_of(found, m, 'cpu_seconds', np.median):.1f}"),
        ("seconds for 10,000 rows, median",
         lambda m: f"{mean_of(found, m, 'seconds_10000', np.median):.2f}"),
    ):  # fmt: skip
        print(f"| {title} | " + " | ".join(map(of, methods)) + " |")


def mean_of(found, method, what, mean=np.mean):
    return mean([cell[what] for by in found.values() for cell in by.get(method, [])])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=(*CHOSEN_ON, *OTHERS))
    parser.add_argument("--methods", nargs="+", default=(*METHODS, *TUNED))
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--most-rows", type=int, default=100_000)
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--cell", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.cell:
        name, seed, method = options.cell
        found = measure(name, int(seed), method, options)
        path = cell_path(options.out, name, int(seed), method)
        path.with_suffix(".part").write_text(json.dumps(found))
        path.with_suffix(".part").replace(path)
        print(f"  NLP {found['nlp']:.4f}, error {found['error']:.2%}, {found['seconds']:.1f} s")
        return
    if not options.report:
        run_missing(options)
    report(options)


if __name__ == "__main__":
    main()
