"""Where downloads are kept, and how a kept file is known to be unchanged.

Beside every file lies a record of it, `<file>.json`: where it came from, when, and its SHA-256.
Servers publish no checksums, so the first download is taken on trust (where the protocol tells the
length, that is checked), and any change after it is noticed. A file without a record is not used.
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
    """What is known of a kept file."""

    source: str
    fetched: str  # a date
    sha256: str

    def __str__(self) -> str:
        return f"{self.source}, fetched {self.fetched}, SHA-256 {self.sha256}"


def cache_folder() -> Path:
    """The folder that FEWKNOTS_CACHE names, or the platform's place for such files."""
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
    """Write the record of a file that has just been fetched."""
    record = Record(source, datetime.now(UTC).date().isoformat(), sha256_of(path))
    with replacing(_record_path(path)) as temporary:
        temporary.write_text(json.dumps(record._asdict(), indent=2) + "\n", encoding="utf-8")
    return record


def recall(path: Path) -> Record | None:
    """The record of a kept file that is as it was fetched.

    None means: fetch it (again). A file that differs from its record is removed. One without a
    record may be somebody's own, and stays until a download takes its place.
    """
    record = _read_record(_record_path(path))
    if record is None or not path.is_file():
        return None
    if sha256_of(path) != record.sha256:
        forget(path)
        return None
    return record


def is_kept(path: Path) -> bool:
    """Whether the file and its record are there; whether they agree is for `recall` to say."""
    return path.is_file() and _record_path(path).is_file()


def forget(path: Path) -> None:
    """Remove a kept file and its record."""
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
