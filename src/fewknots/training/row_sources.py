"""Sources of rows for a fit: memory, files; for a cluster see distributed/fitting.py.

A fit first gets a `RowSource`, which tells the number of rows and the spread of the inputs, and
then makes from it a `Table`: the rows in the fit's units.
"""

import hashlib
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from ..data.spool import Spool
from ..data.standardise import Standardiser
from ..data.tables import merge_equal_rows
from ..data.targets import class_factors
from ..inference.sites import Rows
from ..tables.recipe.input_columns import InputColumns
from . import feed as feeds
from .feed import ArrayFeed, Feed, StoreFeed
from .summation import MemorySums, Summation

Encode = Callable[[Any], Any]  # encodes targets for the likelihood


class Table(NamedTuple):
    """The rows of a fit: how many, how to get some, how to train on all."""

    n_rows: int
    digest: Callable[[], str]  # equal for equal rows only
    take: Callable[[Int[np.ndarray, " n"]], Rows]  # standardised, in float64
    feed: Callable[[np.dtype, Int[np.ndarray, " H"]], Feed] | None  # (dtype, rows to leave out)
    summation: Callable[[np.dtype], Summation] | None = None  # for training in rounds


@runtime_checkable
class RowSource(Protocol):
    """Rows and their targets, checked, in the user's units."""

    @property
    def where(self) -> str:
        """In "memory", a "stream" or on a "cluster"."""
        ...

    @property
    def n_rows(self) -> int: ...

    @property
    def n_features(self) -> int: ...

    @property
    def feature_names(self) -> np.ndarray | None: ...

    @property
    def columns(self) -> InputColumns | None:
        """The columns of the user's table that the features were made from; None: they are the
        features.
        """
        ...

    @property
    def classes(self) -> np.ndarray | None:
        """The labels, sorted; None if targets are numbers."""
        ...

    @property
    def total_weight(self) -> float:
        """Of all rows."""
        ...

    @property
    def extremes(self) -> Float[np.ndarray, "n D"]:
        """Rows (real or not) that show which columns are constant."""
        ...

    def spread(self) -> Standardiser:
        """The standardiser: brings every input to mean 0 and standard deviation 1."""
        ...

    def table(self, standardiser: Standardiser, encode: Encode) -> Table:
        """The rows in the fit's units."""
        ...


def names_as_array(names: Any) -> np.ndarray | None:
    """Names of columns as scikit-learn keeps them."""
    return None if names is None else np.array(names, dtype=object)


class RowsInMemory(NamedTuple):
    """Rows in memory; `weights` include class weights."""

    X: Float[np.ndarray, "N D"]
    y: np.ndarray  # codes of classes, or numbers
    weights: Float[np.ndarray, " N"]
    feature_names: np.ndarray | None = None
    classes: np.ndarray | None = None
    where: str = "memory"
    columns: InputColumns | None = None  # of the user's table, if they differ from the features

    @property
    def n_rows(self) -> int:
        return len(self.y)

    @property
    def n_features(self) -> int:
        return self.X.shape[1]

    def take(self, rows: Int[np.ndarray, " n"]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """X, targets and weights of the rows with these numbers."""
        return self.X[rows], self.y[rows], self.weights[rows]

    @property
    def extremes(self) -> Float[np.ndarray, "N D"]:
        return self.X

    @property
    def n_counted(self) -> int:
        """Rows of weight above zero."""
        return int(np.count_nonzero(self.weights))

    def counted(self) -> "RowsInMemory":
        """The rows without those of weight zero."""
        counted = self.weights > 0
        return self if counted.all() else self._of(*self.take(np.flatnonzero(counted)))

    def repeated(self) -> "RowsInMemory":
        """Each row repeated as often as its weight says."""
        copies = self.weights.astype(int)
        X, y = np.repeat(self.X, copies, axis=0), np.repeat(self.y, copies)
        return self._of(X, y, np.ones(copies.sum()))

    def merged(self) -> "RowsInMemory":
        """Equal rows merged, in an order that does not depend on theirs."""
        return self._of(*merge_equal_rows(*self[:3]))

    def _of(self, X: np.ndarray, y: np.ndarray, weights: np.ndarray) -> "RowsInMemory":
        return self._replace(X=X, y=y, weights=weights)

    @property
    def total_weight(self) -> float:
        """The total weight of all rows."""
        return float(np.sum(self.weights))

    def spread(self) -> Standardiser:
        return Standardiser.fitted(self.X, self.weights)

    def table(self, standardiser: Standardiser, encode: Encode) -> Table:
        X, y, weights = self.X, encode(self.y), self.weights

        def take(numbers):
            return Rows(standardiser(X[numbers]), y[numbers], weights[numbers])

        def feed(dtype, left_out):
            kept = np.ones(len(X), bool)
            kept[left_out] = False
            inputs = standardiser.rows(X, np.flatnonzero(kept), dtype)
            rows = Rows(inputs, y[kept].astype(dtype), weights[kept].astype(dtype))
            if feeds.fits_on_device(rows.X.nbytes):
                return ArrayFeed(rows)
            total = float(np.sum(weights[kept]))
            return StoreFeed(RowsInMemory(*rows), Rows, np.zeros(0, np.int64), total)

        def digest():
            seal = hashlib.blake2b(digest_size=16)
            for column in (X, y, weights):
                seal.update(np.ascontiguousarray(column).data)
            return seal.hexdigest()

        def summation(dtype):
            return MemorySums(Rows(standardiser(X), y, weights), dtype)

        return Table(len(X), digest, take, feed, summation)


class RowsOfStream:
    """Rows in a scratch file, read and checked once; weights times the factor of their class."""

    where = "stream"
    columns = None

    def __init__(self, spool: Spool, class_weight: Any):
        self._spool = spool
        self._factors = np.ones(1)
        if spool.classes is not None:
            self._factors = class_factors(class_weight, spool.classes, spool.class_totals)
        self.n_rows, self.n_features = spool.n_rows, spool.n_features
        self.classes = spool.classes
        self.feature_names = names_as_array(spool.feature_names)
        self.extremes = np.array([spool.minimum, spool.maximum])

    @property
    def total_weight(self) -> float:
        """The total weight of all rows."""
        return float(self._factors @ self._spool.class_totals)

    def spread(self) -> Standardiser:
        return Standardiser(self._spool.mean, self._spool.scale)

    def table(self, standardiser: Standardiser, encode: Encode) -> Table:
        spool, factors = self._spool, self._factors

        def prepared(dtype):
            def prepare(X, targets, weights):
                if self.classes is not None:
                    weights = weights * factors[targets]
                columns = standardiser(X.astype(np.float64, copy=False)), encode(targets), weights
                return Rows(*(column.astype(dtype) for column in columns))

            return prepare

        def take(numbers):
            return prepared(np.dtype(np.float64))(*spool.take(numbers))

        def feed(dtype, left_out):
            total = self.total_weight - float(np.sum(take(left_out).weights))
            return StoreFeed(spool, prepared(dtype), left_out, total)

        return Table(spool.n_rows, lambda: spool.digest, take, feed)
