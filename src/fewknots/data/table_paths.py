"""The files of a table, given by a path, a folder, a pattern or a list of these.

This file imports nothing heavy, so that a mistyped name is reported before JAX and pyarrow are
imported.
"""

import glob
import os
from pathlib import Path
from typing import Any

STANDARD_INPUT = "-"  # not a path; data/standard_input.py copies it to a file
PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".feather", ".ipc")
CSV = (".csv",)
TSV = (".tsv",)
ENDINGS = (*PARQUET, *ARROW, *CSV, *TSV)
_COMPRESSED = (".gz", ".bz2", ".zst")
_MAY_BE_COMPRESSED = (*CSV, *TSV)


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
