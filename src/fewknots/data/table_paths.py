"""Where tables are: a path, a folder, a pattern, a list of these, or standard input.

This file imports nothing heavy, so that a mistyped name is reported before JAX and pyarrow are
imported.

A fit reads its rows several times, and Parquet is read from its end, but standard input (`-`) can
be read only once, from its beginning. So it is copied to a scratch file. Its format is recognised
from its first bytes, as there is no file name.
"""

import glob
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..stopping import scratch_folder

STANDARD_INPUT = "-"  # not a path; `as_files` copies it to a file
PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".feather", ".ipc")
CSV = (".csv",)
TSV = (".tsv",)
ENDINGS = (*PARQUET, *ARROW, *CSV, *TSV)
_COMPRESSED = (".gz", ".bz2", ".zst")
_MAY_BE_COMPRESSED = (*CSV, *TSV)
_NAME = "standard input"
_HEAD_BYTES = 2**16
_ENDINGS = (
    (b"PAR1", ".parquet"),
    (b"ARROW1", ".arrow"),
    (b"\xff\xff\xff\xff", ".arrow"),  # an Arrow stream
    (b"\x1f\x8b", ".csv.gz"),
    (b"BZh", ".csv.bz2"),
    (b"\x28\xb5\x2f\xfd", ".csv.zst"),
)


def paths_of(source: Any) -> list[Path]:
    """The files given by a path, a folder, a pattern or a list of these."""
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
        # a pattern such as "flights/**" also matches folders
        files = [match for match in matches if match.is_file() and _is_data(match.name)]
        if not files:
            raise FileNotFoundError(f"no file matches the pattern {source!r}.")
        return files
    if not path.exists():
        raise FileNotFoundError(f"there is no file or folder {source!s}.")
    return [path]


def _files_below(folder: Path) -> list[Path]:
    """The table files in a folder and its subfolders, except names that begin with . or _"""
    files = sorted(
        path
        for path in folder.rglob("*")
        if path.is_file()
        and all(map(_is_data, path.relative_to(folder).parts))
        and format_ending(path) in ENDINGS
    )
    if not files:
        raise FileNotFoundError(f"{folder} holds no table: looked for {', '.join(ENDINGS)}.")
    return files


def _is_data(name: str) -> bool:
    return not name.startswith((".", "_"))


def format_ending(path: Path) -> str:
    """The ending that names the format: .csv for rows.csv.gz."""
    last, inner = path.suffix.lower(), path.with_suffix("").suffix.lower()
    return inner if last in _COMPRESSED and inner in _MAY_BE_COMPRESSED else last


@contextmanager
def as_files(sources: Sequence[str]) -> Iterator[list[str]]:
    """The same sources, with `-` replaced by a file that exists until the end of the block."""
    if STANDARD_INPUT not in sources:
        yield list(sources)
        return
    from ..exceptions import DataError

    if len(sources) > 1:
        raise DataError("standard input (-) cannot be read together with files.")
    with scratch_folder() as folder:
        yield [str(_copied(sys.stdin.buffer, folder))]


def _copied(stream: Any, folder: Path) -> Path:
    from ..exceptions import DataError

    head = stream.read(_HEAD_BYTES)
    if not head:
        raise DataError("standard input is empty: there are no rows to read.")
    path = folder / f"{_NAME}{_ending(head)}"
    with path.open("wb") as file:
        file.write(head)
        shutil.copyfileobj(stream, file)
    return path


def _ending(head: bytes) -> str:
    for magic, ending in _ENDINGS:
        if head.startswith(magic):
            return ending
    return ".csv"  # also for .tsv: the separator is recognised
