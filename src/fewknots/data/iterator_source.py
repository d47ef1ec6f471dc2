"""Rows from a function that returns a new iterator in each call.

The iterator yields either tuples of arrays, (X, y) or (X, y, weights), or tables that contain the
target. A first call of the function reads only one item, to find out which, and the columns.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..exceptions import DataError
from .blocks import row_slices
from .row_checks import check_features, check_labels, check_weights
from .sources import ROWS_IN_A_BLOCK, Block, Place

_NUMBERS = "biuf"


class IteratorSource:
    """A source of rows from the iterators that a function returns."""

    n_rows: int | None = None
    # A later block may have a wider dtype than the first one.
    exact_in_float32: bool = False
    feature_names: tuple[str, ...] | None = None

    def __init__(
        self,
        factory: Callable[[], Any],
        target: Any,
        features: Sequence[Any] | None,
        weight: Any,
    ) -> None:
        self._factory = factory
        self._last_iterator: Any = None
        iterator = self._fresh_iterator()
        try:
            first = next(iterator)
        except StopIteration:
            raise DataError("the source function returned an iterator without items.") from None
        getattr(iterator, "close", lambda: None)()
        self._as_blocks: Callable[[Any, str, int, Sequence[str]], Iterator[Block]]
        if _is_table(first):
            reader = _TableItems(first, target, features, weight)
            self.feature_names = reader.columns.features
            self.target_name: str = reader.columns.target_name
            self.n_features: int = len(reader.columns.features)
            self._as_blocks = reader.blocks
            return
        if not (target is None and features is None and weight is None):
            raise TypeError(
                "the source function yields arrays, which have no named columns: leave out "
                "target=, features= and weight=, and yield (X, y) or (X, y, weights)."
            )
        self.target_name = "y"
        self.n_features = _arrays(first, "block 0")[0].shape[1]
        self._as_blocks = self._array_blocks

    def blocks(self, rows: int = ROWS_IN_A_BLOCK, keep: Sequence[str] = ()) -> Iterator[Block]:
        found = 0
        for number, item in enumerate(self._fresh_iterator()):
            for block in self._as_blocks(item, f"block {number}", rows, keep):
                found += len(block.X)
                yield block
        if found == 0:
            raise DataError("the source function returned an iterator without rows.")

    def _fresh_iterator(self) -> Iterator[Any]:
        iterator = iter(self._factory())
        if iterator is self._last_iterator:
            raise TypeError(
                "the source function returned the same iterator twice. Each call must start a new "
                "one: a generator function does, `lambda: iterator` does not."
            )
        self._last_iterator = iterator
        return iterator

    def _array_blocks(
        self, item: Any, name: str, rows: int, keep: Sequence[str]
    ) -> Iterator[Block]:
        if keep:
            raise DataError("the source function yields arrays: they have no columns to keep.")
        X, labels, weights = _arrays(item, name)
        if X.shape[1] != self.n_features:
            raise DataError(
                f"{name} of the iterator has {X.shape[1]} columns, but block 0 has "
                f"{self.n_features}."
            )
        for piece in row_slices(len(X), rows):
            place = Place(name, piece.start)
            part = np.ascontiguousarray(X[piece], np.float64)
            check_features(part, None, place)
            if labels is not None:
                check_labels(labels[piece], "y", place)
            if weights is not None:
                check_weights(weights[piece], "weights", place)
            yield Block(
                part,
                None if labels is None else labels[piece],
                None if weights is None else weights[piece],
                None,
                place,
            )


class _TableItems:
    """Tables from an iterator; the first one defines the columns."""

    def __init__(self, first: Any, target: Any, features: Any, weight: Any) -> None:
        from .table_columns import Columns  # needs pyarrow, which arrays do not

        schema = arrow_table(first).schema
        self.columns = Columns.chosen(schema, "block 0", target, features, weight)

    def blocks(self, item: Any, name: str, rows: int, keep: Sequence[str]) -> Iterator[Block]:
        if not _is_table(item):
            raise DataError(
                f"{name} of the iterator is a {type(item).__name__}, but block 0 is a table."
            )
        table, place = arrow_table(item), Place(name)
        self.columns.check_types(table.schema, name)
        self.columns.check_presence(table.schema, name, keep)
        for batch in table.to_batches(max_chunksize=rows):
            if batch.num_rows:
                yield self.columns.block(batch, place, keep)
            place = place.row(batch.num_rows)


def _is_table(item: Any) -> bool:
    return hasattr(item, "__arrow_c_stream__") or hasattr(item, "__arrow_c_array__")


def arrow_table(item: Any) -> Any:
    """Convert a pandas, polars or pyarrow table to a pyarrow table."""
    import pyarrow as pa

    if type(item).__module__.partition(".")[0] == "pandas":
        return pa.Table.from_pandas(item, preserve_index=False)
    return pa.table(item)


def _arrays(item: Any, name: str) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """X, y and weights of one item; None for those that it does not have."""
    parts = item if isinstance(item, tuple) else (item,)
    if not 1 <= len(parts) <= 3 or _is_table(item):
        raise DataError(
            f"{name} of the iterator is {_described(item)}: expected (X, y) or (X, y, weights)."
        )
    X, labels, weights = (*map(_array, parts), None, None)[:3]
    if X is None or X.ndim != 2 or X.dtype.kind not in _NUMBERS:
        raise DataError(
            f"{name} of the iterator has an X that is not a 2-D array of numbers but "
            f"{_described(parts[0])}."
        )
    for what, part in (("y", labels), ("weights", weights)):
        if part is not None and part.shape != (len(X),):
            raise DataError(
                f"{name} of the iterator: X has {len(X)} rows, but {what} has shape {part.shape}."
            )
    if weights is not None:
        if weights.dtype.kind not in _NUMBERS:
            raise DataError(f"{name} of the iterator has weights that are not numbers.")
        weights = weights.astype(np.float64)
    return X, labels, weights


def _array(part: Any) -> np.ndarray | None:
    return None if part is None else np.asarray(part)


def _described(item: Any) -> str:
    if isinstance(item, tuple):
        return f"a tuple of {len(item)}"
    shape = f" of shape {item.shape} and type {item.dtype}" if isinstance(item, np.ndarray) else ""
    return f"a {type(item).__name__}{shape}"
