"""Files from public servers: downloaded once, then kept in a cache that detects changed files.

A file is downloaded to a temporary file, which is renamed when it is complete. After a broken
connection, or if the file is shorter than the server announced, the download is tried again.

Beside every file is its record, `<file>.json`: source, date, and SHA-256. Servers publish no
checksums, so the first download is trusted (only its length is checked, if the server announces
it), and every later change is detected. A file without a record is not used.
"""

import hashlib
import json
import os
import sys
import time
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import NamedTuple
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

from ..files.container import replacing
from .dataset import SourceError

_VARIABLE = "FEWKNOTS_CACHE"
_ATTEMPTS = 3
_PAUSE = 1.0  # seconds before the second attempt, doubled after each attempt
_SILENCE = 60.0  # seconds without data after which an attempt ends
_PIECE = 2**20
_PERMANENT = range(400, 500)  # HTTP errors for which another attempt is of no use
RETRIES = {"n_retries": 1, "delay": 1.0}  # one more attempt, a second later
# Warnings about this second attempt are hidden; warnings about the data are not.
_HIDDEN_WARNINGS = ("A network error occurred", "Retry downloading", "Invalid cache, redownloading")


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


def download(address: str, path: Path) -> Path:
    """Download `address` to `path`, unless an unchanged earlier download is there."""
    if recall(path) is not None:
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            with replacing(path) as temporary:
                _transfer(address, temporary)
            break
        except (OSError, HTTPException) as error:
            final = isinstance(error, HTTPError) and error.code in _PERMANENT
            if isinstance(error, HTTPError):
                error.close()
            if final or attempt == _ATTEMPTS:
                raise SourceError(f"{address}: {type(error).__name__}: {error}") from error
            time.sleep(_PAUSE * 2 ** (attempt - 1))
    remember(path, address)
    return path


def _transfer(address: str, path: Path) -> None:
    request = Request(address, headers={"User-Agent": "fewknots"})
    with urlopen(request, timeout=_SILENCE) as response, path.open("wb") as file:
        total = _content_length(response)
        arrived = 0
        with _progress() as progress:
            task = progress.add_task(address.rpartition("/")[2], total=total)
            while piece := response.read(_PIECE):
                file.write(piece)
                arrived += len(piece)
                progress.update(task, completed=arrived)
    if total is not None and arrived != total:
        raise HTTPException(f"{arrived} bytes arrived of {total} announced")


def _progress() -> Progress:
    """A progress bar on a terminal, which disappears at the end of the download."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    off = not sys.stderr.isatty()
    return Progress(*columns, console=Console(stderr=True), transient=True, disable=off)


def _content_length(response: HTTPResponse) -> int | None:
    length = response.headers.get("Content-Length")
    return None if length is None else int(length)


@contextmanager
def fetching() -> Iterator[None]:
    """Failures in the block become `SourceError`: no connection, missing data, wrong checksum."""
    try:
        with warnings.catch_warnings():
            for message in _HIDDEN_WARNINGS:
                warnings.filterwarnings("ignore", message)
            yield
    except (
        OSError,
        EOFError,
        ValueError,
        KeyError,
        ImportError,
        HTTPException,
        zlib.error,
    ) as error:
        _close_answers(error)
        raise SourceError(f"{type(error).__name__}: {error}") from error


def _close_answers(error: BaseException | None) -> None:
    """An error of HTTP is also the answer that said so, and holds a connection."""
    while error is not None:
        if isinstance(error, HTTPError):
            error.close()
        error = error.__cause__ or error.__context__
