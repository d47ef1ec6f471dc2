"""The files of a table: finding them, opening each in its own way, reading one in pieces."""

import glob
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from ..exceptions import DataError
from .csv_dialect import CsvOptions, dialect_of
from .file_formats import READING_ERRORS, Arrow, Csv, Format, Parquet, raise_unreadable
from .sources import Place

_SEPARATORS = {".csv": ",", ".tsv": "\t"}  # unless the file shows another one
_TYPED: dict[str, Callable[[str], Format]] = {
    **dict.fromkeys((".parquet", ".pq"), Parquet),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), Arrow),
}
_KINDS: dict[str, Any] = _TYPED | dict.fromkeys(_SEPARATORS, Csv)
_COMPRESSED = (".gz", ".bz2", ".zst")


def readable(
    batches: Iterator[pa.RecordBatch], place: Place, names: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """The same batches; what goes wrong in reading one says how far the file was good."""
    while True:
        try:
            batch = next(batches, None)
        except READING_ERRORS as error:
            raise_unreadable(error, place, names)
        if batch is None:
            return
        yield batch
        place = place.row(batch.num_rows)


def paths_of(source: Any) -> list[Path]:
    """The files meant by a path, a folder, a pattern or a list of these."""
    if isinstance(source, list | tuple):
        if not source:
            raise ValueError("source is an empty list: there is no file to read.")
        return [path for item in source for path in paths_of(item)]
    if not isinstance(source, str | os.PathLike):
        raise TypeError(f"source lists a {type(source).__name__}: expected paths.")
    path = Path(source)
    if path.is_dir():
        return _files_below(path)
    if not path.exists() and glob.has_magic(str(path)):
        matches = sorted(Path(match) for match in glob.glob(str(path), recursive=True))
        # a pattern such as "flights/**" matches folders besides the files in them
        files = [match for match in matches if match.is_file() and _is_data(match.name)]
        if not files:
            raise FileNotFoundError(f"no file matches the pattern {source!r}.")
        return files
    if not path.exists():
        raise FileNotFoundError(f"there is no file or folder {source!s}.")
    return [path]


def _files_below(folder: Path) -> list[Path]:
    """The table files in a folder and its folders, except hidden ones and those named _..."""
    files = sorted(
        path
        for path in folder.rglob("*")
        if path.is_file()
        and all(map(_is_data, path.relative_to(folder).parts))
        and _suffix(path) in _KINDS
    )
    if not files:
        raise FileNotFoundError(f"{folder} holds no table: looked for {', '.join(_KINDS)}.")
    return files


def _is_data(name: str) -> bool:
    return not name.startswith((".", "_"))


def _suffix(path: Path) -> str:
    """What names the format: the .csv of rows.csv.gz."""
    last, inner = path.suffix.lower(), path.with_suffix("").suffix.lower()
    return inner if last in _COMPRESSED and inner in _SEPARATORS else last


class OpenedFile(NamedTuple):
    """One file of a table: where it is, how it is read, what its columns are."""

    path: Path
    format: Format
    schema: pa.Schema

    @classmethod
    def opened(cls, path: Path, options: CsvOptions) -> "OpenedFile":
        """Look at the file's beginning, or end; errors say what is wrong with it."""
        if path.stat().st_size == 0:
            raise DataError(f"{path} is empty: it has 0 bytes.")
        place = Place(str(path))
        try:
            way = format_of(path, options)
            place = Place(str(path), 0, way.layout(path))
            schema = way.schema(path)
            schema.names  # noqa: B018  (text is decoded only now)
        except READING_ERRORS as error:
            raise_unreadable(error, place, None)
        return cls(path, way, schema)

    @property
    def place(self) -> Place:
        """Its first row."""
        return Place(str(self.path), 0, self.format.layout(self.path))

    def pieces(self, names: Sequence[str], rows: int) -> Iterator[tuple[pa.RecordBatch, Place]]:
        """The named columns, at most `rows` rows at a time and never none, and where they are."""
        place = self.place
        batches = self.format.batches(self.path, self.schema, names, rows)
        for batch in readable(batches, place, self.schema.names):
            for start in range(0, batch.num_rows, rows):
                piece = batch.slice(start, rows)
                yield piece, place
                place = place.row(piece.num_rows)


def opened_files(source: Any, options: CsvOptions) -> list[OpenedFile]:
    """The files meant by a path, a folder, a pattern or a list of these, all of one kind."""
    paths = paths_of(source)
    for path in paths:
        if _suffix(path) not in _KINDS:
            raise DataError(
                f"{path}: this kind of file cannot be read. Use one of {', '.join(_KINDS)}."
            )
        if _KINDS[_suffix(path)] is not _KINDS[_suffix(paths[0])]:
            raise DataError(
                f"{paths[0]} and {path} are files of different kinds. Pass files of one kind, for "
                f'instance by a pattern such as "folder/*{_suffix(paths[0])}".'
            )
    return [OpenedFile.opened(path, options) for path in paths]


def format_of(path: Path, options: CsvOptions) -> Format:
    """How a file is read: by its ending, and a CSV by how it begins too."""
    suffix = _suffix(path)
    if suffix in _SEPARATORS:
        return Csv(dialect_of(path, options, _SEPARATORS[suffix]))
    return _TYPED[suffix](options.decimal or ".")
