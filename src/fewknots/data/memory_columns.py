"""The columns of a table in memory, one by one: pandas, polars, pyarrow, or an array.

Numbers and booleans become float64 with NaN for every kind of gap (None, pd.NA, null, NaN): that
needs NumPy alone. Everything else becomes a pyarrow array, with the categories of a categorical
column as texts. A column of Python objects is checked value by value: numbers, if all values are
numbers or texts of numbers; Arrow's type, if all values are of one kind; otherwise texts.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..extras import missing
from .tables import BOOLEANS, NUMBERS, OBJECTS, check_values, column_kinds, is_arrow

if TYPE_CHECKING:
    import pyarrow as pa


class MemoryColumn(NamedTuple):
    """One column."""

    name: str  # "x0", "x1", ... for an array
    values: "np.ndarray | pa.Array"
    is_boolean: bool = False
    order: tuple[str, ...] = ()  # the order of categories, if they have one, from the lowest


class MemoryTable(NamedTuple):
    """All columns of a table, in its order."""

    columns: tuple[MemoryColumn, ...]
    n_rows: int


def memory_table(X: Any) -> MemoryTable:
    """The columns of X, which was found to be a table (`column_kinds`) or an array of numbers."""
    kinds = column_kinds(X)
    unnamed = "x" if isinstance(X, np.ndarray) else ""
    columns = tuple(
        _column(unnamed + name, kind, X, place) for place, (name, kind) in enumerate(kinds)
    )
    return MemoryTable(columns, len(X))


def _column(name: str, kind: str, X: Any, place: int) -> MemoryColumn:
    column = _at(X, place)
    if kind in (NUMBERS, BOOLEANS):
        return MemoryColumn(name, _as_floats(column), kind == BOOLEANS)
    try:
        import pyarrow as pa
    except ImportError as error:
        if kind == OBJECTS and (values := _numbers_of(column)) is not None:
            return MemoryColumn(name, values)
        what = f"column {name!r} of X holds {kind}, and reading that needs pyarrow"
        raise ImportError(missing(what, "stream")) from error
    if kind == OBJECTS:
        return _of_objects(name, column, pa)
    if hasattr(column, "cat") and hasattr(column, "array"):  # of pandas
        return _of_pandas_categories(name, column.array, pa)
    if str(getattr(column, "dtype", "")).startswith("period"):
        column = column.dt.to_timestamp()
    # every polars Enum says "ordered", but mostly it is just a list of levels
    return _of_arrow(name, _as_arrow(column, pa), pa, ordered=is_arrow(column))


def _at(X: Any, place: int) -> Any:
    """A column by its number, since names may not be texts."""
    if hasattr(X, "iloc"):
        return X.iloc[:, place]
    if isinstance(X, np.ndarray):
        return X[:, place]
    if is_arrow(X):
        return X.column(place)
    return X.to_series(place) if hasattr(X, "to_series") else X[:, place]


def _as_floats(column: Any) -> np.ndarray:
    if isinstance(column, np.ndarray):
        return column.astype(np.float64)
    if is_arrow(column):
        from pyarrow import float64, uint8

        if str(column.type) == "bool":
            column = column.cast(uint8())
        return column.cast(float64(), safe=False).to_numpy()
    if hasattr(column, "iloc"):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    from polars import Float64

    return column.cast(Float64, strict=False).to_numpy().astype(np.float64)


def _as_arrow(column: Any, pa: Any) -> Any:
    if hasattr(column, "iloc"):
        found = pa.Array.from_pandas(column)
    elif hasattr(column, "to_arrow"):
        found = column.to_arrow()
    else:
        found = column
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


def _of_arrow(name: str, column: Any, pa: Any, ordered: bool = False) -> MemoryColumn:
    if isinstance(column, pa.ChunkedArray):  # `combine_chunks` leaves none or several
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    if not pa.types.is_dictionary(column.type):
        return MemoryColumn(name, column)
    words = _as_words(column.dictionary, pa)
    if ordered and column.type.ordered:
        order = tuple(words.to_pylist())
        return MemoryColumn(name, _coded(column.indices, words, pa), order=order)
    return MemoryColumn(name, _coded(column.indices, words, pa))


def _of_pandas_categories(name: str, categories: Any, pa: Any) -> MemoryColumn:
    words = _as_words(_arrow_or_none(categories.categories, pa), pa, categories.categories)
    codes = pa.array(categories.codes.astype(np.int32), mask=categories.codes < 0)
    order = tuple(words.to_pylist()) if categories.ordered else ()
    return MemoryColumn(name, _coded(codes, words, pa), order=order)


def _coded(codes: Any, words: Any, pa: Any) -> Any:
    return pa.DictionaryArray.from_arrays(codes.cast(pa.int32()), words)


def _as_words(values: Any, pa: Any, otherwise: Any = ()) -> Any:
    """Categories as texts: as Arrow writes them, or else as Python does (intervals)."""
    try:
        if values is not None:
            return values.cast(pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        otherwise = values.to_pylist()
    return pa.array([_text(value) for value in otherwise], pa.large_string())


def _arrow_or_none(values: Any, pa: Any) -> Any:
    try:
        found = pa.array(values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        return None
    return None if isinstance(found, pa.ExtensionArray) else found


def as_arrow(column: MemoryColumn) -> Any:
    """The values as a pyarrow array; whole numbers become integers."""
    import pyarrow as pa

    values = column.values
    if not isinstance(values, np.ndarray):
        return values
    absent = np.isnan(values)
    if absent.all():
        return pa.nulls(len(values))
    whole = np.where(absent, 0.0, values)
    if column.is_boolean:
        return pa.array(whole > 0.0, mask=absent)
    small = np.abs(whole) < _EXACT
    if (small & (whole == np.floor(whole))).all():
        return pa.array(whole.astype(np.int64), mask=absent)
    return pa.array(values, mask=absent)


def _of_objects(name: str, column: Any, pa: Any) -> MemoryColumn:
    """A column of Python objects: numbers, dates, texts, or some of each."""
    numbers = _numbers_of(column)
    if numbers is not None:
        return MemoryColumn(name, numbers)
    values = np.asarray(column, object)
    found = _arrow_or_none(values, pa)
    if found is None:
        strange = [v for v in values if not (_is_gap(v) or isinstance(v, _SIMPLE))]
        if strange:
            check_values(repr(name), values)
        found = pa.array(
            [None if _is_gap(value) else _text(value) for value in values], pa.large_string()
        )
    types = pa.types
    if types.is_nested(found.type) or types.is_binary(found.type):
        check_values(repr(name), values)
    return _of_arrow(name, found, pa)


_EXACT = 2.0**53  # the first whole number that float64 may not hold
_SIMPLE = (str, int, float, bool, np.generic)


def _numbers_of(column: Any) -> np.ndarray | None:
    """Objects as float64, NaN for gaps; None if one of them is not a number."""
    values = np.asarray(column, object)
    found = np.empty(len(values))
    for row, value in enumerate(values):
        try:
            found[row] = np.nan if _is_gap(value) else float(value)
        except (TypeError, ValueError):
            return None
    return found


def _is_gap(value: Any) -> bool:
    """None, NaN, pd.NA and pd.NaT."""
    if value is None:
        return True
    if isinstance(value, str):
        return False
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # pd.NA has no truth; an array has several
        return type(value).__name__ == "NAType"


def _text(value: Any) -> str:
    """The text of a value as Arrow writes it, so that all columns have the same texts."""
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)
