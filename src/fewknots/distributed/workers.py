"""Code that runs on a worker: load rows once, keep them, and sum over them for any parameters.

A *share* is a group of partitions; there are a few shares per worker. Its rows are loaded and
checked (`load`), then standardised and put on the worker's device (`prepare`), both once. Between
the two, rows at its edges are exchanged so that it holds whole blocks (`cut`, whole_blocks.py).
Every round asks for its sums (`answer`). Loaded and prepared rows stay in the worker's memory like
any result of Dask: if the worker dies, Dask computes them again on another one.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from dask.sizeof import sizeof
from jaxtyping import Float, Int

from ..data.row_checks import check_features, check_labels, check_weights
from ..data.sources import Place
from ..data.standardise import Standardiser
from ..data.tables import with_numeric_columns
from ..data.targets import NumberTargets, codes_of
from ..exceptions import DataError
from ..inference.sites import Rows
from ..numerics.precision import on_device, one_lapack_thread
from ..training.held_rows import HeldRows, PartFound, Point, Shape, Subset, added, hold, sums_at
from ..training.row_sources import Encode
from .connection import Versions, check_here
from .survey import PartitionSurvey, as_labels, survey_numbers, survey_partition
from .whole_blocks import Holding, Slice


class Partition(NamedTuple):
    """The rows of one partition, except rows of weight zero."""

    number: int
    X: Float[np.ndarray, "N D"]
    labels: np.ndarray  # or numbers, as the likelihood has them
    weights: Float[np.ndarray, " N"]


class Preparation(NamedTuple):
    """How loaded rows are standardised, encoded and put on a device."""

    standardiser: Standardiser
    classes: np.ndarray | None  # None where targets are numbers
    factors: Float[np.ndarray, " C"]  # class weights
    encode: Encode
    shape: Shape
    total_weight: float
    dtype: str
    device: str
    versions: Versions


class Question(NamedTuple):
    """What a round sends to every share."""

    point: Point
    subset: Subset | None
    device: str
    versions: Versions


def load(
    numbers: Sequence[int],
    X: Sequence[Any],
    y: Sequence[Any],
    weights: Sequence[Any] | None,
    names: Sequence[str] | None,
    versions: Versions,
    of_numbers: Encode | None,
) -> list[Partition]:
    """The checked partitions of a share; the error for a bad row names its partition.

    of_numbers : what the likelihood makes of targets that are numbers, in the user's units.
    """
    check_here(versions)
    found = []
    for i, number in enumerate(numbers):
        weight = None if weights is None else weights[i]
        found.append(_partition(number, X[i], y[i], weight, names, of_numbers))
    return found


def _partition(
    number: int, table: Any, y: Any, weight: Any, names: Any, of_numbers: Encode | None
) -> Partition:
    place = Place(f"partition {number}")
    try:
        X = np.ascontiguousarray(with_numeric_columns(table), np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"partition {number}: {error}") from error
    labels = as_labels(y)
    check_features(X, names, place)
    if of_numbers is None:
        check_labels(labels, "y", place)
    else:
        labels = NumberTargets("y", of_numbers).encoded(labels, place)
    weights = np.ones(len(X)) if weight is None else np.asarray(weight, np.float64)
    check_weights(weights, "sample_weight", place)
    for name, column in (("y", labels), ("sample_weight", weights)):
        if len(column) != len(X):
            raise DataError(
                f"partition {number} has {len(X)} rows of X but {len(column)} of {name}."
            )
    counted = weights > 0
    if not counted.all():
        X, labels, weights = X[counted], labels[counted], weights[counted]
    return Partition(number, X, labels, weights)


def survey(share: Sequence[Partition], numbers: bool) -> list[PartitionSurvey]:
    """The surveys of a share's partitions."""
    return [(survey_numbers if numbers else survey_partition)(*part) for part in share]


def take(share: Sequence[Partition], chosen: dict[int, Int[np.ndarray, " n"]]) -> list[Partition]:
    """The rows with these numbers in each partition, for the client's sample."""
    return [
        Partition(p.number, p.X[rows], p.labels[rows], p.weights[rows])
        for p in share
        if len(rows := chosen.get(p.number, np.zeros(0, np.int64)))
    ]


def cut(share: Sequence[Partition], slices: Sequence[Slice]) -> list[Partition]:
    """Some consecutive rows of some of a share's partitions."""
    partitions = {partition.number: partition for partition in share}
    found = []
    for number, first, last in slices:
        _, X, labels, weights = partitions[number]
        found.append(Partition(number, X[first:last], labels[first:last], weights[first:last]))
    return found


def prepare(
    share: Sequence[Partition],
    borrowed: Sequence[Sequence[Partition]],
    holding: Holding,
    preparation: Preparation,
) -> HeldRows:
    """Standardise whole blocks of rows, some borrowed from other shares; put them on the device."""
    check_here(preparation.versions)
    parts = cut(share, holding.own)
    parts = sorted((*parts, *chain(*borrowed)), key=lambda part: part.number)
    rows = as_rows(parts, preparation)
    dtype = np.dtype(preparation.dtype)
    with on_device(preparation.device):
        return hold(rows, holding.spans, preparation.shape, dtype, preparation.total_weight)


def as_rows(share: Sequence[Partition], preparation: Preparation) -> Rows:
    """Standardised rows, labels as the likelihood encodes them, weights times class weights."""
    X = np.concatenate([p.X for p in share])
    weights = np.concatenate([p.weights for p in share])
    if preparation.classes is None:
        targets = np.concatenate([p.labels for p in share])
    else:
        targets = np.concatenate([codes_of(p.labels, preparation.classes) for p in share])
        weights = weights * preparation.factors[targets]
    return Rows(preparation.standardiser(X), preparation.encode(targets), weights)


def as_is(question: Question) -> Question:
    """The parameters as the result of a task, so that Dask can recompute them if they are lost."""
    return question


def answer(held: HeldRows, question: Question) -> PartFound:
    """The sums of one share."""
    check_here(question.versions)
    with on_device(question.device), one_lapack_thread():
        return sums_at(held, question.point, question.subset)


def add_up(found: Sequence[PartFound]) -> PartFound:
    """Add sums: one node of the tree."""
    total = found[0]
    for one in found[1:]:
        total = added(total, one)
    return total


@sizeof.register(HeldRows)
def _size_of_held_rows(held: HeldRows) -> int:
    return held.nbytes


@sizeof.register(Partition)
def _size_of_partition(partition: Partition) -> int:
    return partition.X.nbytes + partition.labels.nbytes + partition.weights.nbytes
