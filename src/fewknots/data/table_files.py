"""One table in one or many files, read one after the other as numbers, labels and weights."""

from collections.abc import Iterator, Sequence
from typing import Any

from ..exceptions import DataError
from .csv_dialect import CsvOptions
from .opened_files import OpenedFile, opened_files
from .sources import ROWS_IN_A_BLOCK, Block
from .table_columns import Columns, label_kind


class TableFiles:
    """A source of rows from files of one format with the same columns."""

    def __init__(
        self, source: Any, target: Any, features: Sequence[Any] | None, weight: Any
    ) -> None:
        # All files are checked now: a column that is missing in the last file should not be
        # reported only after hours of training.
        self._files = opened_files(source, CsvOptions())
        first = self._files[0]
        self._columns = Columns.chosen(first.schema, str(first.path), target, features, weight)
        first_kind = "nothing"
        for file in self._files:
            kind = self._kind_of_labels(file)
            if kind != first_kind and "nothing" not in (kind, first_kind):
                raise DataError(
                    f"column {target!r} holds {kind} in {file.path} and {first_kind} in "
                    f"{first.path}. The files of one table must agree on what a column holds."
                )
            first_kind = kind if first_kind == "nothing" else first_kind

        self.feature_names: tuple[str, ...] | None = self._columns.features
        self.target_name: str = self._columns.target_name
        self.n_features: int = len(self._columns.features)
        schemas = [file.schema for file in self._files]
        self.exact_in_float32: bool = all(map(self._columns.exact_in_float32, schemas))
        counts = [file.format.n_rows(file.path) for file in self._files]
        known = [count for count in counts if count is not None]
        self.n_rows: int | None = sum(known) if len(known) == len(counts) else None
        if self.n_rows == 0:
            raise self._no_rows()

    def blocks(self, rows: int = ROWS_IN_A_BLOCK, keep: Sequence[str] = ()) -> Iterator[Block]:
        names = tuple(dict.fromkeys((*self._columns.used, *keep)))
        for file in self._files:
            self._columns.check_presence(file.schema, str(file.path), keep)
        found = 0
        for file in self._files:
            for piece, place in file.pieces(names, rows):
                yield self._columns.block(piece, place, keep)
                found += piece.num_rows
        if found == 0:
            raise self._no_rows()

    def _kind_of_labels(self, file: OpenedFile) -> str:
        """The kind of the labels; also checks that the columns exist and can be used."""
        columns, name = self._columns, str(file.path)
        columns.check_presence(file.schema, name)
        if not file.place.layout.cells_are_text:
            columns.check_types(file.schema, name)
            return "nothing" if columns.target is None else label_kind(file.schema, columns.target)
        # for a CSV, parse the first rows: text in a feature is an error that names the line
        for piece, place in file.pieces(columns.used, ROWS_IN_A_BLOCK):
            labels = columns.block(piece, place, ()).labels
            if labels is not None:
                return "numbers" if labels.dtype.kind in "biuf" else "text"
            break
        return "nothing"

    def _no_rows(self) -> DataError:
        more = f" and {len(self._files) - 1} more" if len(self._files) > 1 else ""
        return DataError(f"there are no rows in {self._files[0].path}{more}.")
