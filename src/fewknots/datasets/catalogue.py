"""Every data set by name, and how it is loaded: file, size, sources besides a local folder.

All sources are tried in turn; if none has the data, the error says why.
"""

import difflib
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ..exceptions import DatasetError
from . import covertype, flights, generated, keel, nycflights, on_time, openml
from .array_files import read_mnist_digits, read_mnist_odd_even, read_table
from .dataset import Contents, DataFile, Dataset, SourceError
from .sources import DatasetSource, Definition, Download, LocalFile, Package

_VARIABLE = "FEWKNOTS_DATA"


class CatalogueEntry(NamedTuple):
    """One data set. `rows` is the number in our own file; other sources may have other numbers."""

    file: DataFile
    rows: int
    inputs: int
    elsewhere: tuple[DatasetSource, ...]  # in the order in which they are tried


# Rows, inputs and the file's SHA-256.
_IDA = {
    "banana": (5300, 2, "7a105b9cda3c6450998bbca3aff023f648b2b0e029194495a806c761415da554"),
    "breast_cancer": (277, 9, "b2401260c8aea92cd1fbb08e93dadf4b5c6ee70f2f25e5ffb86c1bbad86e9b00"),
    "diabetes": (768, 8, "cd80f79cdf08a6353657f31fbf0c89869f55c1ca0832546894d3b9f8661284e1"),
    "flare_solar": (1066, 9, "4a150925eaf4179a18cddba92948950542bc4a134cf1de68ba5ea099462bf908"),
    "german": (1000, 20, "ff2428450fb55dcc4514922850f233d786a43e85b412b4a66504614aa2124655"),
    "heart": (270, 13, "40bd3a3b19ef40cad164b69be7feb9b26861d66b5a260190cd12dc0c1ff90db3"),
    "image": (2310, 18, "8398ad07bb01a335b360655bcf04d7ac9e09df98e6065e76d17c783ae7d0fb01"),
    "ringnorm": (7400, 20, "150ccf53b14f72440bc9cf1663d9f70bd748d2e0f8fd8ebcabcda6b9399c223b"),
    "thyroid": (215, 5, "dbf53e6e3ac8d4da1b1777b3a515f6c21c0553b63871f88de473f05300255121"),
    "twonorm": (7400, 20, "017b5de7707b70f0fe49905f458a44ad11f5bba2c7a4733a95ae324909fe195b"),
    "waveform": (5000, 21, "196ea95f22cb6e0521dc4984cd008c0ca2d4b3a50bb25660bd4e32be0e81a576"),
}
_OTHERS = {
    "adult": (48_842, 91, "8525b751df6383160339844f3617eabeb16c874142969e32be1fb3e7bc5f2cab"),
    "covtype": (581_012, 54, "6e76612d94cc042b3ed9aef16deb67571949d5c78b142cbe657cf557cd7dc003"),
    "electricity": (45_312, 6, "677b1235deefb183e0caf2ac2e12c38c00cb650376ce7d12a0b245849495fc08"),
    "magic": (19_020, 10, "fe845fa551bace7cfd2187db17942ae238fd7bf6ee3743e750103c507167c338"),
    "spambase": (4597, 57, "8d7044a15fea67ef7268466f0cd8683a7ea3b54081d69211b03e7d0ff1d1d597"),
}
_MNIST = DataFile(
    "mnist.npz",
    "39b9b1ffaa0ba4d8995a616551f0966941fe02a3fe79ba4a9db7373db16d53ad",
    read_mnist_odd_even,
)
_FLIGHTS = DataFile(
    "airline_8feature.parquet",
    "14d71cc685d18a5a31de242d611f98d3b889c20100701f6a3b391dc083c9fee0",
    flights.read,
)
_GENERATED = ("twonorm", "ringnorm", "waveform")


def _entry(name: str, file: DataFile, rows: int, inputs: int) -> CatalogueEntry:
    found: list[DatasetSource] = []
    if name in keel.RECIPES:
        found.append(Package(keel.DISTRIBUTION, keel.MODULE, partial(keel.read, name)))
    if name == "flights":
        found.append(Package(nycflights.MODULE, nycflights.MODULE, nycflights.read))
        found.append(Download(file, on_time.SOURCE, on_time.fetch))
    if name in openml.SETS:
        wanted = openml.SETS[name]
        found.append(Download(file, wanted.source, partial(openml.fetch, wanted)))
    if name == "covtype":
        found.append(Download(file, covertype.SOURCE, covertype.fetch))
    if name in _GENERATED:
        found.append(Definition(partial(generated.substitute, name, rows)))
    return CatalogueEntry(file, rows, inputs, tuple(found))


def _catalogue() -> Iterator[tuple[str, CatalogueEntry]]:
    for name, (rows, inputs, sha256) in _IDA.items():
        yield name, _entry(name, DataFile(f"ida_{name}.npz", sha256, read_table), rows, inputs)
    yield "mnist_odd_even", _entry("mnist_odd_even", _MNIST, 70_000, 784)
    digits = _MNIST._replace(read=read_mnist_digits)
    yield "mnist_digits", _entry("mnist_digits", digits, 70_000, 784)
    yield "flights", _entry("flights", _FLIGHTS, 1_023_579, 8)
    for name, (rows, inputs, sha256) in _OTHERS.items():
        yield name, _entry(name, DataFile(f"{name}.npz", sha256, read_table), rows, inputs)


CATALOGUE = dict(_catalogue())
NAMES = tuple(CATALOGUE)


def load(name: str, folder: Path | str | None = None) -> Dataset:
    """Load the data set of this name from the first source that has it.

    `name` is one of `NAMES`. The sources are, in this order: `folder`, which holds files like
    `ida_banana.npz` (by default the folder in the environment variable FEWKNOTS_DATA), installed
    packages, the cache of downloads and public servers, a definition to draw from.

    A DatasetError says that no source has it, and why and what to do; or that a file is damaged: in
    this case no other source is tried.

    Examples
    --------
    >>> from fewknots import datasets
    >>> datasets.load("banana").X.shape
    (5300, 2)
    """
    entry = _known(name)
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
        f"the data set {name!r} could not be loaded. Tried:\n"
        + "\n".join(tried)
        + f"\nPut {entry.file.name} ({entry.rows:,} rows, {entry.inputs} inputs; its form is "
        "described in docs/datasets.md) into a folder, and name the folder by folder=, --data or "
        f"{_VARIABLE}."
    )


def available(name: str, folder: Path | str | None = None) -> str | None:
    """Where `load` would find the data set on this machine; None if it would download it.

    Examples
    --------
    >>> from fewknots import datasets
    >>> isinstance(datasets.available("banana"), str)
    True
    """
    places = (source.available_at() for source in _sources(_known(name), folder))
    return next((place for place in places if place is not None), None)


def _sources(entry: CatalogueEntry, folder: Path | str | None) -> Iterator[DatasetSource]:
    chosen = folder if folder is not None else os.environ.get(_VARIABLE)
    yield LocalFile(entry.file, Path(chosen) if chosen else None)
    yield from entry.elsewhere


def _known(name: str) -> CatalogueEntry:
    if name in CATALOGUE:
        return CATALOGUE[name]
    close = difflib.get_close_matches(name, NAMES, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise ValueError(f"name={name!r} is not a known data set.{hint} Known: {', '.join(NAMES)}.")


def _check(entry: CatalogueEntry, contents: Contents, place: str) -> None:
    found = contents.X.shape[1]
    if found != entry.inputs or len(contents.feature_names) != found:
        raise DatasetError(
            f"{place} holds {found} inputs with {len(contents.feature_names)} names, where "
            f"{entry.inputs} were expected: it is another data set."
        )
