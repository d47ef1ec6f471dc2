"""One pass over all rows, before training: number of rows, labels, moments of the columns.

Each worker surveys its partitions, and the client merges the surveys. The size of a survey grows
with the number of partitions and columns, not with the number of rows.
"""

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from ..data.sources import Place
from ..data.standardise import Moments
from ..data.targets import MOST_CLASSES, LabelCodes
from ..exceptions import DataError
from ..training.held_rows import Span

_DIGITS = 2**64
_RADIX = np.uint64(0x9E3779B97F4A7C15)


class PartitionSurvey(NamedTuple):
    """Facts about one partition. Where targets are numbers, all its rows have the label 0."""

    number: int  # of the partition
    n_rows: int
    labels: np.ndarray  # the distinct labels, at most three
    first_rows: np.ndarray  # where each of them first occurs
    totals: Float[np.ndarray, " L"]  # the weight of each
    moments: list[Moments]  # of the rows of each
    digest: int


class Survey(NamedTuple):
    """Facts about the whole table."""

    n_rows: int
    n_features: int
    spans: tuple[Span, ...]  # of each partition
    classes: np.ndarray | None  # None where targets are numbers
    class_totals: Float[np.ndarray, " C"]
    class_moments: tuple[Moments, ...]
    digest: str

    def moments(self, factors: Float[np.ndarray, " C"]) -> Moments:
        """Moments of all rows, with a weight factor for each class."""
        total, *others = (
            m.times(float(factor)) for m, factor in zip(self.class_moments, factors, strict=True)
        )
        for other in others:
            total.merge(other)
        return total


def survey_partition(
    number: int, X: np.ndarray, labels: np.ndarray, weights: np.ndarray
) -> PartitionSurvey:
    """Survey the rows of one partition, which have been checked before."""
    distinct, first_rows, codes = np.unique(labels, return_index=True, return_inverse=True)
    totals = np.bincount(codes.ravel(), weights, minlength=len(distinct))
    hashes = np.array([_hash(label) for label in distinct], np.uint64)
    moments = []
    for code in range(len(distinct)):
        mine = codes.ravel() == code
        moments.append(Moments(X[first_rows[code]]))
        moments[-1].add(X[mine], weights[mine])
    few = slice(0, MOST_CLASSES + 1)  # one more than there may be: the error can name it
    return PartitionSurvey(
        number,
        len(X),
        distinct[few],
        first_rows[few],
        totals[few],
        moments[few],
        _digest(X, hashes[codes.ravel()], weights),
    )


def survey_numbers(
    number: int, X: np.ndarray, y: np.ndarray, weights: np.ndarray
) -> PartitionSurvey:
    """The same where targets are numbers."""
    one = slice(0, min(1, len(X)))  # none of an empty partition
    moments = [Moments(row) for row in X[one]]
    for of_all in moments:
        of_all.add(X, weights)
    digest = _digest(np.column_stack([X, y]), np.zeros(len(X), np.uint64), weights)
    total = np.array([weights.sum()])[one]
    return PartitionSurvey(
        number, len(X), np.zeros(1)[one], np.zeros(1, np.int64)[one], total, moments, digest
    )


def joined(found: Sequence[PartitionSurvey], numbers: bool) -> Survey:
    """Merge the surveys of all partitions."""
    found = sorted(found, key=lambda survey: survey.number)
    codes = LabelCodes("y", None)
    totals = np.zeros(MOST_CLASSES)  # by the label's code
    spans, first, digest = [], 0, 0
    moments: dict[int, Moments] = {}
    for part in found:
        spans.append(Span(first, part.n_rows))
        digest = (digest * pow(int(_RADIX), part.n_rows, _DIGITS) + part.digest) % _DIGITS
        first += part.n_rows
        for i, row in enumerate(part.first_rows):
            place = Place(f"partition {part.number}", int(row))
            code = int(codes.codes(part.labels[i : i + 1], place)[0])
            totals[code] += part.totals[i]
            if code in moments:
                moments[code].merge(part.moments[i])
            else:
                moments[code] = part.moments[i]
    if not moments:
        raise DataError("there are no rows with a positive weight in any partition of X.")
    seal, n_features = f"{digest:016x}", len(moments[0].mean)
    if numbers:
        return Survey(first, n_features, tuple(spans), None, totals[:1], (moments[0],), seal)
    classes = codes.classes()
    class_totals = totals[np.argsort(codes.order())]
    codes.check_weights(class_totals)
    by_class = tuple(moments[int(code)] for code in np.argsort(codes.order()))
    return Survey(first, n_features, tuple(spans), classes, class_totals, by_class, seal)


def _digest(X: np.ndarray, label_hashes: np.ndarray, weights: np.ndarray) -> int:
    """A fingerprint of these rows in this order.

    Row i of n is multiplied by r^(n-1-i), so that the digests of adjacent partitions combine to the
    digest of both (Karp & Rabin 1987): the table's digest does not depend on its partitions.
    """
    columns = np.column_stack([X, weights]).view(np.uint64)
    rng = np.random.default_rng(0)
    multipliers = rng.integers(0, 2**64, columns.shape[1], np.uint64) | np.uint64(1)
    rows = (columns ^ (columns >> np.uint64(29))) @ multipliers + label_hashes
    powers = np.full(len(rows), _RADIX, np.uint64)
    powers[:1] = 1
    powers = np.cumprod(powers, dtype=np.uint64)[::-1]
    return int(np.sum(powers * (rows ^ (rows >> np.uint64(31))), dtype=np.uint64))


def _hash(label: Any) -> int:
    plain = label.item() if isinstance(label, np.generic) else label
    return int.from_bytes(hashlib.blake2b(repr(plain).encode(), digest_size=8).digest())


def as_labels(values: Any) -> np.ndarray:
    """One partition's labels as a plain array."""
    return np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values)
