"""Downloads one file from a public server into the cache.

A file is downloaded to a temporary file, which is renamed when it is complete. After a broken
connection, or if the file is shorter than the server announced, the download is tried again.
"""

import sys
import time
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

from ..files.container import replacing
from . import cache
from .dataset import SourceError

_ATTEMPTS = 3
_PAUSE = 1.0  # seconds before the second attempt, doubled after each attempt
_SILENCE = 60.0  # seconds without data after which an attempt ends
_PIECE = 2**20
_PERMANENT = range(400, 500)  # HTTP errors for which another attempt is of no use


def download(address: str, path: Path) -> Path:
    """Download `address` to `path`, unless an unchanged earlier download is there."""
    if cache.recall(path) is not None:
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
    cache.remember(path, address)
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
