"""Some rows of a table of unknown length, spread over all of it: every row, then every second, ...

Whenever too many are held, every other one is dropped and only every other one is taken from then
on. So the rows held are evenly spaced, whatever the order of the file.
"""

from collections.abc import Callable, Hashable, Sequence

import numpy as np

_MOST_ROWS, _MOST_VALUES = 8192, 2**22


class RowSample:
    """Holds at most about 8,000 rows, fewer of wide tables: 32 MB."""

    def __init__(self, names: Sequence[Hashable]) -> None:
        self._most = max(64, min(_MOST_ROWS, _MOST_VALUES // max(1, len(names))))
        self._step, self._seen = 1, 0
        self._rows = np.empty(0, np.int64)
        self._values: dict[Hashable, np.ndarray] = {name: np.empty(0) for name in names}

    def add(self, n_rows: int, values: Callable[[Hashable, np.ndarray], np.ndarray]) -> None:
        """More rows, of which `values` gives a column's at the places asked for."""
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
        """A column's values in the rows held."""
        return self._values[name]
