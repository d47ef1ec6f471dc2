"""An evenly spaced sample of the rows of a table of unknown length.

When the sample has too many rows, every second one is dropped, and from then on only every second
row is added. So the rows of the sample are evenly spaced over the whole table.
"""

from collections.abc import Callable, Hashable, Sequence

import numpy as np

_MOST_ROWS, _MOST_VALUES = 8192, 2**22


class RowSample:
    """A sample of at most about 8,000 rows, fewer for wide tables: at most 32 MB."""

    def __init__(self, names: Sequence[Hashable]) -> None:
        self._most = max(64, min(_MOST_ROWS, _MOST_VALUES // max(1, len(names))))
        self._step, self._seen = 1, 0
        self._rows = np.empty(0, np.int64)
        self._values: dict[Hashable, np.ndarray] = {name: np.empty(0) for name in names}

    def add(self, n_rows: int, values: Callable[[Hashable, np.ndarray], np.ndarray]) -> None:
        """Add `n_rows` more rows; `values(name, rows)` returns a column's values in these rows."""
        rows = np.arange(self._seen, self._seen + n_rows)
        rows = rows[rows % self._step == 0]
        self._rows = np.concatenate([self._rows, rows])
        for name, held in self._values.items():
            self._values[name] = np.concatenate([held, values(name, rows - self._seen)])
        self._seen += n_rows
        while len(self._rows) > self._most:
            self._step *= 2
            kept = self._rows % self._step == 0
            self._rows = self._rows[kept]
            self._values = {name: held[kept] for name, held in self._values.items()}

    def __getitem__(self, name: Hashable) -> np.ndarray:
        """The values of a column in the sample."""
        return self._values[name]
