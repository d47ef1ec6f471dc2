"""The four kinds of sources of a data set.

Each says whether the data are on this machine, without using the network, and loads them or raises
`SourceError` with the reason why it cannot.
"""

import importlib.metadata
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from . import cache
from .dataset import Contents, DataFile, SourceError


class DatasetSource(Protocol):
    """A source; `label` is its name in the list of sources that were tried."""

    @property
    def label(self) -> str: ...

    def available_at(self) -> str | None:
        """Where the data are on this machine, in a few words; None if they are not."""

    def load(self) -> tuple[Contents, str]:
        """The data, and a text that says where they came from."""


@dataclass(frozen=True)
class LocalFile:
    """A file in the user's own data folder."""

    file: DataFile
    folder: Path | None

    label = "local folder"

    def available_at(self) -> str | None:
        if self.folder is None or not (self.folder / self.file.name).is_file():
            return None
        return f"folder ({self.file.name})"

    def load(self) -> tuple[Contents, str]:
        if self.folder is None:
            raise SourceError("none is named, by folder= or by FEWKNOTS_DATA")
        if not self.folder.is_dir():
            raise SourceError(f"{self.folder} is no folder")
        path = self.folder / self.file.name
        if not path.is_file():
            raise SourceError(f"{self.folder} has no {self.file.name}")
        digest = cache.sha256_of(path)
        known = "as listed in" if digest == self.file.sha256 else "which differs from that in"
        place = f"{self.file.name} in a local folder, SHA-256 {digest}, {known} fewknots"
        return self.file.read(path), place


@dataclass(frozen=True)
class Package:
    """A package from PyPI that contains the data, if it is installed."""

    distribution: str
    module: str
    read: Callable[[], Contents]

    @property
    def label(self) -> str:
        return f"package {self.distribution}"

    def available_at(self) -> str | None:
        return None if importlib.util.find_spec(self.module) is None else self.label

    def load(self) -> tuple[Contents, str]:
        if self.available_at() is None:
            raise SourceError(f"it is not installed (pip install {self.distribution})")
        try:
            version = importlib.metadata.version(self.distribution)
            return self.read(), f"{self.label} {version}"
        except ImportError as error:  # a dependency of the package is missing
            raise SourceError(f"{type(error).__name__}: {error}") from error


@dataclass(frozen=True)
class Download:
    """A public server, through the cache; `fetch` writes the file or raises `SourceError`."""

    file: DataFile
    origin: str
    fetch: Callable[[Path], None]

    @property
    def label(self) -> str:
        return f"download ({self.origin})"

    @property
    def path(self) -> Path:
        return cache.cache_folder() / self.file.name

    def available_at(self) -> str | None:
        return f"cache ({self.file.name})" if cache.is_cached(self.path) else None

    def load(self) -> tuple[Contents, str]:
        try:
            record = cache.recall(self.path)
            if record is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self.fetch(self.path)
                record = cache.remember(self.path, self.origin)
        except OSError as error:
            raise SourceError(
                f"the cache folder {self.path.parent} cannot be used ({error}); FEWKNOTS_CACHE "
                "names another"
            ) from error
        return self.file.read(self.path), str(record)


@dataclass(frozen=True)
class Definition:
    """A set drawn from its definition: always available, but its rows are not IDA's."""

    draw: Callable[[], Contents]

    label = "definition"

    def available_at(self) -> str | None:
        return "drawn from its definition"

    def load(self) -> tuple[Contents, str]:
        return self.draw(), "generated"
