"""Loads a data set by its name: tries all sources in turn, and explains if none has it."""

import difflib
import os
from collections.abc import Iterator
from pathlib import Path

from ..exceptions import DatasetError
from .catalogue import CATALOGUE, NAMES, CatalogueEntry
from .dataset import Contents, Dataset, SourceError
from .sources import DatasetSource, LocalFile

_VARIABLE = "FEWKNOTS_DATA"


def load(name: str, folder: Path | str | None = None) -> Dataset:
    """Load the data set of this name from the first source that has it.

    `name` is one of `NAMES`. The sources are, in this order: `folder`, which holds files like
    `ida_banana.npz` (by default the folder in the environment variable FEWKNOTS_DATA), installed
    packages, the cache of downloads and public servers, a definition to draw from.

    A DatasetError says that no source has it, and why and what to do; or that a file is damaged: in
    this case no other source is tried.
    """
    entry = _entry(name)
    tried = []
    for source in _sources(entry, folder):
        try:
            contents, place = source.load()
        except SourceError as reason:
            tried.append(f"  {source.label}: {reason}")
            continue
        _check(entry, contents, place)
        return Dataset(name, *contents[:4], source=f"{place}; {contents.remark}")
    raise DatasetError(
        f"the data set {name!r} could not be had. Tried:\n"
        + "\n".join(tried)
        + f"\nPut {entry.file.name} ({entry.rows:,} rows, {entry.inputs} inputs; its form is "
        f"described in docs/datasets.md) into a folder, and name the folder by folder=, --data or "
        f"{_VARIABLE}."
    )


def available(name: str, folder: Path | str | None = None) -> str | None:
    """Where `load` would find the data set on this machine; None if it would download it."""
    places = (source.available_at() for source in _sources(_entry(name), folder))
    return next((place for place in places if place is not None), None)


def _sources(entry: CatalogueEntry, folder: Path | str | None) -> Iterator[DatasetSource]:
    chosen = folder if folder is not None else os.environ.get(_VARIABLE)
    yield LocalFile(entry.file, Path(chosen) if chosen else None)
    yield from entry.elsewhere


def _entry(name: str) -> CatalogueEntry:
    if name in CATALOGUE:
        return CATALOGUE[name]
    close = difflib.get_close_matches(name, NAMES, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise ValueError(f"name={name!r} is no known data set.{hint} Known: {', '.join(NAMES)}.")


def _check(entry: CatalogueEntry, contents: Contents, place: str) -> None:
    found = contents.X.shape[1]
    if found != entry.inputs or len(contents.feature_names) != found:
        raise DatasetError(
            f"{place} holds {found} inputs with {len(contents.feature_names)} names, where "
            f"{entry.inputs} were expected: it is another data set."
        )
