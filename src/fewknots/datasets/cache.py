"""The cache of downloaded files, which detects changed files.

Beside every file is its record, `<file>.json`: source, date, and SHA-256. Servers publish no
checksums, so the first download is trusted (only its length is checked, if the server announces
it), and every later change is detected. A file without a record is not used.
"""

import hashlib
import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from ..files.container import replacing

_VARIABLE = "FEWKNOTS_CACHE"


class Record(NamedTuple):
    """The record of a cached file."""

    source: str
    fetched: str  # a date
    sha256: str

    def __str__(self) -> str:
        return f"{self.source}, fetched {self.fetched}, SHA-256 {self.sha256}"


def cache_folder() -> Path:
    """The folder in FEWKNOTS_CACHE, or the platform's folder for caches."""
    chosen = os.environ.get(_VARIABLE)
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "fewknots" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "fewknots"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fewknots"


def remember(path: Path, source: str) -> Record:
    """Write the record of a file that has just been downloaded."""
    record = Record(source, datetime.now(UTC).date().isoformat(), sha256_of(path))
    with replacing(_record_path(path)) as temporary:
        temporary.write_text(json.dumps(record._asdict(), indent=2) + "\n", encoding="utf-8")
    return record


def recall(path: Path) -> Record | None:
    """The record of a cached file that is unchanged; None if it has to be downloaded (again).

    A file that differs from its record is deleted. A file without a record may be the user's own,
    and stays until a download replaces it.
    """
    record = _read_record(_record_path(path))
    if record is None or not path.is_file():
        return None
    if sha256_of(path) != record.sha256:
        forget(path)
        return None
    return record


def is_cached(path: Path) -> bool:
    """Whether the file and its record exist; only `recall` checks that they agree."""
    return path.is_file() and _record_path(path).is_file()


def forget(path: Path) -> None:
    """Delete a cached file and its record."""
    path.unlink(missing_ok=True)
    _record_path(path).unlink(missing_ok=True)


def sha256_of(path: Path) -> str:
    """The file's SHA-256, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _record_path(path: Path) -> Path:
    return path.with_name(path.name + ".json")


def _read_record(path: Path) -> Record | None:
    try:
        return Record(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
