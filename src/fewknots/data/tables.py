"""Tables of inputs in memory: checks of their columns, and merging of equal rows.

scikit-learn converts tables (NumPy, pandas, polars, pyarrow) to arrays, but its errors do not say
which column is wrong and what to do. So columns are checked here before. Some messages begin like
those of scikit-learn and NumPy, because scikit-learn's estimator checks expect these texts. Tables
of Dask, which are not in memory, are recognised without importing Dask.

A table whose columns are not all numbers becomes numbers by a recipe (`memory_columns` reads it);
`only_numbers` says which tables need no recipe.
"""

import math
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Real

from ..exceptions import InputWarning, warn

# Squares of larger numbers, summed, leave the range of float64.
LARGEST_VALUE = 1e100
_A_FEW_ROWS = 1000
NUMBERS, BOOLEANS = "numbers", "booleans"
TEXT = "text or categories"
DATES = "dates"
DURATIONS, TIMES = "durations", "times of the day"
NOTHING = "nothing"
OBJECTS = "objects"
_FOR_A_RECIPE = (TEXT, DATES, DURATIONS, TIMES, NOTHING)
# Key: the beginning of the lower-case name of a column's type, in any of these libraries.
_KINDS = {
    "struct": "values of type struct",
    "str": TEXT,
    "utf8": TEXT,
    "large_string": TEXT,
    "categor": TEXT,
    "dictionary": TEXT,
    "bool": BOOLEANS,
    "null": NOTHING,
    "enum": TEXT,
    "timedelta": DURATIONS,
    "duration": DURATIONS,
    "date": DATES,
    "timestamp": DATES,
    "period": DATES,
    "time": TIMES,
    "complex": "complex numbers",
    "object": OBJECTS,
    **{
        start: f"values of type {start}"
        for start in ("list", "array", "binary", "interval", "map", "month", "fixed_", "large_")
    },
}
_ARRAY_KINDS = {
    "U": TEXT,
    "S": TEXT,
    "T": TEXT,
    "M": DATES,
    "m": DURATIONS,
    "c": "complex numbers",
    "O": OBJECTS,
}
_ENCODE = (
    "Encode it as numbers first, for instance with sklearn.preprocessing.OneHotEncoder, or leave "
    "it out. (A table in memory, of pandas, polars or pyarrow, and files for `fewknots fit` are "
    "taken with text, categories and dates as they are.)"
)
_SINCE = (
    "Convert it to numbers first, for instance days since a day that you choose: (column - day) / "
    "one day, or leave it out. (A table in memory, of pandas, polars or pyarrow, and files for "
    "`fewknots fit` are taken with dates as they are.)"
)
_ADVICE = {
    TEXT: ("could not convert string to float: ", _ENCODE),
    DATES: ("", _SINCE),
    DURATIONS: ("", "Convert it to numbers first, for instance seconds, or leave it out."),
    "complex numbers": (
        "Complex data not supported: ",
        "Pass real and imaginary part as two columns, or leave it out.",
    ),
}
_TO_NUMBERS = ("", "Convert it to numbers first, or leave it out.")


def is_arrow(X: Any) -> bool:
    """Whether X is a pyarrow table."""
    return type(X).__module__.partition(".")[0] == "pyarrow"


def column_kinds(X: Any) -> list[tuple[str, str]]:
    """Name and kind of every column of a table, by its type; of an array, its numbers as names."""
    if is_arrow(X):
        return [(field.name, _kind(field.type)) for field in X.schema]
    if isinstance(X, np.ndarray):
        kind = NUMBERS if X.dtype.kind in "biuf" else OBJECTS
        return [(str(column), kind) for column in range(X.shape[1])]
    return [(str(name), _kind(dtype)) for name, dtype in zip(X.columns, X.dtypes, strict=True)]


def is_table(X: Any) -> bool:
    """Whether X is a table of pandas, polars or pyarrow, or looks like one."""
    return is_arrow(X) or (hasattr(X, "columns") and hasattr(X, "dtypes"))


def check_names(X: Any) -> None:
    """Refuse a table with two columns of one name."""
    names = [name for name, _ in column_kinds(X)] if is_table(X) else []
    if len(set(names)) == len(names):
        return
    name, times = Counter(names).most_common(1)[0]
    raise ValueError(f"X has {times} columns named {name!r}: rename them.")


def only_numbers(X: Any) -> bool:
    """Whether every column is numbers or booleans; an error for what no recipe can read.

    By its type, or value by value in a column of objects without gaps. Arrays and lists have no
    recipe for anything else: `with_numeric_columns` refuses them.
    """
    if not is_table(X):
        return True
    kinds = column_kinds(X)
    for name, kind in kinds:
        if kind not in (NUMBERS, BOOLEANS, OBJECTS, *_FOR_A_RECIPE):
            raise _refused(repr(name), kind)
    if any(kind in _FOR_A_RECIPE for _, kind in kinds):
        return False
    objects = [number for number, (_, kind) in enumerate(kinds) if kind == OBJECTS]
    return all(_are_numbers(_values(X, column)) for column in objects)


def _are_numbers(values: np.ndarray) -> bool:
    try:
        return all(value is not None and math.isfinite(float(value)) for value in values)
    except (TypeError, ValueError, OverflowError):
        return False


def with_numeric_columns(X: Any) -> Any:
    """X itself, or an equivalent that scikit-learn reads; an error for other columns."""
    if is_arrow(X):
        X = X.to_pandas()
    if isinstance(X, np.ma.MaskedArray) and X.dtype.kind in "biuf":
        return np.ma.filled(X.astype(np.float64), np.nan)
    if isinstance(X, list | tuple):
        try:
            X = np.asarray(X)
        except ValueError:  # rows of different lengths: scikit-learn raises a clear error
            return X
    for label, kind, values in _columns(X):
        if kind == OBJECTS or (kind == TEXT and isinstance(X, np.ndarray)):
            check_values(label, values())
        elif kind not in (NUMBERS, BOOLEANS, NOTHING):
            raise _refused(label, kind)
    return X


def _refused(label: str, kind: str) -> ValueError:
    """The error for a column of a kind that cannot be used."""
    beginning, advice = _ADVICE.get(kind, _TO_NUMBERS)
    return ValueError(f"{beginning}column {label} of X holds {kind}. {advice}")


def _columns(X: Any) -> Iterator[tuple[str, str, Any]]:
    """For each column: its name in messages, its kind by its type, a function for its values."""
    names, dtypes = getattr(X, "columns", None), getattr(X, "dtypes", None)
    if names is not None and dtypes is not None:
        for i, (name, dtype) in enumerate(zip(names, dtypes, strict=True)):
            yield repr(str(name)), _kind(dtype), lambda i=i: _values(X, i)
    elif isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in _ARRAY_KINDS:
        for i in range(X.shape[1]):
            yield str(i), _ARRAY_KINDS[X.dtype.kind], lambda i=i: X[:, i]


def _kind(dtype: Any) -> str:
    name = str(dtype).lower()
    if name == "str":  # pandas 3's guess for what is a column of objects in pandas 2
        return OBJECTS
    return next((kind for start, kind in _KINDS.items() if name.startswith(start)), NUMBERS)


def _values(table: Any, column: int) -> np.ndarray:
    """Values of a column by its number, since names may repeat."""
    values = table.iloc[:, column] if hasattr(table, "iloc") else table[:, column]
    return np.asarray(values, object)


def check_values(label: str, values: np.ndarray) -> None:
    """Check that every value is a number or the text of one; None is left to scikit-learn."""
    for row, value in enumerate(values):
        if value is None:
            continue
        try:
            float(value)
        except (TypeError, ValueError):
            text = isinstance(value, str | bytes)
            kind = TypeError if not text else ValueError
            beginning = (
                "could not convert string to float"
                if text
                else "argument must be a string or a real number"
            )
            advice = _ENCODE if text else _SINCE if hasattr(value, "year") else _TO_NUMBERS[1]
            plain = value.item() if isinstance(value, np.generic) else value
            raise kind(
                f"{beginning}: column {label} of X holds {plain!r} in row {row}, which is not a "
                f"number. {advice}"
            ) from None


def check_magnitude(X: np.ndarray, names: np.ndarray | None) -> None:
    """Refuse values whose squares would overflow."""
    if max(np.max(X), -np.min(X)) <= LARGEST_VALUE:
        return
    row, column = np.unravel_index(np.argmax(np.abs(X)), X.shape)
    raise ValueError(
        f"{column_name(int(column), names)} of X holds {X[row, column]:g} in row {row}, too large "
        f"to compute with: the limit is {LARGEST_VALUE:g}. Rescale that column."
    )


def warn_of_constant_columns(X: np.ndarray, names: np.ndarray | None) -> None:
    """Warn about inputs that never change."""
    constant = np.flatnonzero(np.ptp(X[:_A_FEW_ROWS], axis=0) == 0)  # most columns end here
    constant = constant[np.ptp(X[:, constant], axis=0) == 0]
    if len(constant) == 0:
        return
    if len(constant) == X.shape[1]:
        message = (
            "all rows of X are identical, so there is nothing to learn from: the predicted "
            "probabilities will be those of the classes in y."
        )
    else:
        listed = ", ".join(column_name(int(column), names) for column in constant[:5])
        more = f" and {len(constant) - 5} more" if len(constant) > 5 else ""
        message = f"{listed}{more} of X never changes, so it contains no information about y."
    warn(message, InputWarning)


def column_name(index: int, names: Sequence[object] | np.ndarray | None) -> str:
    """A column in messages: its name, or its number if it has no name."""
    return f"column {index}" if names is None else f"column {names[index]!r}"


def merge_equal_rows(
    X: Float[np.ndarray, "N D"], y: Real[np.ndarray, " N"], weights: Float[np.ndarray, " N"]
) -> tuple[Float[np.ndarray, "R D"], Float[np.ndarray, " R"], Float[np.ndarray, " R"]]:
    """The distinct (x, y) pairs, sorted, each with its total weight; without rows of weight 0.

    In the bound two equal rows count exactly as one row with weight 2, so only the cost changes: a
    table of coarse measurements often has only a few hundred distinct rows (flare_solar: 144 of
    1066). The order of the result does not depend on the order of the rows, and so neither does a
    fit.
    """
    present = weights > 0
    table = np.column_stack([X[present], y[present]])
    order = np.lexsort(table.T)
    table, weights = table[order], weights[present][order]
    starts = np.flatnonzero(np.append(True, np.any(table[1:] != table[:-1], axis=1)))
    return table[starts, :-1], table[starts, -1], np.add.reduceat(weights, starts)


def is_dask(X: Any) -> bool:
    """Whether X is a Dask array or dataframe. If it is, Dask has been imported already."""
    return "dask" in sys.modules and hasattr(X, "__dask_graph__") and hasattr(X, "to_delayed")


def is_dataframe(X: Any) -> bool:
    """Whether a Dask collection has named columns."""
    return hasattr(X, "columns") and hasattr(X, "map_partitions")
