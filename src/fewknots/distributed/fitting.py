"""A Dask collection as a source of rows that a cluster can sum: survey, sample, preparation.

X, y and weights are Dask collections that are split alike (`pieces`).
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple

import dask
import numpy as np
from jaxtyping import Int

from distributed import Client, Future, futures_of

from ..data.standardise import Standardiser, steady
from ..data.tables import is_dask, is_dataframe
from ..data.targets import class_factors, codes_of
from ..exceptions import ClusterError, DataError
from ..inference.sites import Rows
from ..training.held_rows import Shape, rows_in_a_block
from ..training.row_sources import Encode, RowsInMemory, Table, names_as_array
from . import workers
from .connection import Versions, check_workers, current_client, translate_errors
from .rounds import ClusterSums
from .stragglers import Watch, patience_after, seconds_to_wait_for_workers
from .survey import Survey, joined
from .whole_blocks import Holding, holdings

_SHARES_PER_WORKER = 2  # so that a lost worker's rows can go to two others
MOST_GATHERED = 2_000_000  # rows times inputs, of a table that one process fits sooner


class Pieces(NamedTuple):
    """The partitions of a table as delayed objects of Dask, in order: rows, labels, weights."""

    X: list[Any]
    y: list[Any]
    weights: list[Any] | None
    feature_names: tuple[str, ...] | None
    keys: list[Any]  # the scheduler's keys of the partitions of X


def pieces(X: Any, y: Any, sample_weight: Any) -> Pieces:
    """The partitions of rows, labels and weights, which must be partitioned alike."""
    names = tuple(str(name) for name in X.columns) if is_dataframe(X) else None
    X, rows = _cut(X, "X", None)
    _, labels = _cut(y, "y", len(rows))
    weights = None
    if sample_weight is not None:
        _, weights = _cut(sample_weight, "sample_weight", len(rows))
    # an array has a list of keys for each block of rows, with one entry here
    keys = [key[0] if isinstance(key, list) else key for key in X.__dask_keys__()]
    return Pieces(rows, labels, weights, names, keys)


def _cut(collection: Any, name: str, partitions: int | None) -> tuple[Any, list[Any]]:
    if not is_dask(collection):
        raise TypeError(
            f"X is a Dask collection, but {name} is a {type(collection).__name__}. Pass a Dask "
            f"array or series cut like X, for instance dask.array.from_array({name}, "
            "chunks=X.chunks[0])."
        )
    if name == "X" and collection.ndim != 2:
        raise DataError(f"X has {collection.ndim} dimensions: expected 2.")
    if name != "X" and collection.ndim != 1:
        raise DataError(f"{name} has {collection.ndim} dimensions: expected 1.")
    if not is_dataframe(collection) and collection.ndim == 2:
        collection = collection.rechunk({1: -1})  # each block has all columns
    delayed = collection.to_delayed()
    found = list(np.ravel(delayed)) if isinstance(delayed, np.ndarray) else list(delayed)
    if partitions is not None and len(found) != partitions:
        raise DataError(
            f"{name} has {len(found)} partitions, but X has {partitions}: they must be cut alike. "
            "Take both from the same dataframe, or rechunk one of them."
        )
    return collection, found


class Group(NamedTuple):
    """The partitions of one share."""

    numbers: tuple[int, ...]
    loaded: Future


@contextmanager
def rows_on_cluster(X: Any, y: Any, sample_weight: Any, **how: Any) -> Iterator["RowsOnCluster"]:
    """The rows of Dask collections, loaded by the workers of the client in use.

    how : as `RowsOnCluster` has it
    """
    if y is None:
        raise ValueError("fit needs y, the labels, as a Dask array or series cut like X.")
    cut = pieces(X, y, sample_weight)
    with current_client() as client:
        yield RowsOnCluster(client, cut, X, **how)


class RowsOnCluster:
    """All rows of a collection, loaded on a cluster and looked at once.

    dtype, device : what to compute in, and where
    of_numbers : what the likelihood makes of targets that are numbers; None: they are labels
    """

    where = "cluster"
    columns = None

    def __init__(
        self,
        client: Client,
        pieces: Pieces,
        collection: Any,
        class_weight: Any,
        dtype: np.dtype,
        device: str,
        checkpoint: Any,
        of_numbers: Encode | None = None,
    ):
        self.client, self.checkpoint = client, checkpoint
        self._dtype, self._device = dtype, device
        try:
            client.wait_for_workers(1, timeout=seconds_to_wait_for_workers())
        except TimeoutError as error:
            raise ClusterError(
                "the cluster has no workers. Start some, for instance: dask worker ADDRESS."
            ) from error
        self.versions: Versions = check_workers(client)
        with self._translating_errors():
            self.groups, keys = self._load(pieces, collection, of_numbers)
            numbers = of_numbers is not None
            surveys = [
                client.submit(workers.survey, group.loaded, numbers, pure=False)
                for group in self.groups
            ]
            keys |= {survey.key for survey in surveys}
            watch = Watch(client, "loading the rows", keys, patience_after(()))
            watch.until_done(surveys)
            surveys = client.gather(surveys)
        self.survey: Survey = joined([part for share in surveys for part in share], numbers)
        self.n_rows, self.n_features = self.survey.n_rows, self.survey.n_features
        self.classes: np.ndarray | None = self.survey.classes
        self.feature_names = names_as_array(pieces.feature_names)
        totals = self.survey.class_totals
        self._class_weight = class_weight
        self._factors = np.ones(1)
        if self.classes is not None:
            self._factors = class_factors(class_weight, self.classes, totals)
        self._moments = self.survey.moments(self._factors)
        self.extremes = np.array([self._moments.minimum, self._moments.maximum])

    @property
    def is_small(self) -> bool:
        """Whether a cluster is more than the table needs."""
        return self.n_rows * self.n_features <= MOST_GATHERED

    def gathered(self) -> RowsInMemory:
        """All rows in this process, in the table's order: however it is cut, the same."""
        with self._translating_errors():
            shares = self.client.gather([group.loaded for group in self.groups])
        self.groups = []
        parts = sorted((part for share in shares for part in share), key=lambda part: part.number)
        _, *columns = zip(*parts, strict=True)
        X, labels, weights = map(np.concatenate, columns)
        if self.classes is None:
            return RowsInMemory(X, labels, weights, self.feature_names)
        codes = codes_of(labels, self.classes)
        # anew: totals that workers added up differ in the last digit from one cut to another
        totals = np.bincount(codes, weights, minlength=len(self.classes))
        factors = class_factors(self._class_weight, self.classes, totals)
        names = self.feature_names
        return RowsInMemory(X, codes, weights * factors[codes], names, self.classes)

    @property
    def total_weight(self) -> float:
        """Of all rows, the same whatever order they were added up in."""
        return float(steady(self._factors @ self.survey.class_totals))

    def spread(self) -> Standardiser:
        return Standardiser(self._moments.mean, self._moments.scale)

    def table(self, standardiser: Standardiser, encode: Encode) -> Table:
        """Workers standardise and encode by themselves."""
        preparation = self._preparation(standardiser, encode)
        return Table(
            self.n_rows,
            lambda: self.survey.digest,
            lambda numbers: self._take(numbers, preparation),
            None,
            lambda _: self._summation(preparation),
        )

    def _translating_errors(self) -> AbstractContextManager[None]:
        return translate_errors(self.client, "loading the rows", self.checkpoint)

    def _load(
        self, pieces: Pieces, collection: Any, of_numbers: Encode | None
    ) -> tuple[list[Group], set[Any]]:
        """Every partition into the share of the worker that has it already, if one has.

        And the keys of all that has to be done for it.
        """
        groups = _grouped(self.client, pieces, collection)
        sources = [_loading(pieces, numbers, self.versions, of_numbers) for numbers in groups]
        keys = {key for source in sources for key in source.__dask_graph__()}
        loaded = self.client.compute(sources)
        return [Group(*group) for group in zip(groups, loaded, strict=True)], keys

    def _preparation(self, standardiser: Standardiser, encode: Encode) -> workers.Preparation:
        """How rows become rows to compute with, the same for every share."""
        block = rows_in_a_block(self.survey.n_rows)
        groups = [group.numbers for group in self.groups]
        self.holdings = holdings(self.survey.spans, groups, block)
        most = max(sum(span.length for span in holding.spans) for holding in self.holdings)
        return workers.Preparation(
            standardiser,
            self.survey.classes,
            self._factors,
            encode,
            Shape.in_blocks(most, block),
            self.total_weight,
            self._dtype.name,
            self._device,
            self.versions,
        )

    def _take(self, numbers: Int[np.ndarray, " n"], preparation: workers.Preparation) -> Rows:
        """The rows with these numbers, ascending, brought to the client."""
        spans = self.survey.spans
        starts = np.array([span.first for span in spans])
        owners = np.searchsorted(starts, numbers, side="right") - 1
        chosen = {
            int(i): numbers[owners == i] - starts[i] for i in np.unique(owners) if spans[i].length
        }
        asked = []
        for group in self.groups:
            here = {i: chosen[i] for i in group.numbers if i in chosen}
            if here:
                asked.append(self.client.submit(workers.take, group.loaded, here, pure=False))
        with self._translating_errors():
            found = [part for share in self.client.gather(asked) for part in share]
        return workers.as_rows(sorted(found, key=lambda part: part.number), preparation)

    def _summation(self, preparation: workers.Preparation) -> ClusterSums:
        """Rows on the workers' devices, ready for rounds; those as loaded are let go."""
        held = [
            self.client.submit(
                workers.prepare,
                group.loaded,
                self._borrowed(holding),
                holding._replace(borrowed={}),
                preparation,
                pure=False,
            )
            for group, holding in zip(self.groups, self.holdings, strict=True)
            if holding.spans
        ]
        self.groups = []
        return ClusterSums(
            self.client,
            held,
            preparation.total_weight,
            preparation.device,
            self.versions,
            self.checkpoint,
        )

    def _borrowed(self, holding: Holding) -> list[Future]:
        """The rows that other shares give away."""
        return [
            self.client.submit(workers.cut, self.groups[owner].loaded, slices, pure=False)
            for owner, slices in holding.borrowed.items()
        ]


def _loading(
    pieces: Pieces, numbers: tuple[int, ...], versions: Versions, of_numbers: Encode | None
) -> Any:
    """A share's `load`, to be done."""
    weights = None if pieces.weights is None else [pieces.weights[i] for i in numbers]
    return dask.delayed(workers.load, pure=False)(
        numbers,
        [pieces.X[i] for i in numbers],
        [pieces.y[i] for i in numbers],
        weights,
        pieces.feature_names,
        versions,
        of_numbers,
    )


def _grouped(client: Client, pieces: Pieces, collection: Any) -> list[tuple[int, ...]]:
    """Partition numbers by share: neighbours together, and never across workers that hold them."""
    n_workers = max(1, len(client.scheduler_info(n_workers=-1)["workers"]))
    holders = _holders(client, pieces, collection)
    by_worker: dict[str, list[int]] = {}
    for i in range(len(pieces.X)):
        by_worker.setdefault(holders.get(i, ""), []).append(i)
    groups: list[tuple[int, ...]] = []
    per_place = _SHARES_PER_WORKER * (n_workers if set(by_worker) == {""} else 1)
    for numbers in by_worker.values():
        parts: Sequence[np.ndarray] = np.array_split(numbers, min(per_place, len(numbers)))
        groups += [tuple(map(int, part)) for part in parts]
    return sorted(groups)


def _holders(client: Client, pieces: Pieces, collection: Any) -> dict[int, str]:
    """Which worker holds each partition, of a collection that was persisted."""
    futures = futures_of(collection)
    if not futures:
        return {}
    where = client.who_has(futures)
    found = {}
    for i, key in enumerate(pieces.keys):
        workers_with_it = where.get(key, ())
        if workers_with_it:
            found[i] = sorted(workers_with_it)[0]
    return found
